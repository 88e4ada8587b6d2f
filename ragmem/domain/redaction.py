"""Take secrets out of a text before anyone reads it: keys, tokens, passwords, and what is marked private."""

import base64
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

from ragmem.domain.private import private_spans
from ragmem.domain.secret_commands import in_calls, in_clients, in_options, printed
from ragmem.domain.secret_dress import undressed
from ragmem.domain.secret_marks import MARKED, mark
from ragmem.domain.secret_names import in_cookies, in_headers, named
from ragmem.domain.secret_places import in_addresses, in_files, key_blocks
from ragmem.domain.secret_sentences import in_sentences
from ragmem.domain.secret_shapes import runs, shaped
from ragmem.domain.secret_tables import in_tables
from ragmem.domain.secret_values import Secret

__all__ = ["DEFAULT", "MOST_PASSES", "Redactor", "Secret", "cover", "find_secrets"]

_APART = "\n\0\n"
"""Stands between texts that are searched together; no secret reaches over it but what begins like _FAR."""

_FAR = re.compile(r"-----BEGIN|<private", re.IGNORECASE)


MOST_PASSES = 6
"""Each finds all but what is glued to another secret."""


@dataclass(frozen=True, slots=True)
class Redactor:
    """Takes secrets out of texts by the rules of one home; a value that any process or thread may be given.

    What a pattern of `allow` matches as a whole is no secret; what one of `extra` finds is (of a pattern with
    a group, the first group). With `stored` texts are stored with their secrets, and redacted only where they
    are shown or sent. Raises re.error for a pattern that is none.
    """

    stored: bool = False
    allow: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for patterns in (self.allow, self.extra):
            _compiled(patterns)

    def find(self, text: str) -> list[Secret]:
        """Return the secrets of a text in order; none overlaps another. See `find_secrets`."""
        return find_secrets(text, self)

    def redact(self, text: str) -> tuple[str, int]:
        """Return the text with each secret replaced by `[redacted: kind]`, and how many were replaced.

        The time is linear in the text; the result has nothing more to redact. Values that stand for a secret
        (YOUR_API_KEY, xxxx, ${TOKEN}) and hashes, ids and names that are none stay.
        """
        count = 0
        # What a secret is glued to may be known as one only when that is gone.
        for _ in range(MOST_PASSES):
            secrets = self.find(text)
            if not secrets:
                break
            text, count = cover(text, secrets), count + len(secrets)
        return text, count

    def beginning(self, text: str, most: int) -> str:
        """Return up to so many characters; fewer where a secret would be cut and no longer be known."""
        if len(text) <= most:
            return text
        for secret in self.find(text):
            if secret.start < most < secret.end:
                return text[: secret.start].rstrip() or mark(secret.kind)[:most]
        return text[:most]

    def redact_document(self, document: Any) -> Any:
        """Return a copy of a JSON document with the secrets of its texts replaced; its keys stay.

        The key above a text is the name that its value was given: `{"password": ...}` is found as in a text.
        """
        redacted = iter(self._redact_each(list(_named_texts(document, ""))))

        def copied(part: Any) -> Any:
            if isinstance(part, str):
                return next(redacted)
            if isinstance(part, Mapping):
                return {key: copied(value) for key, value in part.items()}
            return [copied(item) for item in part] if isinstance(part, list | tuple) else part

        return copied(document)

    def _redact_each(self, named: Sequence[tuple[str, str]]) -> list[str]:
        """Return the texts redacted; they are searched together, since each search has its price."""
        lines = [f"{name}: {text}" for name, text in named]
        near = [number for number, line in enumerate(lines) if not _FAR.search(line)]
        starts = list(accumulate((len(lines[number]) + len(_APART) for number in near), initial=0))
        found = self.find(_APART.join(lines[number] for number in near))
        hit = {near[bisect_right(starts, secret.start) - 1] for secret in found}
        hit |= set(range(len(lines))) - set(near)
        return [
            cover(lines[number], self.find(lines[number]), len(name) + 2) if number in hit else text
            for number, (name, text) in enumerate(named)
        ]


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, patterns))


DEFAULT = Redactor()
"""The rules that are shipped: for what is written where nothing of a home is known."""


def cover(text: str, secrets: Sequence[Secret], start: int = 0, end: int | None = None) -> str:
    """Return text[start:end] with the secrets replaced that reach into it; they are those of the whole text.

    So a part of a text shows nothing of a secret that begins before it or goes on behind it.
    """
    stop = len(text) if end is None else end
    parts: list[str] = []
    at = start
    for secret in secrets:
        if secret.end <= at or secret.start >= stop:
            continue
        parts += [text[at : max(at, secret.start)], mark(secret.kind)]
        at = secret.end
    parts.append(text[at:stop])
    return "".join(parts)


