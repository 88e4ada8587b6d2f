"""Find the memories that a machine wrote from one template, which differ in numbers, ids and times only."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from struct import Struct

from ragmem.domain.lifecycle import Entry, Life
from ragmem.domain.model import Scope

FEWEST = 3
"""Memories of a template at least: two alike with other numbers may well be two measurements."""

FEWEST_WORDS = 6
"""Distinct words of a template at least: a row of short facts ("p95 is 31 ms at 15,000") looks the same."""

MASK = "0"
"""Stands for every word that has a digit, and for a hash."""

MOST_WORDS = 256
"""Distinct words of a template at most: a longer text is a document."""

BANDS, ROWS = 12, 4
"""Of two sets that overlap by 0.8, 99.8 % begin with the same words in one of the orders; by 0.1, 0.1 %."""

_HASHES = Struct(f">{BANDS}I")

_WORD = re.compile(r"[^\W_]+")
_VARIABLE = re.compile(r"(?<![^\W_])(?:[^\W\d_]*+\d[^\W_]*+|[a-f]{7,}+(?![^\W_]))")

Words = frozenset[str]


@dataclass(frozen=True, slots=True)
class Family:
    """Memories of one template: the newest, which is kept, and the others, newest first."""

    keeper: Entry
    others: tuple[Entry, ...]


def masked_words(text: str) -> Words:
    """Return the distinct words of a text in small letters; those with digits, and hashes, are one."""
    return frozenset(_WORD.findall(_VARIABLE.sub(MASK, text.lower())))


def template_families(entries: Iterable[Entry], *, overlap: float) -> list[Family]:
    """Return the families of 3 memories or more that share so much of their masked words (Jaccard).

    Each other shares it with the keeper. Only what is in the buffer may be of a family; what is protected,
    pinned or curated never is, and a family never reaches beyond its scope. The order of the entries does
    not matter.
    """
    by_scope: dict[Scope, list[tuple[Entry, Words]]] = defaultdict(list)
    for entry in entries:
        if entry.life is Life.BUFFER and not (entry.protected or entry.curated):
            words = masked_words(entry.text)
            if FEWEST_WORDS <= len(words) <= MOST_WORDS:
                by_scope[entry.scope].append((entry, words))
    families = [
        Family(keeper, tuple(others))
        for found in by_scope.values()
        for keeper, *others in _groups(found, overlap)
        if len(others) + 1 >= FEWEST
    ]
    return sorted(families, key=lambda family: family.keeper.id)


def _groups(found: Sequence[tuple[Entry, Words]], overlap: float) -> Iterator[list[Entry]]:
    """Yield the memories of one scope in groups, the newest of each in front.

    Each is compared with those that begin with the same words in one of several random orders (MinHash,
    Broder 1997), and of a group with the first alone, or a template of thousands would be compared with
    itself.
    """
    groups: dict[Words, list[Entry]] = {}
    agreeing: dict[tuple[int, ...], list[Words]] = defaultdict(list)
    first: dict[Words, Words] = {}
    for entry, words in sorted(found, key=_age):
        if words not in first:
            bands = _bands(words)
            near = dict.fromkeys(other for band in bands for other in agreeing.get(band, ()))
            first[words] = next((other for other in near if _jaccard(words, other) >= overlap), words)
            if first[words] is words:
                groups[words] = []
                for band in bands:
                    agreeing[band].append(words)
        groups[first[words]].append(entry)
    yield from groups.values()


def _bands(words: Words) -> list[tuple[int, ...]]:
    """Return the least hashes of the words in each of many orders, with the number of the order."""
    return [
        (band, *sorted(hashes)[:ROWS]) for band, hashes in enumerate(zip(*map(_hashes, words), strict=True))
    ]


@lru_cache(maxsize=65536)
def _hashes(word: str) -> tuple[int, ...]:
    return _HASHES.unpack(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=_HASHES.size).digest())


def _age(found: tuple[Entry, Words]) -> tuple[float, int, str]:
    entry = found[0]
    return -entry.memory.event_time.timestamp(), -entry.number, entry.id


def _jaccard(one: Words, other: Words) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both)
