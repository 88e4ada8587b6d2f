"""Redact secrets in a text: keys, tokens, passwords, and parts marked private."""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from ragmem.domain.secrets import RULES
from ragmem.domain.secrets.marks import mark
from ragmem.domain.secrets.values import Secret
from ragmem.errors import UsageError
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

__all__ = ["DEFAULT", "MOST_PASSES", "Redactor", "Secret", "cover", "find_secrets", "refuse_secret"]

_APART = "\n\0\n"
"""Separator of texts that are searched together; only secrets that begin like _FAR can span it."""

_FAR = lazy(r"-----BEGIN|<private", re.IGNORECASE)


MOST_PASSES = 6
"""Maximum search passes; each finds everything except secrets directly next to another one."""


@dataclass(frozen=True, slots=True)
class Redactor:
    """Redacts secrets by the rules of one home; immutable and safe to share between threads and processes.

    A value that a pattern of `allow` matches as a whole is not a secret; a match of `extra` is (the first
    group, if the pattern has one). With `stored`, texts are stored with their secrets and redacted only when
    they are shown or sent. Raises re.error for an invalid pattern.
    """

    stored: bool = False
    allow: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for patterns in (self.allow, self.extra):
            _compile(patterns)

    def find(self, text: str) -> list[Secret]:
        """Return the secrets of a text in order, without overlaps. See `find_secrets`."""
        return find_secrets(text, self)

    def clean_hash(self, text: str) -> int:
        """Return a hash, of 64 bits, of these rules and a text without secrets; 0 if the text has one."""
        return 0 if self.find(text) else self._hash(text)

    def is_clean(self, text: str, clean_hash: int) -> bool:
        """Tell by the clean hash of a stored text that it has no secret; it is not searched."""
        return clean_hash != 0 and clean_hash == self._hash(text)

    def _hash(self, text: str) -> int:
        rules = hashlib.blake2b(f"{RULES} {self.allow} {self.extra}".encode("utf-8", "surrogatepass"))
        hashed = hashlib.blake2b(
            text.encode("utf-8", "surrogatepass"), digest_size=8, key=rules.digest()
        ).digest()
        return int.from_bytes(hashed, signed=True)

    def redact(self, text: str) -> tuple[str, int]:
        """Return the text with each secret replaced by `[redacted: kind]`, and the number of replacements.

        The time is linear in the text; redaction is idempotent. Placeholders (YOUR_API_KEY, xxxx, ${TOKEN}),
        hashes, ids and names stay.
        """
        count = 0
        # A neighbour of a secret may be recognized only after the secret is gone.
        for _ in range(MOST_PASSES):
            secrets = self.find(text)
            if not secrets:
                break
            text, count = cover(text, secrets), count + len(secrets)
        return text, count

    def truncate(self, text: str, most: int) -> str:
        """Return at most `most` characters; fewer if the cut would make a secret unrecognizable."""
        if len(text) <= most:
            return text
        for secret in self.find(text):
            if secret.start < most < secret.end:
                return text[: secret.start].rstrip() or mark(secret.kind)[:most]
        return text[:most]

    def redact_document(self, document: Any) -> Any:
        """Return a copy of a JSON document with the secrets in its texts replaced; its keys stay.

        The key of a text counts as its name: `{"password": ...}` is found as in a text.
        """
        redacted = iter(self._redact_each(list(_texts_with_names(document, ""))))

        def copy(part: Any) -> Any:
            if isinstance(part, str):
                return next(redacted)
            if isinstance(part, Mapping):
                return {key: copy(value) for key, value in part.items()}
            return [copy(item) for item in part] if isinstance(part, list | tuple) else part

        return copy(document)

    def _redact_each(self, named: Sequence[tuple[str, str]]) -> list[str]:
        """Return the redacted texts; they are searched together, because each search has a fixed cost."""
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
def _compile(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, patterns))


DEFAULT = Redactor()
"""The default rules, for code without access to the settings of a home."""


def refuse_secret(name: str, what: str, redactor: Redactor) -> None:
    """Raise UsageError for a name with a secret, because names are stored verbatim."""
    if name and not redactor.stored and redactor.find(name):
        raise UsageError(f"the {what} holds a secret", hint="choose a name that anyone may read")


def cover(text: str, secrets: Sequence[Secret], start: int = 0, end: int | None = None) -> str:
    """Return text[start:end] with the secrets replaced, given the secrets of the whole text.

    So a part of a text reveals nothing of a secret that begins before it or continues after it.
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


def _texts_with_names(part: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(part, str):
        yield name, part
    elif isinstance(part, Mapping):
        for key, value in part.items():
            yield from _texts_with_names(value, str(key))
    elif isinstance(part, list | tuple):
        for item in part:
            yield from _texts_with_names(item, name)


def find_secrets(text: str, redactor: Redactor = DEFAULT) -> list[Secret]:
    """Return the secrets of a text in order, without overlaps."""
    key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest(), redactor
    found = _known.get(key)
    if found is None:
        # Imported late, because some hundred patterns take longer to compile than a help text may.
        from ragmem.domain.secrets.search import search  # noqa: PLC0415

        found = tuple(search(text, allow=_compile(redactor.allow), extra=_compile(redactor.extra)))
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        if len(found) <= FEW_SECRETS:
            _known[key] = found
    return list(found)


MOST_KNOWN, FEW_SECRETS = 4_000, 8
"""Texts whose secrets are kept, as places, and the secrets of each at most: some MB; most texts have none."""

# By hash, which reveals nothing. A write searches a text before it is stored, for its names, for its record
# and in the transaction, and answers show the same memories again and again.
_known: dict[tuple[bytes, Redactor], tuple[Secret, ...]] = {}
