"""Check quickly which words a text lacks."""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from ragmem.patterns import lazy

_NO_LETTER = bytes(code if chr(code).isascii() and chr(code).islower() else ord(" ") for code in range(256))
_RUN = lazy(rb"[a-z]+")


@lru_cache(maxsize=1)
def words_of(small: bytes) -> tuple[bytes, ...]:
    """Return the runs of letters of a lower-case text; cached, because several finders use them."""
    return tuple(small.translate(_NO_LETTER).split())


@lru_cache(maxsize=1)
def word_set(small: bytes) -> frozenset[bytes]:
    """Return the distinct words of a text."""
    return frozenset(words_of(small))


@lru_cache(maxsize=1)
def vocabulary(small: bytes) -> bytes:
    """Return each word of a text once; a string whose letters are missing here is not in the text.

    It is about seven times shorter than the text.
    """
    return b" ".join(word_set(small))


@cache
def letters(sought: bytes) -> bytes:
    """Return the longest run of letters of a string, in lower case."""
    return max(_RUN.findall(sought.lower()), key=len, default=b"")


def places(raw: bytes, sought: bytes, *, step: int = 1) -> Iterator[int]:
    """Yield the offsets of `sought`; the next one is at least `step` bytes after the last."""
    at = raw.find(sought)
    while at >= 0:
        yield at
        at = raw.find(sought, at + step)


def matches(
    text: str, raw: bytes, sought: Iterable[bytes], pattern: re.Pattern[str], *, shift: int = 0
) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern `shift` characters after each occurrence of the strings in `raw`."""
    for name in sought:
        for at in places(raw, name):
            if found := pattern.match(text, at + shift):
                yield found


def names_in(small: bytes, names: Iterable[bytes]) -> list[bytes]:
    """Return the names that may occur in a text."""
    words = vocabulary(small)
    return [name for name, sought in _with_letters(tuple(names)) if sought in words]


@lru_cache(maxsize=64)
def _with_letters(names: tuple[bytes, ...]) -> tuple[tuple[bytes, bytes], ...]:
    """Return names with their letters; cached as a whole, because each finder always asks for the same."""
    return tuple((name, letters(name)) for name in names)
