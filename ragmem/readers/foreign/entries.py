"""The two things that a foreign store holds, facts and exchanges, and values made safe for them."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any

import orjson

from ragmem.domain.model import Category, Kind
from ragmem.domain.sessions.transcript import Exchange
from ragmem.frozen import dataclass
from ragmem.readers.dates import parse_time
from ragmem.readers.fields import clean
from ragmem.readers.transcripts.records import parse

MAX_FACT = 1_000_000
"""Characters of one fact; a longer one is a file, which `ragmem ingest` reads."""

MAX_NAME = 200
"""Characters of the name of a project, a session or a field."""

_MICROSECONDS = 10**14
"""A timestamp above this is in microseconds or nanoseconds: in milliseconds it is past the year 5000."""

_NUMBER = re.compile(r"\d{9,19}(?:\.\d{1,9})?")


@dataclass(frozen=True, slots=True)
class Fact:
    """A text that a tool has stored as one memory.

    `key` is stable and unique among all stores of the tool. `project` is the tool's name of a project or an
    absolute folder, empty for none.
    """

    key: str
    text: str
    title: str = ""
    at: datetime | None = None
    project: str = ""
    kind: Kind | None = None
    category: Category | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Talk:
    """An exchange of a conversation, with the conversation's title and project."""

    exchange: Exchange
    title: str = ""
    project: str = ""
    at: datetime | None = None
    """The time of the conversation, for messages without one."""


Entry = Fact | Talk

LeftOut = Counter[str]
"""What a reader left out, with counts by reason."""


def text_of(value: Any) -> str:
    """Return a text without NUL characters and with plain line ends; empty for any other type."""
    if not isinstance(value, str):
        return ""
    return value.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").strip()


def name_of(value: Any) -> str:
    """Return a name as one printable line; empty for a value that is neither a text nor a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < 10**MAX_NAME else ""
    return clean(value[: 4 * MAX_NAME])[:MAX_NAME].strip() if isinstance(value, str) else ""


def time_of(*values: Any) -> datetime | None:
    """Return the first of these values that is a time.

    A time is an ISO text, or seconds, milliseconds, microseconds or nanoseconds since 1970, also as a text.
    """
    for value in values:
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
            value = float(value)  # noqa: PLW2901 - the number that the text means
        if isinstance(value, int | float) and not isinstance(value, bool):
            while abs(value) > _MICROSECONDS and abs(value) != float("inf"):
                value /= 1000  # noqa: PLW2901 - see above
        if moment := parse_time(value):
            return moment
    return None


def json_of(value: Any) -> Any:
    """Return the value of a JSON text or bytes; None where it is broken."""
    raw = value.encode("utf-8", "replace") if isinstance(value, str) else value
    if not isinstance(raw, bytes):
        return None
    try:
        return parse(raw)
    except orjson.JSONDecodeError:
        return None


def mapping_of(value: Any) -> Mapping[str, Any]:
    """Return a mapping, also one in a JSON text; empty for anything else."""
    found = json_of(value) if isinstance(value, str | bytes) else value
    return found if isinstance(found, dict) else {}


def list_of(value: Any) -> Sequence[Any]:
    """Return a list, also one in a JSON text; empty for anything else."""
    found = json_of(value) if isinstance(value, str | bytes) else value
    return found if isinstance(found, list) else ()


def lines_of(values: Sequence[Any]) -> str:
    """Return texts as the lines of a list."""
    return "\n".join(f"- {text}" for value in values if (text := text_of(value)))


def without_empty(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the values that are names."""
    return {key: name for key, value in values.items() if (name := name_of(value))}
