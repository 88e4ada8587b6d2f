"""The names of fields in frontmatter and JSON lines, and their values as short, printable text."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import Any

from ragmem.domain.model import Kind

TIME_KEYS = (
    "date",
    "updated",
    "updated_at",
    "last_updated",
    "last_modified",
    "last_modified_at",
    "lastmod",
    "modified",
    "completed_at",
    "completed",
    "timestamp",
    "started",
    "start_date",
    "created",
    "created_at",
    "creation_date",
    "date_created",
    "published",
    "published_at",
    "publish_date",
    "pub_date",
    "pub_datetime",
)
"""Fields of frontmatter with the time of the event; the first valid one counts."""

_NO_MARKS = str.maketrans("", "", "-_ ")
TITLE_KEYS = ("title", "name", "task")
ALIAS_KEYS = ("aliases", "alias")
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

MAX_FIELDS = 40
MAX_CHARS = 500
"""Longer values are text, not facts about it; they are truncated."""

MAX_TAGS = 50


def time_values(values: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the values of the fields in TIME_KEYS, in their order, from lower-case keys with any marks.

    Of a list with one value, as editors of properties write it, this is the value.
    """
    plain = {key.translate(_NO_MARKS): value for key, value in values.items()}
    found = (plain[name] for key in TIME_KEYS if (name := key.translate(_NO_MARKS)) in plain)
    return (one[0] if isinstance(one, list) and len(one) == 1 else one for one in found)


def as_text(value: Any) -> str:
    """Return a scalar, or a flat list of scalars, as one line; empty for anything else.

    Nested values are left out, because a small YAML file can expand to gigabytes.
    """
    if isinstance(value, list | tuple):
        return ", ".join(text for item in list(value)[:MAX_TAGS] if (text := _scalar(item)))[:MAX_CHARS]
    return _scalar(value)[:MAX_CHARS]


def as_fields(values: Mapping[Any, Any], *, leave_out: Iterable[str] = ()) -> dict[str, str]:
    """Return the values that fit in a line, under lower-case names, in their order."""
    skipped = frozenset(leave_out)
    fields: dict[str, str] = {}
    for key, value in values.items():
        name = _scalar(key)[:MAX_CHARS].lower()
        if name and name not in skipped and len(fields) < MAX_FIELDS and (text := as_text(value)):
            fields[name] = text
    return fields


def as_tags(*values: Any) -> tuple[str, ...]:
    """Return tags from lists or from text with commas or blanks: lower case, without `#`, each once."""
    tags: dict[str, None] = {}
    for value in values:
        items = value if isinstance(value, list | tuple) else _split(value) if isinstance(value, str) else []
        for item in list(items)[:MAX_TAGS]:
            if tag := _scalar(item).lower().strip("#,;[]\"' "):
                tags[tag] = None
    return tuple(tags)


def clean(text: str) -> str:
    """Return the text as one line, without control characters and lone surrogates."""
    line = " ".join(text.split())
    printable = "".join(character for character in line if character.isprintable())
    return printable.encode("utf-8", "ignore").decode("utf-8")


def _split(text: str) -> list[str]:
    return text.split(",") if "," in text else text.split()


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, int):
        # Python refuses to write out numbers of thousands of digits.
        return str(value) if abs(value) < 10**MAX_TAGS else ""
    if isinstance(value, float):
        return f"{value:g}"
    return clean(value[: MAX_CHARS * 4]) if isinstance(value, str) else ""
