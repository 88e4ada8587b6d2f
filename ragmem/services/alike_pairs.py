"""Judges pairs of memories of one project by domain/likeness.py, many at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragmem.domain.connections import Scale
from ragmem.domain.lifecycle import Connection, Entry
from ragmem.domain.likeness import (
    BY_WORDS,
    FARTHEST,
    LEAST,
    SAME_WORDS,
    Usual,
    usual_of,
    word_weights,
)
from ragmem.domain.word_numbers import SAYS_NOTHING, WordNumbers
from ragmem.ports import ShowsVectors
from ragmem.services.near_vectors import Rows, Space
from ragmem.services.neighbour_search import search
from ragmem.services.project_vectors import read_space

CANDIDATES = 16
"""Nearest by vectors that are judged."""

ROWS = 2000
"""Memories whose candidates are looked for together."""

AT_ONCE = 20_000
"""Pairs that are judged together: some megabytes of words."""

SAMPLED = 600
"""Memories whose cosines tell what is usual in their project."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AlikePairs:
    """Memories of one project that may become one, with their vectors and what they name.

    It can be handed to another process, which then does the work.
    """

    entries: Sequence[Entry]
    """In the order of the space."""
    names: Mapping[str, Iterable[str]]
    """By id, what the texts name."""
    space: Space
    scale: Scale

    def found(self) -> list[Connection]:
        """Return which are alike, each pair once, by their ids."""
        pairs, cosines = self._near()
        words = _Words((entry, self.names.get(entry.id, ())) for entry in self.entries)
        usual = self._usual()
        size = len(self.entries)
        ids = [entry.id for entry in self.entries]
        found: list[Connection] = []
        for start in range(0, len(pairs), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            lows, highs = np.divmod(pairs[some], size)
            shared, strong = _alike(usual, cosines[some], words.cosines(lows, highs))
            telling = np.flatnonzero(strong >= LEAST)
            # Rounded, so that it is the same whichever of the two was asked for.
            known = (part[telling].astype(float).round(4) for part in (cosines[some], shared, strong))
            told = zip(*(part.tolist() for part in (lows[telling], highs[telling], *known)), strict=True)
            found += [Connection(ids[low], ids[high], *parts) for low, high, *parts in told]
        return found

    def _near(self) -> tuple[Rows, NDArray[np.float32]]:
        """Return the candidates, each pair once as low place * size + high place, and their cosines."""
        size = len(self.entries)
        pairs, cosines = [np.empty(0, np.intp)], [np.empty(0, np.float32)]
        for near in search(self.space, np.arange(size), count=CANDIDATES, bar=-1.0, at_once=ROWS):
            ones, others = near.asked[near.places], near.columns
            pairs.append(np.minimum(ones, others) * size + np.maximum(ones, others))
            cosines.append(near.cosines)
        each, firsts = np.unique(np.concatenate(pairs), return_index=True)
        return each, np.concatenate(cosines)[firsts]

    def _usual(self) -> Usual:
        some = self.space.matrix[:SAMPLED]
        pairs = (some @ some.T)[np.triu_indices(len(some), 1)]
        return usual_of(pairs.tolist(), self.scale, memories=len(self.entries))


def alike_pairs(
    store: ShowsVectors,
    project: str,
    entries: Sequence[Entry],
    names: Mapping[str, Iterable[str]],
    scale: Scale,
) -> AlikePairs:
    """Read the vectors of memories; `names` are, by id, what the texts name. Raises BackendError."""
    specs = {entry.id: entry.scope.spec for entry in entries}
    ids, space = read_space(store, project, specs, all_of_project=False)
    # The order of what was read is the store's; that of the entries is not.
    places = {key: place for place, key in enumerate(ids)}
    known = [entry for entry in entries if entry.id in places]
    order = np.array([places[entry.id] for entry in known], np.intp)
    return AlikePairs(known, names, Space(space.matrix[order], space.specs[order]), scale)


def _alike(usual: Usual, cosines: NDArray[np.float32], words: Numbers) -> tuple[Numbers, Numbers]:
    """Return what the shared words of pairs say, and how alike each is: `by_words` and `likeness` of many."""
    standing_out = np.clip((cosines.astype(np.float64) - usual.middle) / usual.spread / FARTHEST, 0.0, 1.0)
    shared = 1.0 - np.exp(-np.maximum(words, 0.0) / SAME_WORDS)
    return shared, BY_WORDS * shared + (1.0 - BY_WORDS) * standing_out


class _Words:
    """The words of memories, each by its place, with what each weighs in a vector of unit length."""

    def __init__(self, told: Iterable[tuple[Entry, Iterable[str]]]) -> None:
        numbers = WordNumbers()
        every = [
            sorted(set(numbers.of(one.memory.title, one.text, one.memory.summary, names)) - {SAYS_NOTHING})
            for one, names in told
        ]
        known = word_weights(every)
        self._size = len(numbers)
        self._lengths = np.array([len(words) for words in every], np.intp)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._words = np.array([word for words in every for word in words], np.intp)
        weights = np.array([known[word] for words in every for word in words], np.float64)
        owners = np.repeat(np.arange(len(every)), self._lengths)
        squares = np.bincount(owners, weights**2, minlength=len(every))
        self._weights = weights / np.sqrt(np.maximum(squares, 1e-12))[owners]

    def cosines(self, ones: Rows, others: Rows) -> Numbers:
        """Return the cosine of each of `ones`, in which equal ones follow each other, with the other."""
        if not len(ones):
            return np.empty(0)
        lengths = self._lengths[others]
        ends = np.cumsum(lengths)
        begins = ends - lengths
        places = np.arange(int(lengths.sum())) + np.repeat(self._starts[others] - begins, lengths)
        words = self._words[places]
        worth = np.zeros(len(words) + 1)
        table = np.zeros(self._size)
        firsts = np.flatnonzero(np.diff(ones, prepend=-1))
        lasts = np.append(firsts[1:], len(ones)) - 1
        bounds = (ones[firsts].tolist(), begins[firsts].tolist(), ends[lasts].tolist())
        for one, start, end in zip(*bounds, strict=True):
            own = slice(self._starts[one], self._starts[one] + self._lengths[one])
            table[self._words[own]] = self._weights[own]
            worth[start:end] = table[words[start:end]]
            table[self._words[own]] = 0.0
        worth[:-1] *= self._weights[places]
        sums = np.add.reduceat(worth, begins)
        # What has no words shares nothing; reduceat would give what comes next.
        return np.where(lengths > 0, sums, 0.0)
