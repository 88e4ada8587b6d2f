"""The security headers of every answer: content policy, and no caching."""

from collections.abc import Iterable

STRICT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)
"""For our own page: no inline scripts or styles, and nothing from other hosts."""

FOREIGN_PREFIXES = ("/webui/", "/workspace/")
FOREIGN = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)
"""For LightRAG's page, which has inline styles, and lays out its graph in a worker made from text."""

HASHED_PREFIXES = ("/assets/", "/webui/assets/", "/workspace/assets/")
"""Files whose names change with their content: a browser may keep them."""

_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"x-frame-options", b"DENY"),
)
_OURS = frozenset({name for name, _ in _ALWAYS} | {b"content-security-policy", b"cache-control", b"server"})


def add_security_headers(
    headers: Iterable[tuple[bytes, bytes]], *, path: str, status: int
) -> list[tuple[bytes, bytes]]:
    """Return an answer's headers with ours, which replace its own.

    Browsers and proxies cache nothing, except existing files with hashed names.
    """
    given = list(headers)
    cached = status in {200, 206, 304} and path.startswith(HASHED_PREFIXES)
    cache = next((value for name, value in given if name.lower() == b"cache-control"), None)
    if not cached or cache is None:
        cache = b"public, max-age=31536000, immutable" if cached else b"no-store"
    policy = FOREIGN if path.startswith(FOREIGN_PREFIXES) else STRICT
    return [
        *(pair for pair in given if pair[0].lower() not in _OURS),
        *_ALWAYS,
        (b"content-security-policy", policy.encode("ascii")),
        (b"cache-control", cache),
    ]
