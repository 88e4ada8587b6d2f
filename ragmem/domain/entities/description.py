"""What is said of a thing that many texts name: some of their sentences, the newest and the most telling."""

import re
from collections.abc import Iterable
from functools import lru_cache

MAX_SENTENCES = 7
MAX_CHARS = 1200
"""A description has so many sentences and characters at most, whoever many texts name the thing; its newest
sentence stays whole, however long."""

NEWEST = 3
"""Sentences that stay because they are new; the others must name more than those that they displace."""

LOOKED_AT = 40
"""Newest sentences of which one is chosen: a whole batch of memories may come at once."""

ALIKE = 0.75
"""Share of common words from which of two sentences the newer is enough."""

_WORD = re.compile(r"\w+")
_NAME = re.compile(r"`[^`]+`|\b\w*[a-z0-9][A-Z]\w*|\b\w+(?:[_/.:-]+\w+)+|(?<=[\w,] )[A-Z]\w+")


def summary(sentences: Iterable[str]) -> list[str]:
    """Return the sentences that describe a thing best, oldest first; they come oldest first, too.

    None says nearly the same as another. To choose again from what was chosen changes nothing, so that a
    description can be kept and added to.
    """
    newest_first = list(dict.fromkeys(reversed([one for one in sentences if one])))[:LOOKED_AT]
    if len(newest_first) < 2:
        return newest_first
    distinct: list[str] = []
    for sentence in newest_first:
        if not any(_are_alike(_words(sentence), _words(other)) for other in distinct):
            distinct.append(sentence)
    age = {sentence: at for at, sentence in enumerate(distinct)}
    telling = sorted(distinct[NEWEST:], key=lambda one: (-_names(one), age[one]))
    kept: list[str] = []
    room = MAX_CHARS
    for sentence in (*distinct[:NEWEST], *telling):
        if len(kept) < MAX_SENTENCES and (len(sentence) <= room or not kept):
            kept.append(sentence)
            room -= len(sentence)
    return sorted(kept, key=lambda one: -age[one])


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    smaller, larger = sorted((len(one), len(other)))
    if smaller < ALIKE * larger:
        return False
    return len(one & other) >= ALIKE * len(one | other)


@lru_cache(maxsize=4096)
def _words(sentence: str) -> frozenset[str]:
    return frozenset(_WORD.findall(sentence.casefold()))


@lru_cache(maxsize=4096)
def _names(sentence: str) -> int:
    """Return how many different things a sentence seems to name."""
    return len({found.strip("`").casefold() for found in _NAME.findall(sentence)})
