"""Check quickly which words a text lacks."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any, Generic, TypeVar

from ragmem.patterns import lazy

_ASCII = bytes(range(128))
_NO_LETTER = bytes(code if chr(code).isascii() and chr(code).islower() else ord(" ") for code in range(256))
_RUN = lazy(rb"[a-z]+")

Keys = frozenset[bytes]
"""What a text needs to have a string: its runs of letters, with a blank where a word begins or ends."""

_T = TypeVar("_T")


class Names(Generic[_T]):
    """What is looked for by a string, in order: the string itself, or anything that belongs to it."""

    def __init__(self, sought: Iterable[tuple[Keys, _T]]) -> None:
        """Register things with the `letters` of their strings; call it while a module is loaded."""
        self.everywhere: list[tuple[int, _T]] = []
        for place, (keys, thing) in enumerate(sought):
            if keys:
                # A long key is in few texts.
                _BY_KEY[max(keys, key=len)].append((keys, self, place, thing))
            else:
                self.everywhere.append((place, thing))


_BY_KEY: defaultdict[bytes, list[tuple[Keys, Names[Any], int, Any]]] = defaultdict(list)
"""All things, by a key that a text must have: nearly all of them are ruled out at once."""

_SHORTEST = 2
_FOUR = 4
_BY_FOUR: defaultdict[tuple[int, ...], list[bytes]] = defaultdict(list)
"""The keys by four of their letters, blanks included, which most words do not have."""

_SHORTER: list[bytes] = []
"""The keys with fewer."""

_PLAIN: set[bytes] = set()
"""Words without any of them, which most words of most texts are."""

_TELLING: dict[bytes, set[bytes]] = {}
"""The other words, each with its keys."""

MOST_PLAIN, MOST_TELLING, LONGEST_KEPT = 20_000, 4_096, 24
"""Words that are kept, some 3 MB, and their letters at most: no other text has a longer one."""


@lru_cache(maxsize=1)
def foreign_letters(text: str) -> str:
    """Return the characters of a text that are not ASCII: a search of these is faster: they are few."""
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")


@lru_cache(maxsize=1)
def words_of(small: bytes) -> tuple[bytes, ...]:
    """Return the runs of letters of a lower-case text; cached, because several finders use them."""
    return tuple(small.translate(_NO_LETTER).split())


@lru_cache(maxsize=1)
def word_set(small: bytes) -> frozenset[bytes]:
    """Return the distinct words of a text."""
    return frozenset(words_of(small))


@lru_cache(maxsize=1)
def vocabulary(small: bytes) -> Keys:
    """Return the keys of `letters` that a text has; a string of which one is missing is not in the text."""
    words = word_set(small)
    # Another thread may clear what is kept.
    found = {word: keys for word in _TELLING.keys() & words if (keys := _TELLING.get(word))}
    if new := words.difference(_PLAIN).difference(found):
        telling = _keys_by_word(b" %b " % b" ".join(new))
        found |= telling
        kept = {word for word in new if len(word) <= LONGEST_KEPT}
        _PLAIN.update(kept.difference(telling))
        _TELLING.update((word, telling[word]) for word in kept.intersection(telling))
        if len(_PLAIN) > MOST_PLAIN or len(_TELLING) > MOST_TELLING:
            _forget()
    return frozenset().union(*found.values())


def _keys_by_word(line: bytes) -> dict[bytes, set[bytes]]:
    """Return the words of a line, between blanks, that have a key, each with its keys."""
    fours = _BY_FOUR.keys() & set(zip(line, line[1:], line[2:], line[3:], strict=False))
    found: defaultdict[bytes, set[bytes]] = defaultdict(set)
    for key in chain(_SHORTER, *(_BY_FOUR[four] for four in fours)):
        for at in places(line, key):
            start = line.rfind(b" ", 0, at + 1) + 1
            found[line[start : line.find(b" ", start)]].add(key)
    return found


def _forget() -> None:
    _PLAIN.clear()
    _TELLING.clear()
    vocabulary.cache_clear()
    _names_by_list.cache_clear()


@cache
def letters(sought: bytes, *, is_begun: bool = False) -> Keys:
    """Return the runs of letters of a string, in lower case; `vocabulary` tells of them from now on.

    A run behind another character begins a word of any text that has the string, and so with its end;
    `is_begun` tells that no letter stands before the string. Call it while a module is loaded: what was kept
    of texts is dropped.
    """
    keys = set()
    for found in _RUN.finditer(sought.lower()):
        run, begins, ends = found[0], found.start() > 0 or is_begun, found.end() < len(sought)
        if len(run) < _SHORTEST and not (begins and ends):
            continue
        key = b" " * begins + run + b" " * ends
        keys.add(key)
        # The middle of a key tells more than its ends.
        middle = max(0, (len(key) - _FOUR) // 2)
        known = _BY_FOUR[tuple(key[middle : middle + _FOUR])] if len(key) >= _FOUR else _SHORTER
        if key not in known:
            known.append(key)
    _forget()
    return frozenset(keys)


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


def with_letters(names: Iterable[bytes]) -> Names[bytes]:
    """Return names for `names_in`."""
    return Names((letters(name), name) for name in names)


def names_in(small: bytes, names: Names[_T]) -> list[_T]:
    """Return what may occur in a text, in order."""
    found: list[tuple[int, _T]] = _names_by_list(small).get(names, [])
    return [thing for _, thing in sorted([*names.everywhere, *found], key=itemgetter(0))]


@lru_cache(maxsize=1)
def _names_by_list(small: bytes) -> dict[Names[Any], list[tuple[int, Any]]]:
    there = vocabulary(small)
    found: defaultdict[Names[Any], list[tuple[int, Any]]] = defaultdict(list)
    for key in _BY_KEY.keys() & there:
        for keys, names, place, thing in _BY_KEY[key]:
            if keys <= there:
                found[names].append((place, thing))
    return dict(found)
