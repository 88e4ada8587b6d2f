"""Find secrets by their place: key blocks, addresses, and files with credentials."""

import base64
import binascii
import re
from collections.abc import Iterator
from itertools import pairwise

from ragmem.domain.secrets.values import (
    STAND_INS,
    Secret,
    has_mixed_characters,
    is_ordinary,
    is_placeholder,
    is_random,
    is_safe,
)
from ragmem.domain.secrets.words import Names, letters, matches, names_in, places, with_letters
from ragmem.patterns import lazy

MIN_KEY_LETTERS = 32
"""Minimum letters of a private key block; one with fewer is an example."""

_BREAK = r"(?:\s|\\{1,2}[nrt]|[>|#*+\"',]){1,16}"
_PEM = lazy(
    r"-----BEGIN (?P<name>[A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:(?:(?!-----)[\s\S])*+-----END (?P=name)-----"
    rf"|(?:{_BREAK}(?:[A-Z][\w-]{{2,20}}:[^\r\n\\]{{0,80}}+|[A-Za-z0-9+/=]{{16,}}+))+)"
)
_LINE = lazy(r"[A-Za-z0-9+/=]{16,}+")
_END = lazy(r"-----END [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)?-----")
_TAIL = lazy(rf"(?:(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{{16,128}}+{_BREAK})++\Z")
MOST_TAIL = 8_192
"""Characters before the end of a key that are searched for its lines if the beginning is missing."""

_PUTTY = lazy(r"Private-Lines: \d{1,3}\s{1,2}(?:[A-Za-z0-9+/=]{16,64}\s{1,2}){1,99}")
_ADDRESS = lazy(
    r"://(?P<user>[^\s/?#:@\"'<>`]{0,64}+):(?P<value>[^\s/@\"'<>`\\]{1,256}+"
    r"(?:@[^\s/@?&,;:\"'<>`\\]{1,64}+(?=@)){0,2})@(?=[\w\[${.…*])"
)
_USER = lazy(r"://(?P<value>[A-Za-z0-9_-]{20,256}+)@(?=\w)")
_ORACLE = lazy(r"jdbc:oracle:\w{1,8}:[\w$#.-]{1,30}/(?P<value>[^\s\"'/@\\]{4,64}+)@")
_NETRC = lazy(
    r"machine\s{1,4}\S{1,255}\s{1,8}(?:login|account)\s{1,4}\S{1,255}\s{1,8}password\s{1,4}(?P<value>[^\s\"'"
    r"\\]{4,512}+)"
)
_PGPASS = lazy(
    r"(?m)^[ \t>|*-]{0,8}[\w.*-]{1,255}:(?:\d{4,5}|\*):[\w*-]{1,64}:[\w*.-]{1,64}:(?P<value>[^\s:]{6,256}+)$"
)
_PORT = lazy(r":(?:54\d\d|64\d\d|65\d\d|\*):")
_KIND = lazy(r"kind[\"']?:\s{0,4}[\"']?Secret\b")
_ENTRY = lazy(
    r"(?P<lead>(?:^|\\n)[ \t]{1,12}|[{,]\s{0,64}+)[\"']?[\w.-]{1,253}[\"']?:[ \t]{1,4}[\"']?"
    r"(?P<value>[A-Za-z0-9+/]{8,}={0,2})[\"']?(?=\s|\\n|,|\}|\Z)",
    re.MULTILINE,
)
_DATA = lazy(r"(?:^|[\s{,]|\\n)[\"']?(?:data|stringData)[\"']?:")

MOST_DOCUMENT = 64_000
"""Characters of a Kubernetes document that are searched for its secrets."""


def find_key_blocks(text: str, raw: bytes) -> Iterator[Secret]:
    """Yield the private keys in PEM armour, also escaped in JSON, quoted, or without an end."""
    if b"-----BEGIN " in raw:
        for block in _PEM.finditer(text):
            letters = sum(map(str.isalnum, block.group()))
            if letters >= MIN_KEY_LETTERS + 2 * len(block["name"]) and not is_placeholder(
                _key_of(block.group())
            ):
                yield Secret(block.start(), block.end(), "private key")
    if b"-----END " in raw:
        for end in _END.finditer(text):
            # A key without its beginning; a whole one was found above.
            low = max(text.rfind("-----", 0, end.start()) + 5, end.start() - MOST_TAIL, 0)
            if (tail := _TAIL.search(text[low : end.start()])) and has_mixed_characters(tail.group()):
                yield Secret(low + tail.start(), end.end(), "private key")
    if b"Private-Lines: " in raw:
        for block in _PUTTY.finditer(text):
            yield Secret(block.start(), block.end(), "private key")


def _key_of(block: str) -> str:
    """Return a private key block with its most random line last; anything may follow a truncated one."""
    if block.endswith("-----"):
        return block
    return block + max(_LINE.findall(block), key=lambda line: len(set(line[-16:])), default="")


def find_url_credentials(text: str, raw: bytes) -> Iterator[Secret]:
    """Yield the passwords and tokens before the host of a URL."""
    if b"@" not in raw:
        return
    for found in _ADDRESS.finditer(text):
        value = found["value"]
        known = value.lower() in STAND_INS or value == found["user"]
        if not (known or is_placeholder(value) or value[0] in "$%{["):
            yield Secret(*found.span("value"), "password")
    for login in matches(text, raw, (b"jdbc:oracle:",), _ORACLE):
        if not is_ordinary(login["value"]):
            yield Secret(*login.span("value"), "password")
    for found in _USER.finditer(text):
        if not is_placeholder(found["value"]) and is_random(found["value"]):
            yield Secret(*found.span("value"), "token")


