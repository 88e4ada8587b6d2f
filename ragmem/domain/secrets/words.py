"""Tell quickly which words a text lacks, and compile patterns only when a text needs them."""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any, TypeVar, cast

_Letters = TypeVar("_Letters", str, bytes)

_NO_LETTER = bytes(code if chr(code).isascii() and chr(code).islower() else ord(" ") for code in range(256))
_RUN = re.compile(rb"[a-z]+")


@lru_cache(maxsize=1)
def words_of(small: bytes) -> tuple[bytes, ...]:
    """Return the runs of letters of a text in small letters; several finders ask for the same text."""
    return tuple(small.translate(_NO_LETTER).split())


@lru_cache(maxsize=1)
def word_set(small: bytes) -> frozenset[bytes]:
    """Return the different words of a text."""
    return frozenset(words_of(small))


@lru_cache(maxsize=1)
def vocabulary(small: bytes) -> bytes:
    """Return each word of a text once: what has letters that do not stand in it is not in the text.

    It is some seven times shorter than the text, and most of what is looked for is in no text.
    """
    return b" ".join(word_set(small))


@cache
def letters(sought: bytes) -> bytes:
    """Return the longest run of letters of what is looked for, in small letters."""
    return max(_RUN.findall(sought.lower()), key=len, default=b"")


def places(raw: bytes, sought: bytes) -> Iterator[int]:
    """Yield where something stands in a text, each place once."""
    at = raw.find(sought)
    while at >= 0:
        yield at
        at = raw.find(sought, at + 1)


def held(small: bytes, names: Iterable[bytes]) -> list[bytes]:
    """Return which of these names a text may hold."""
    words = vocabulary(small)
    return [name for name in names if letters(name) in words]


class _Lazy:
    """A pattern that is compiled when it is first used; then its methods are those of the compiled one."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        made = re.compile(self._source, self._flags)
        for method in ("match", "search", "fullmatch", "finditer", "findall", "sub", "split"):
            setattr(self, method, getattr(made, method))
        return getattr(made, name)


def lazy(source: _Letters, flags: int = 0) -> re.Pattern[_Letters]:
    """Return a pattern that costs nothing until a text is searched for it: most texts need few."""
    return cast("re.Pattern[_Letters]", _Lazy(source, flags))