def _named_texts(part: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(part, str):
        yield name, part
    elif isinstance(part, Mapping):
        for key, value in part.items():
            yield from _named_texts(value, str(key))
    elif isinstance(part, list | tuple):
        for item in part:
            yield from _named_texts(item, name)


_BASE64 = bytes(
    ord("x") if (chr(code).isascii() and chr(code).isalnum()) or chr(code) in "+/" else ord(" ")
    for code in range(256)
)
MIN_ENCODED = 40
"""Characters of base64 in a row that may be a text with a secret."""

PEEK = 32
"""Characters of base64 that tell whether it stands for a text."""


def find_secrets(text: str, redactor: Redactor = DEFAULT) -> list[Secret]:
    """Return the secrets of a text in order; none overlaps another.

    Those in disguise are found as well (colours, escapes, invisible letters, breaks within them), and of
    base64 and hexadecimal the whole of what stands for a text with a secret.
    """
    # One byte for each character, in which all that is looked for is found much faster than in the text.
    raw = text.encode("ascii", "replace")
    small = raw.lower()
    found = [*_found(text, raw, small, redactor), *_encoded(raw, redactor)]
    if seen := undressed(text, raw, small):
        shown = seen.text.encode("ascii", "replace")
        found += seen.secrets(_found(seen.text, shown, shown.lower(), redactor))
    return _apart(found)


def _encoded(raw: bytes, redactor: Redactor) -> Iterator[Secret]:
    for start, end in runs(raw.translate(_BASE64), MIN_ENCODED):
        if not _as_text(raw[start : start + PEEK]) or not (text := _as_text(raw[start:end])):
            continue
        shown = text.encode("ascii", "replace")
        if secrets := _found(text, shown, shown.lower(), redactor):
            yield Secret(
                start, end + len(raw[end : end + 2]) - len(raw[end : end + 2].lstrip(b"=")), secrets[0].kind
            )


_HEX = re.compile(rb"(?:[0-9a-f]{2})+|(?:[0-9A-F]{2})+")


def _as_text(encoded: bytes) -> str:
    """Return what base64 or hexadecimal stands for; nothing where it is no text."""
    if _HEX.fullmatch(encoded):
        decoded = bytes.fromhex(encoded.decode())
    else:
        decoded = base64.b64decode(encoded[: len(encoded) // 4 * 4])
    # PowerShell encodes its commands with two bytes a letter.
    if decoded[1:2] == b"\0":
        decoded = decoded.replace(b"\0", b"")
    text = decoded.decode("utf-8", "replace")
    # A character may be cut at the end.
    lines = text[: PEEK // 2].split()
    return text if lines and all(map(str.isprintable, lines)) and "\ufffd" not in text[: PEEK // 2] else ""


def _found(text: str, raw: bytes, small: bytes, redactor: Redactor) -> list[Secret]:
    found = [
        *key_blocks(text, raw),
        *shaped(text, raw),
        *in_addresses(text, raw),
        *in_files(text, raw),
        *in_headers(text, small),
        *in_cookies(text, small),
        *in_options(text, raw),
        *in_clients(text, raw, small),
        *in_calls(text, raw),
        *printed(text, raw),
        *named(text, raw, small),
        *in_sentences(text, raw, small),
        *in_tables(text, raw, small),
    ]
    for pattern in _compiled(redactor.extra):
        found += _extra(text, pattern)
    if redactor.allow:
        found = [one for one in found if not _is_allowed(text[one.start : one.end], redactor)]
    if b"<private" in small:
        found += [Secret(start, end, "private") for start, end in private_spans(text)]
    return found


def _extra(text: str, pattern: re.Pattern[str]) -> Iterator[Secret]:
    marks = [mark.span() for mark in MARKED.finditer(text)]
    for one in pattern.finditer(text):
        start, end = one.span(1) if pattern.groups and one[1] is not None else one.span()
        if start < end and not any(start < last and first < end for first, last in marks):
            yield Secret(start, end, "secret")


def _is_allowed(value: str, redactor: Redactor) -> bool:
    return any(pattern.fullmatch(value) for pattern in _compiled(redactor.allow))


def _apart(found: list[Secret]) -> list[Secret]:
    kept: list[Secret] = []
    for secret in sorted(found, key=lambda one: (one.start, -one.end)):
        if kept and secret.start < kept[-1].end:
            # What reaches beyond the one before is covered with it.
            if secret.end > kept[-1].end:
                kept[-1] = Secret(kept[-1].start, secret.end, kept[-1].kind)
        else:
            kept.append(secret)
    return kept
