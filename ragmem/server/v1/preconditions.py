"""Checks and conversions that most routes need: is anything stored, projects, moments, cursors."""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson

from ragmem.api.memory import Ragmem, now
from ragmem.errors import NotFoundError, UsageError
from ragmem.services.processes.dates import parse_moment


def is_stored(memory: Ragmem) -> bool:
    """Tell whether there is anything to read, and open it; reading never creates a database."""
    if not memory.is_stored():
        return False
    memory.require()
    return True


def require(memory: Ragmem) -> None:
    """Open what is stored; raises NotFoundError where nothing is."""
    if not is_stored(memory):
        raise NotFoundError("nothing is stored yet", hint="run `ragmem seed`, or POST /v1/memory/memories")


def projects_of(memory: Ragmem, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the ids of named projects, None (all) where none is named; raises NotFoundError."""
    return memory.projects.resolve(names) if names else None


def moment_of(text: str | None) -> datetime | None:
    """Return the moment that a text names; None for an empty text. Raises UsageError if it names none."""
    return parse_moment(text, now=now()) if text else None


def format_moment(moment: datetime | None) -> str | None:
    """Return a moment as answers have it."""
    return None if moment is None else f"{moment.year:04d}-{moment:%m-%dT%H:%M:%SZ}"


def cursor(*place: str | int) -> str:
    """Return the cursor of a page that begins behind a place."""
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def place_of(text: str, *kinds: type[str] | type[int]) -> tuple[Any, ...] | None:
    """Return the place in a cursor, None for no cursor; raises UsageError for what this never gave."""
    if not text:
        return None
    try:
        place = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error) as error:
        raise _unknown(text) from error
    if (
        not isinstance(place, list)
        or len(place) != len(kinds)
        or any(type(part) is not kind or not _storable(part) for part, kind in zip(place, kinds, strict=True))
    ):
        raise _unknown(text)
    return tuple(place)


def _storable(part: str | int) -> bool:
    """Tell whether a database can compare with it: eight bytes of a number, and no NUL in a text."""
    return "\0" not in part if isinstance(part, str) else -(2**63) <= part < 2**63


def _unknown(text: str) -> UsageError:
    return UsageError(f'"{text[:40]}" is no cursor', hint="take `next` of the page before, or leave it out")
