"""Take secrets out of a text before anyone reads it: keys, tokens, passwords, and what is marked private."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

from ragmem.domain.secrets.marks import mark
from ragmem.domain.secrets.values import Secret
from ragmem.errors import UsageError

__all__ = ["DEFAULT", "MOST_PASSES", "Redactor", "Secret", "cover", "find_secrets", "refuse_secret"]

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


def refuse_secret(name: str, what: str, redactor: Redactor) -> None:
    """Raise UsageError for a name that holds a secret: things are known by it, so it is stored as it is."""
    if name and not redactor.stored and redactor.find(name):
        raise UsageError(f"the {what} holds a secret", hint="choose a name that anyone may read")


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


def find_secrets(text: str, redactor: Redactor = DEFAULT) -> list[Secret]:
    """Return the secrets of a text in order; none overlaps another."""
    # The rules are some hundred patterns, which take longer to compile than the help of a command may.
    from ragmem.domain.secrets.search import search  # noqa: PLC0415

    return search(text, allow=_compiled(redactor.allow), extra=_compiled(redactor.extra))
