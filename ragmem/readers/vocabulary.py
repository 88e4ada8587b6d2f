"""The names of the fields for time, title, tags and kind of a text."""

from collections.abc import Mapping

from ragmem.domain.model import Kind

TIME_KEYS = (
    "date",
    "updated",
    "updated_at",
    "last_updated",
    "modified",
    "completed_at",
    "completed",
    "timestamp",
    "started",
    "created",
    "created_at",
)
"""Fields of frontmatter with the time of the event; the first valid one counts."""

TITLE_KEYS = ("title", "name", "task")
TAG_KEYS = ("tags", "tag", "labels", "keywords")

KINDS: Mapping[str, Kind] = {
    **{kind.value: kind for kind in Kind},
    "user": Kind.PREFERENCE,
    "feedback": Kind.PREFERENCE,
    "reference": Kind.RESEARCH,
    "finding": Kind.RESEARCH,
    "adr": Kind.ARCHITECTURE,
    "decision": Kind.ARCHITECTURE,
    "design": Kind.ARCHITECTURE,
    "bug": Kind.ERROR,
    "incident": Kind.ERROR,
    "postmortem": Kind.ERROR,
}
"""The kinds for the values of `type` or `kind` in frontmatter.

Claude Code's memory types are user, feedback, reference and project. The last is left out, because such a
memory may be a decision or an error, which is better judged by its text.
"""
