"""The names that people and assistants give to time, title, tags and kind of a text."""

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
"""Where frontmatter tells the time of the event; the first that is a time counts."""

TITLE_KEYS = ("title", "name", "task", "description")
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
"""What the words in a frontmatter's `type` or `kind` mean.

Claude Code's memory types are user, feedback, reference and project; the last is left out, because such a
memory may be a decision or an error, which the text itself tells better.
"""
