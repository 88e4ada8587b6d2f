"""Find the memories that a machine wrote from one template, which differ in numbers, ids and times only."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain

import numpy as np
from numpy.typing import NDArray

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

AT_ONCE = 4096
"""Texts whose words are put into orders together; more of them would take up much memory."""

_NUMBER_BYTES = 4

_MIXING = 0x9E3779B97F4A7C15
"""An odd number with as many ones as zeros, and no pattern."""

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
    agreeing: dict[int, list[Words]] = defaultdict(list)
    first: dict[Words, Words] = {}
    ordered = sorted(found, key=_age)
    sets = list(dict.fromkeys(words for _, words in ordered))
    begin = _common_beginnings(sets)
    for entry, words in ordered:
        if words not in first:
            bands = next(begin)
            near = dict.fromkeys(other for band in bands for other in agreeing.get(band, ()))
            first[words] = next((other for other in near if _jaccard(words, other) >= overlap), words)
            if first[words] is words:
                groups[words] = []
                for band in bands:
                    agreeing[band].append(words)
        groups[first[words]].append(entry)
    yield from groups.values()


def _common_beginnings(sets: Sequence[Words]) -> Iterator[list[int]]:
    """Yield for each set a number for every order in which another one begins with the same words."""
    if not sets:
        return
    places: dict[str, int] = {}
    digests = bytearray()
    found = []
    for start in range(0, len(sets), AT_ONCE):
        some = sets[start : start + AT_ONCE]
        for word in chain.from_iterable(some):
            if word not in places:
                places[word] = len(places)
                digests += _digest(word)
        orders = np.frombuffer(bytes(digests), dtype=">u4").reshape(-1, BANDS)
        found.append(_beginnings(some, places, orders))
    begin = np.concatenate(found)
    _, numbers, often = np.unique(begin, return_inverse=True, return_counts=True)
    common = (often > 1)[numbers].reshape(begin.shape)
    for row, has in zip(begin, common, strict=True):
        yield row[has].tolist()


def _beginnings(
    some: Sequence[Words], places: Mapping[str, int], orders: NDArray[np.uint32]
) -> NDArray[np.uint64]:
    """Return a number for what each set begins with in each order; a word has the row `places` of these."""
    sizes = np.fromiter(map(len, some), dtype=np.int64, count=len(some))
    words = chain.from_iterable(some)
    rows = np.fromiter(map(places.__getitem__, words), dtype=np.int64, count=int(sizes.sum()))
    # With the number of its set in front of each word's, one sort puts all sets into order.
    sets = np.repeat(np.arange(len(some), dtype=np.uint64) << np.uint64(32), sizes)
    least = (np.cumsum(sizes) - sizes)[:, None] + np.arange(ROWS)
    begin = np.empty((len(some), BANDS), dtype=np.uint64)
    for order in range(BANDS):
        first = np.sort(sets | orders[rows, order].astype(np.uint64))[least] & np.uint64(0xFFFFFFFF)
        mixed = np.full(len(some), order, dtype=np.uint64)
        for at in range(ROWS):
            mixed = (mixed ^ first[:, at]) * np.uint64(_MIXING)
            mixed ^= mixed >> np.uint64(29)
        begin[:, order] = mixed
    return begin


def _digest(word: str) -> bytes:
    """Return the places of a word in all orders, one behind the other."""
    return blake2b(word.encode("utf-8", "surrogatepass"), digest_size=BANDS * _NUMBER_BYTES).digest()


def _age(found: tuple[Entry, Words]) -> tuple[float, int, str]:
    entry = found[0]
    return -entry.memory.event_time.timestamp(), -entry.number, entry.id


def _jaccard(one: Words, other: Words) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both)
