"""Answers that need not be sent again: ETag, and 304 where a client has it already."""

import hashlib
from typing import Any

from fastapi import Request
from fastapi.responses import Response

NOT_MODIFIED: dict[int | str, dict[str, Any]] = {
    304: {"description": "What `If-None-Match` names is still so; there is no body."}
}


def etag(*parts: object) -> str:
    """Return the tag of an answer that is the same while these parts are."""
    return f'W/"{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}"'


def has(request: Request, tag: str) -> bool:
    """Tell whether the client has the answer of this tag."""
    return any(one.strip() in {tag, "*"} for one in request.headers.get("if-none-match", "").split(","))


def unchanged(tag: str) -> Response:
    """Return that the client has it already."""
    return Response(status_code=304, headers={"ETag": tag})


def fresh(tag: str, body: bytes) -> Response:
    """Return the JSON with its tag."""
    return Response(body, media_type="application/json", headers={"ETag": tag})
