"""What domain/relatedness.py says of two memories, of many pairs at once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragmem.domain.connections import Scale
from ragmem.domain.relatedness import BY_WORDS, ENOUGH, NEAREST, USUAL_WORDS, Relatedness

Rows = NDArray[np.intp]
Numbers = NDArray[np.float64]


class SharedWords:
    """The words of some memories of one project, each by its place among `ids`."""

    def __init__(self, relatedness: Relatedness, project: str, ids: Sequence[str]) -> None:
        words = [relatedness.words(key) for key in ids]
        self._lengths = np.array([len(one) for one in words], np.intp)
        self._starts = np.concatenate([[0], np.cumsum(self._lengths)]).astype(np.intp)
        self._words = np.frombuffer(b"".join(one.tobytes() for one in words), np.uintc).astype(np.intp)
        weights = relatedness.weights(project)
        size = max(int(self._words.max(initial=-1)), max(weights, default=-1)) + 1
        self._weights = np.ones(size)
        self._weights[np.fromiter(weights, np.intp, len(weights))] = np.fromiter(
            weights.values(), np.float64, len(weights)
        )

    def shared(self, ones: Rows, others: Rows) -> Numbers:
        """Return how much each of `ones`, in which equal ones follow each other, shares with the other."""
        if not len(ones):
            return np.empty(0)
        lengths = self._lengths[others]
        ends = np.cumsum(lengths)
        begins = ends - lengths
        places = np.arange(int(ends[-1])) + np.repeat(self._starts[others] - begins, lengths)
        words = self._words[places]
        worth = np.zeros(len(words) + 1)
        table = np.zeros(len(self._weights))
        firsts = np.flatnonzero(np.diff(ones, prepend=-1))
        lasts = np.append(firsts[1:], len(ones)) - 1
        for one, start, end in zip(
            ones[firsts].tolist(), begins[firsts].tolist(), ends[lasts].tolist(), strict=True
        ):
            own = self._words[self._starts[one] : self._starts[one + 1]]
            table[own] = self._weights[own]
            worth[start:end] = table[words[start:end]]
            table[own] = 0.0
        sums = np.cumsum(np.concatenate([[0.0], worth]))
        both = sums[ends] - sums[begins]
        usual = np.maximum(1.0, np.sqrt(self._lengths[ones] * lengths) / USUAL_WORDS)
        return np.asarray(1.0 - np.exp(-np.maximum(both, 0.0) / usual / ENOUGH))


def strengths(scale: Scale, cosines: NDArray[np.float32], shared: Numbers) -> Numbers:
    """Return the strengths of pairs from their cosines and what they share."""
    scaled = (cosines.astype(np.float64) - scale.unrelated) / (scale.related - scale.unrelated)
    near = np.clip(scaled / NEAREST, 0.0, 1.0)
    return np.asarray(BY_WORDS * np.clip(shared, 0.0, 1.0) + (1.0 - BY_WORDS) * near)