def find_file_credentials(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield the secrets of .netrc, .pgpass and Kubernetes manifests."""
    if b"machine" in raw and b"password" in raw:
        for found in _NETRC.finditer(text):
            if not is_ordinary(found["value"]):
                yield Secret(*found.span("value"), "password")
    if _PORT.search(text):
        for found in _PGPASS.finditer(text):
            if not is_ordinary(found["value"]) and (has_mixed_characters(found["value"])):
                yield Secret(*found.span("value"), "password")
    yield from _in_pairs(text, raw, small)
    yield from _in_jwk(text, raw, small)
    if b"Secret" in raw and b"kind" in raw:
        behind = 0
        for kind in _KIND.finditer(text):
            if kind.start() >= behind:
                first, behind = _manifest(text, kind.start(), behind)
                yield from _of_manifest(text, first, behind)


_MEMBER = lazy(
    r"[\"'](?:d|p|q|dp|dq|qi|k)\\{0,3}[\"']\s{0,4}:\s{0,4}\\{0,3}[\"'](?P<value>[A-Za-z0-9_-]{16,}+)"
)
_JWK = with_letters((b"kty",))
MOST_JWK = 8_192
"""Characters of a JSON Web Key before and after its `kty`."""


def _in_jwk(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield the private members of a JSON Web Key (RFC 7518)."""
    behind = 0
    for at in (at for name in names_in(small, _JWK) for at in places(raw, name)):
        if at >= behind and (low := raw.rfind(b"{", max(behind, at - MOST_JWK), at)) >= 0:
            end = raw.find(b"}", at, at + MOST_JWK)
            behind = end if end >= 0 else at + MOST_JWK
            for member in _MEMBER.finditer(text, low, behind):
                if not is_placeholder(member["value"]):
                    yield Secret(*member.span("value"), "private key")


def _in_pairs(text: str, raw: bytes, small: bytes) -> Iterator[Secret]:
    """Yield the passwords of `name:password@host`, `name:password@tcp(host)`, and of Wi-Fi QR codes."""
    for at in places(raw, b"@"):
        # Most email addresses have no colon before.
        low = max(0, at - MOST_PAIR)
        if (
            raw.rfind(b":", low, at) > 0
            and (found := _PAIR.search(text, low, at))
            and not is_ordinary(found["value"])
            and (is_safe(found["value"]) or _PROTOCOL.match(text, at))
        ):
            yield Secret(*found.span("value"), "password")
    for sought, pattern in names_in(small, _SOUGHT):
        for found in matches(text, raw, (sought,), pattern):
            if not is_ordinary(found["value"]):
                yield Secret(*found.span("value"), "secret" if sought[:1] in b"ou" else "password")


MOST_PAIR = 80
_PAIR = lazy(r"(?:^|(?<=[\s\"'=(/<\\]))(?!mailto:)[\w.-]{1,32}:(?P<value>[^\s\"'/:@<>`|]{4,64})(?=@\Z|\Z)")
_PROTOCOL = lazy(r"@(?:tcp|unix|udp|tcp6|cloudsql)\(")
_SOUGHT = Names(
    (letters(sought), (sought, pattern))
    for sought, pattern in (
        (b"WIFI:", lazy(r"WIFI:[^\s]{0,100}?(?<=[;:])P:(?P<value>[^;\s]{4,64})")),
        (
            b"username",
            lazy(r"username\"\s?:\s?\"[\w.-]{1,64}\",\s?\"key\"\s?:\s?\"(?P<value>[0-9a-f]{32})\""),
        ),
        (b"otpauth://", lazy(r"otpauth://[^\s\"']{1,160}?[?&]secret=(?P<value>[A-Za-z2-7]{8,128})")),
    )
)


def _manifest(text: str, at: int, low: int) -> tuple[int, int]:
    """Return the span of the document that declares its kind here; not before `low`."""
    low = max(low, at - MOST_DOCUMENT)
    first = max(text.rfind("\n---", low, at), text.rfind("```", low, at), low)
    ends = [end for mark in ("\n---", "```") if (end := text.find(mark, at, at + MOST_DOCUMENT)) >= 0]
    return first, min((*ends, at + MOST_DOCUMENT, len(text)))


def _of_manifest(text: str, first: int, last: int) -> Iterator[Secret]:
    # The entries of one `data:` end at the next one.
    starts = [data.end() for data in _DATA.finditer(text, first, last)]
    for start, end in pairwise((*starts, last)):
        yield from _entries(text, start, end)


def _entries(text: str, start: int, last: int) -> Iterator[Secret]:
    for entry in _ENTRY.finditer(text, start, last):
        value = entry["value"]
        public = value.startswith(_CERTIFICATE) or is_placeholder(value)
        if not public and (has_mixed_characters(value) or _is_encoded(value)):
            yield Secret(*entry.span("value"), "secret")


_CERTIFICATE = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FUR"
"""Base64 of the first line of a certificate, which is public."""


def _is_encoded(value: str) -> bool:
    try:
        return base64.b64decode(value, validate=True).decode().isprintable() and len(value) % 4 == 0
    except (binascii.Error, UnicodeDecodeError):
        return False
