"""LightRAG's guest: the role of its web UI until somebody enters the token as an API key.

Its page works with a token of its own, which it gets from /auth-status without any secret, and asks a person
for the API key as soon as an answer says that one is required. The guest's token opens nothing here: it is a
constant that only shows that LightRAG's page asks.
"""

import base64
import json
from collections.abc import Iterable
from typing import Any


def _part(values: dict[str, Any]) -> str:
    raw = json.dumps(values, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


GUEST = f"{_part({'alg': 'none', 'typ': 'JWT'})}.{_part({'sub': 'guest', 'role': 'guest'})}.ragmem"
"""In the form of a signed token, which the page reads; nobody signs it, and nobody checks it."""

REQUIRED = "API Key required"
INVALID = "Invalid API Key"
"""The page looks for these words."""

HINT = "the API key is the token: `ragmem serve --print-token` prints it"


def refusal_of(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return what LightRAG's page is to be told in place of a 401; None for everybody else."""
    guest, key = False, False
    for name, value in headers:
        if name == b"authorization":
            guest |= value[:7].lower() == b"bearer " and value[7:].strip() == GUEST.encode("ascii")
        elif name == b"x-api-key":
            key = True
    if not guest:
        return None
    return INVALID if key else REQUIRED
