"""LightRAG's guest: the role of its web UI until the user enters the token as an API key.

Its page gets its own token from /auth-status without any secret, and asks the user for the API key as soon as
an answer requires one. Here the guest's token gives no access: it is a constant that only identifies
LightRAG's page.
"""

import base64
import json
from collections.abc import Iterable
from typing import Any


def _part(values: dict[str, Any]) -> str:
    raw = json.dumps(values, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


GUEST = f"{_part({'alg': 'none', 'typ': 'JWT'})}.{_part({'sub': 'guest', 'role': 'guest'})}.ragmem"
"""In the form of a signed token, which the page reads; nobody signs or checks it."""

REQUIRED = "API Key required"
INVALID = "Invalid API Key"
"""The page looks for these words."""

HINT = "the API key is the token: `ragmem serve --print-token` prints it"


def refusal_of(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return the answer for LightRAG's page instead of a 401; None for other clients."""
    guest, key = False, False
    for name, value in headers:
        if name == b"authorization":
            guest |= value[:7].lower() == b"bearer " and value[7:].strip() == GUEST.encode("ascii")
        elif name == b"x-api-key":
            key = True
    if not guest:
        return None
    return INVALID if key else REQUIRED
