"""Check quickly which words a text lacks, and compile patterns on demand."""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any, TypeVar, cast

_Letters = TypeVar("_Letters", str, bytes)

_NO_LETTER = bytes(code if chr(code).isascii() and chr(code).islower() else ord(" ") for code in range(256))
_RUN = re.compile(rb"[a-z]+")


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


class _Lazy:
    """A pattern that is compiled on first use, with the methods of the compiled one."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        made = re.compile(self._source, self._flags)
        for method in ("match", "search", "fullmatch", "finditer", "findall", "sub", "split"):
            setattr(self, method, getattr(made, method))
        return getattr(made, name)


def lazy(source: _Letters, flags: int = 0) -> re.Pattern[_Letters]:
    """Return a pattern that is compiled on first use, because most texts need few patterns."""
    return cast("re.Pattern[_Letters]", _Lazy(source, flags))
