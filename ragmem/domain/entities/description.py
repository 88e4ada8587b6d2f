"""Describe an entity by a few sentences of its texts, the newest and most specific."""

from collections.abc import Iterable

from ragmem.heap import word_cache
from ragmem.patterns import lazy

MAX_SENTENCES = 7
MAX_CHARS = 1200
"""Maximum sentences and characters of a description; its newest sentence is never cut."""

NEWEST = 3
"""Newest sentences, which are always kept; the others are chosen by their number of names."""

MAX_CANDIDATES = 40
"""Maximum newest sentences that are considered, because many memories may arrive at once."""

ALIKE = 0.75
"""Share of common words from which the newer of two sentences makes the older one redundant."""

_WORD = lazy(r"\w+")
_NAME = lazy(r"`[^`]+`|\b\w*[a-z0-9][A-Z]\w*|\b\w+(?:[_/.:-]+\w+)+|(?<=[\w,] )[A-Z]\w+")


def summary(sentences: Iterable[str]) -> list[str]:
    """Return the sentences that describe an entity best, oldest first; the input is oldest first, too.

    No two of them are nearly the same. The function is idempotent, so that a stored description can be
    extended.
    """
    newest_first = list(dict.fromkeys(reversed([one for one in sentences if one])))[:MAX_CANDIDATES]
    if len(newest_first) < 2:
        return newest_first
    distinct: list[str] = []
    for sentence in newest_first:
        if not any(_are_alike(_words(sentence), _words(other)) for other in distinct):
            distinct.append(sentence)
    age = {sentence: at for at, sentence in enumerate(distinct)}
    specific = sorted(distinct[NEWEST:], key=lambda one: (-_names(one), age[one]))
    kept: list[str] = []
    room = MAX_CHARS
    for sentence in (*distinct[:NEWEST], *specific):
        if len(kept) < MAX_SENTENCES and (len(sentence) <= room or not kept):
            kept.append(sentence)
            room -= len(sentence)
    return sorted(kept, key=lambda one: -age[one])


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    smaller, larger = sorted((len(one), len(other)))
    if smaller < ALIKE * larger:
        return False
    return len(one & other) >= ALIKE * len(one | other)


@word_cache(4096)
def _words(sentence: str) -> frozenset[str]:
    return frozenset(_WORD.findall(sentence.casefold()))


@word_cache(4096)
def _names(sentence: str) -> int:
    """Return the number of different names that a sentence seems to have."""
    return len({found.strip("`").casefold() for found in _NAME.findall(sentence)})
