"""ETags, and the answer 304 for a client with a current copy."""

import hashlib
from typing import Any

from fastapi import Request
from fastapi.responses import Response

NOT_MODIFIED: dict[int | str, dict[str, Any]] = {
    304: {"description": "The copy that `If-None-Match` names is current; there is no body."}
}


def etag(*parts: object) -> str:
    """Return the tag of an answer that depends on these values."""
    return f'W/"{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}"'


def matches(request: Request, tag: str) -> bool:
    """Tell whether the client has the answer with this tag."""
    return any(one.strip() in {tag, "*"} for one in request.headers.get("if-none-match", "").split(","))


def not_modified(tag: str) -> Response:
    """Return 304, because the client has the answer."""
    return Response(status_code=304, headers={"ETag": tag})


def etag_response(tag: str, body: bytes) -> Response:
    """Return JSON with its ETag."""
    return Response(body, media_type="application/json", headers={"ETag": tag})
