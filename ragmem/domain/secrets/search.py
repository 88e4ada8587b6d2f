"""Find the secrets of a text with all rules: in the text itself, in disguise, and in base64."""

import base64
import re
from collections.abc import Iterator

from ragmem.domain.secrets.commands import (
    find_argument_passwords,
    find_call_keys,
    find_call_passwords,
    find_option_secrets,
    find_output_secrets,
)
from ragmem.domain.secrets.directives import find_directive_secrets
from ragmem.domain.secrets.disguises import remove_disguises
from ragmem.domain.secrets.lists import find_listed_passwords
from ragmem.domain.secrets.marks import MARKED, without_kinds
from ragmem.domain.secrets.names import find_assigned_secrets, find_cookies, find_header_tokens
from ragmem.domain.secrets.places import find_file_credentials, find_key_blocks, find_url_credentials
from ragmem.domain.secrets.private import private_spans
from ragmem.domain.secrets.sentences import find_prose_secrets
from ragmem.domain.secrets.tables import find_table_secrets
from ragmem.domain.secrets.token_formats import find_known_formats, find_vendor_keys, runs
from ragmem.domain.secrets.values import UUID, Secret, has_mixed_characters, is_random
from ragmem.domain.secrets.wallets import find_seed_phrases
from ragmem.patterns import lazy

Patterns = tuple[re.Pattern[str], ...]
"""A user's additional patterns, or the values that a user allows."""

_BASE64 = bytes(
    ord("x") if (chr(code).isascii() and chr(code).isalnum()) or chr(code) in "+/" else ord(" ")
    for code in range(256)
)
MIN_ENCODED = 40
"""Minimum characters of base64 that may encode a text with a secret."""

PEEK = 32
"""Characters of base64 that are decoded to see whether they encode a text."""


def search(text: str, *, allow: Patterns = (), extra: Patterns = ()) -> list[Secret]:
    """Return the secrets of a text in order, without overlaps.

    Matches of `extra` count as secrets, and whole matches of `allow` do not. Secrets in disguise are found as
    well (colours, escapes, invisible letters, line breaks). If base64 or hexadecimal encodes a text with a
    secret, all of it is one secret.
    """
    text = without_kinds(text)
    # One byte for each character: searching bytes is much faster than searching text.
    raw = text.encode("ascii", "replace")
    small = raw.lower()
    found = [*_find(text, raw, small, allow, extra), *_in_encoded_text(raw, allow, extra)]
    if seen := remove_disguises(text, raw, small):
        shown = seen.text.encode("ascii", "replace")
        found += seen.secrets(_find(seen.text, shown, shown.lower(), allow, extra))
    return _merge_overlaps(found)


def _in_encoded_text(raw: bytes, allow: Patterns, extra: Patterns) -> Iterator[Secret]:
    for start, end in runs(raw.translate(_BASE64), MIN_ENCODED):
        if not _as_text(raw[start : start + PEEK]) or not (text := _as_text(raw[start:end])):
            continue
        shown = text.encode("ascii", "replace")
        if secrets := _find(text, shown, shown.lower(), allow, extra):
            yield Secret(
                start, end + len(raw[end : end + 2]) - len(raw[end : end + 2].lstrip(b"=")), secrets[0].kind
            )


_HEX = lazy(rb"(?:[0-9a-f]{2})+|(?:[0-9A-F]{2})+")


def _as_text(encoded: bytes) -> str:
    """Return the text that base64 or hexadecimal encodes; "" if it is no text."""
    if _HEX.fullmatch(encoded):
        decoded = bytes.fromhex(encoded.decode())
    else:
        decoded = base64.b64decode(encoded[: len(encoded) // 4 * 4])
    # PowerShell encodes commands in UTF-16.
    if decoded[1:2] == b"\0":
        decoded = decoded.replace(b"\0", b"")
    text = decoded.decode("utf-8", "replace")
    # The last character may be truncated.
    lines = text[: PEEK // 2].split()
    return text if lines and all(map(str.isprintable, lines)) and "\ufffd" not in text[: PEEK // 2] else ""


def _find(text: str, raw: bytes, small: bytes, allow: Patterns, extra: Patterns) -> list[Secret]:
    found = [
        *find_key_blocks(text, raw),
        *find_known_formats(text, raw, small),
        *find_vendor_keys(text, small),
        *find_url_credentials(text, raw),
        *find_file_credentials(text, raw, small),
        *find_header_tokens(text, small),
        *find_cookies(text, small),
        *find_option_secrets(text, raw, small),
        *find_argument_passwords(text, raw, small),
        *find_directive_secrets(text, small),
        *find_call_keys(text, small, raw),
        *find_listed_passwords(text, raw, small),
        *find_seed_phrases(small),
        *find_call_passwords(text, raw, small),
        *find_output_secrets(text, raw, small),
        *find_assigned_secrets(text, raw, small),
        *find_prose_secrets(text, raw, small),
        *find_table_secrets(text, raw, small),
    ]
    for pattern in extra:
        found += _extra_matches(text, pattern)
    if allow:
        found = [one for one in found if not _is_allowed(text[one.start : one.end], allow)]
    seen: set[int] = set()
    for one in found:
        # The loop also visits appended secrets, because a token may have several line breaks.
        if one.end not in seen and (more := _line_continuation(text, one)):
            found.append(more)
        seen.add(one.end)
    if b"<private" in small:
        found += [Secret(start, end, "private") for start, end in private_spans(text)]
    return found


_GOES_ON = lazy(
    r"[ \t]{0,4}(?:\r?\n|\\n)[ \t>|+]{0,24}(?P<rest>[A-Za-z0-9+/=_-]{6,128}+)[\"'`]?[ \t]{0,4}(?=\r?\n|\\n"
    r"|\Z)"
)
_BLANKS = frozenset("\r\n\\ \t")
_TOKEN_END = lazy(r"[A-Za-z0-9+/_-]{12}\Z")


def _line_continuation(text: str, one: Secret) -> Secret | None:
    """Return the next line of a token that a line end breaks, starting with its last letter."""
    if text[one.end : one.end + 1] not in _BLANKS or not _TOKEN_END.search(text, one.start, one.end):
        return None
    found = _GOES_ON.match(text, one.end)
    if (
        not found
        or UUID.fullmatch(found["rest"])
        or not has_mixed_characters(found["rest"])
        or not is_random(found["rest"])
    ):
        return None
    return Secret(one.end - 1, found.end("rest"), one.kind)


def _extra_matches(text: str, pattern: re.Pattern[str]) -> Iterator[Secret]:
    marks = [mark.span() for mark in MARKED.finditer(text)]
    for one in pattern.finditer(text):
        start, end = one.span(1) if pattern.groups and one[1] is not None else one.span()
        if start < end and not any(start < last and first < end for first, last in marks):
            yield Secret(start, end, "secret")


def _is_allowed(value: str, allow: Patterns) -> bool:
    return any(pattern.fullmatch(value) for pattern in allow)


def _merge_overlaps(found: list[Secret]) -> list[Secret]:
    kept: list[Secret] = []
    for secret in sorted(found, key=lambda one: (one.start, -one.end)):
        if kept and secret.start < kept[-1].end:
            # An overlapping secret extends the one before.
            if secret.end > kept[-1].end:
                kept[-1] = Secret(kept[-1].start, secret.end, kept[-1].kind)
        else:
            kept.append(secret)
    return kept
