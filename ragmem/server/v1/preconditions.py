"""Checks and conversions of most routes: stored memories, projects, moments, cursors."""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson
from fastapi import Request
from fastapi.responses import Response

from ragmem.api.memory import Ragmem, now
from ragmem.errors import NotFoundError, UsageError
from ragmem.server.http.handlers import is_stored
from ragmem.services.processes.dates import parse_moment


def require(memory: Ragmem) -> None:
    """Open the memory; raises NotFoundError if nothing is stored."""
    if not is_stored(memory):
        raise NotFoundError("nothing is stored yet", hint="run `ragmem seed`, or POST /v1/memory/memories")


def projects_of(memory: Ragmem, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the ids of the named projects, None (all) if none is named; raises NotFoundError."""
    return memory.projects.resolve(names) if names else None


def moment_of(text: str | None) -> datetime | None:
    """Return the moment in a text, None for an empty text; raises UsageError for an invalid one."""
    return parse_moment(text, now=now()) if text else None


def format_moment(moment: datetime | None) -> str | None:
    """Return a moment in the format of answers."""
    return None if moment is None else f"{moment.year:04d}-{moment:%m-%dT%H:%M:%SZ}"


def cursor(*place: str | int) -> str:
    """Return the cursor of the page after a place."""
    return base64.urlsafe_b64encode(orjson.dumps(place)).decode().rstrip("=")


def place_of(text: str, *kinds: type[str] | type[int]) -> tuple[Any, ...] | None:
    """Return the place in a cursor, None for an empty one; raises UsageError for an invalid one."""
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
    """Return whether a database can store it: a number of eight bytes, or a text without NUL."""
    return "\0" not in part if isinstance(part, str) else -(2**63) <= part < 2**63


def _unknown(text: str) -> UsageError:
    return UsageError(
        f'"{text[:40]}" is not a cursor', hint="take `next` of the page before, or leave it out"
    )


NOT_MODIFIED: dict[int | str, dict[str, Any]] = {
    304: {"description": "The copy that `If-None-Match` names is current; there is no body."}
}


def etag(*parts: object) -> str:
    """Return the tag of an answer that depends on these values."""
    return f'W/"{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}"'


def matches(request: Request, tag: str) -> bool:
    """Return whether the client has the answer with this tag."""
    return any(one.strip() in {tag, "*"} for one in request.headers.get("if-none-match", "").split(","))


def not_modified(tag: str) -> Response:
    """Return 304, because the client has the answer."""
    return Response(status_code=304, headers={"ETag": tag})


def etag_response(tag: str, body: bytes) -> Response:
    """Return JSON with its ETag."""
    return Response(body, media_type="application/json", headers={"ETag": tag})
