"""Check quickly which words a text lacks."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from ragmem.patterns import lazy

_NO_LETTER = bytes(code if chr(code).isascii() and chr(code).islower() else ord(" ") for code in range(256))
_RUN = lazy(rb"[a-z]+")

Names = tuple[tuple[bytes, bytes], ...]
"""Names that are sought, each with its `letters`."""

_BEGINNING = 2
_BY_BEGINNING: defaultdict[bytes, list[bytes]] = defaultdict(list)
"""The `letters` that are sought, by their first two."""

_EVERYWHERE: set[bytes] = set()
"""Those that are shorter, which count as being in each text."""

_PLAIN: set[bytes] = set()
"""Words without any of them, which most words of most texts are."""

MOST_PLAIN, LONGEST_KEPT = 20_000, 24
"""Words that are kept, some 2 MB, and their letters at most: no other text has a longer one."""


@lru_cache(maxsize=1)
def words_of(small: bytes) -> tuple[bytes, ...]:
    """Return the runs of letters of a lower-case text; cached, because several finders use them."""
    return tuple(small.translate(_NO_LETTER).split())


@lru_cache(maxsize=1)
def word_set(small: bytes) -> frozenset[bytes]:
    """Return the distinct words of a text."""
    return frozenset(words_of(small))


@lru_cache(maxsize=1)
def vocabulary(small: bytes) -> frozenset[bytes]:
    """Return the `letters` that a text has; a string whose letters are missing here is not in the text."""
    found = set(_EVERYWHERE)
    for word in word_set(small) - _PLAIN:
        runs = _runs_in(word) if len(word) <= LONGEST_KEPT else _runs_in.__wrapped__(word)
        if runs:
            found.update(runs)
        elif len(word) <= LONGEST_KEPT:
            _PLAIN.add(word)
    if len(_PLAIN) > MOST_PLAIN:
        _PLAIN.clear()
    return frozenset(found)


@lru_cache(maxsize=4_096)
def _runs_in(word: bytes) -> tuple[bytes, ...]:
    return tuple(
        run
        for at in range(len(word) - 1)
        for run in _BY_BEGINNING.get(word[at : at + _BEGINNING], ())
        if word.startswith(run, at)
    )


@cache
def letters(sought: bytes) -> bytes:
    """Return the longest run of letters of a string, in lower case; `vocabulary` tells of it from now on.

    Call it while a module is loaded: what was kept of texts is dropped.
    """
    run = max(_RUN.findall(sought.lower()), key=len, default=b"")
    if len(run) < _BEGINNING:
        _EVERYWHERE.add(run)
    elif run not in _BY_BEGINNING[run[:_BEGINNING]]:
        _BY_BEGINNING[run[:_BEGINNING]].append(run)
    vocabulary.cache_clear()
    _runs_in.cache_clear()
    _PLAIN.clear()
    return run


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


def with_letters(names: Iterable[bytes]) -> Names:
    """Return names for `names_in`."""
    return tuple((name, letters(name)) for name in names)


def names_in(small: bytes, names: Names) -> list[bytes]:
    """Return the names that may occur in a text."""
    there = vocabulary(small)
    return [name for name, sought in names if sought in there]
