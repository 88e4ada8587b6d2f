"""Judges pairs of memories of one project by domain/likeness.py, many at once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ragmem.domain.connections import Scale
from ragmem.domain.lifecycle import Connection, Entry
from ragmem.domain.likeness import LEAST, by_words, likeness, usual_of, word_weights
from ragmem.domain.word_numbers import SAYS_NOTHING, WordNumbers
from ragmem.ports import ShowsVectors
from ragmem.services.neighbour_search import Rows, Space, search
from ragmem.services.project_vectors import read_space

CANDIDATES = 16
"""Nearest by vectors that are judged."""

AT_ONCE = 2000
"""Memories whose candidates are judged together: some ten thousand pairs."""

SAMPLED = 600
"""Memories whose cosines tell what is usual in their project."""

Numbers = NDArray[np.float64]


class AlikePairs:
    """Memories of one project that may become one, with their vectors and words."""

    def __init__(
        self,
        store: ShowsVectors,
        project: str,
        entries: Sequence[Entry],
        names: Mapping[str, Iterable[str]],
        scale: Scale,
    ) -> None:
        """Read the vectors and the words; `names` are, by id, what the texts name. Raises BackendError."""
        specs = {entry.id: entry.scope.spec for entry in entries}
        ids, space = read_space(store, project, specs, all_of_project=False)
        # The order of what was read is the store's; that of the entries is not.
        places = {key: place for place, key in enumerate(ids)}
        known = [entry for entry in entries if entry.id in places]
        order = np.array([places[entry.id] for entry in known], np.intp)
        self._ids = [entry.id for entry in known]
        self._space = Space(space.matrix[order], space.specs[order])
        self._words = _Words((entry, names.get(entry.id, ())) for entry in known)
        some = self._space.matrix[:SAMPLED]
        pairs = (some @ some.T)[np.triu_indices(len(some), 1)]
        self._usual = usual_of(pairs.tolist(), scale, memories=len(known))

    def found(self) -> list[Connection]:
        """Return which are alike, each pair once, by their ids."""
        found: dict[tuple[int, int], Connection] = {}
        rows = np.arange(len(self._ids))
        for near in search(self._space, rows, count=CANDIDATES, bar=-1.0, at_once=AT_ONCE):
            ones, others = near.asked[near.places], near.columns
            told = zip(
                np.minimum(ones, others).tolist(),
                np.maximum(ones, others).tolist(),
                near.cosines.tolist(),
                self._words.cosines(ones, others).tolist(),
                strict=True,
            )
            found |= dict(self._judged(told))
        return [found[pair] for pair in sorted(found)]

    def _judged(
        self, told: Iterable[tuple[int, int, float, float]]
    ) -> Iterator[tuple[tuple[int, int], Connection]]:
        for low, high, cosine, words in told:
            shared = by_words(words)
            strength = likeness(self._usual.standing_out(cosine), shared)
            if strength >= LEAST:
                # Rounded, so that it is the same whichever of the two was asked for.
                known = (round(part, 4) for part in (cosine, shared, strength))
                yield (low, high), Connection(self._ids[low], self._ids[high], *known)


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
        found = np.zeros(len(ones))
        table = np.zeros(self._size)
        bounds = [*np.flatnonzero(np.diff(ones, prepend=-1)).tolist(), len(ones)]
        for start, end in pairwise(bounds):
            own = self._slice(int(ones[start]))
            table[self._words[own]] = self._weights[own]
            for place in range(start, end):
                other = self._slice(int(others[place]))
                found[place] = table[self._words[other]] @ self._weights[other]
            table[self._words[own]] = 0.0
        return found

    def _slice(self, place: int) -> slice:
        start = int(self._starts[place])
        return slice(start, start + int(self._lengths[place]))
