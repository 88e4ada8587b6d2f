"""Approximate search for the nearest vectors, in the nearest cells (an inverted file index)."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ragmem.services.vectors import near_vectors
from ragmem.services.vectors.near_vectors import COLUMNS, Matches, Neighbours, Rows, Space, Vectors

_SAMPLED_PER_CELL = 40
"""Vectors per cell that k-means is trained on."""

_ROUNDS = 6
"""Rounds of k-means; more barely move the centres."""

_PROBES = 16
"""Nearest cells that are searched for each vector: of 100,000 real vectors' 12 nearest they hold 95 %, and as
each end of a pair looks for the other, 97 % of the pairs are found, and 99 % of those above 0.6."""

_BATCH = 25_000
"""Vectors that are searched together, so that each cell is compared with many at once."""


def search_cells(space: Space, asked: Rows, *, count: int, bar: float, at_once: int) -> Iterator[Neighbours]:
    """Yield what is near the asked rows, by comparing each with the members of the cells nearest to it.

    Rows are asked in the order of their cells, and for about `at_once` at a time.
    """
    middles = _cell_centres(space.matrix)
    cells = _assign_cells(space.matrix, middles)
    order = np.argsort(cells, kind="stable")
    bounds = np.searchsorted(cells[order], np.arange(len(middles) + 1)).tolist()
    members = [order[start:end] for start, end in itertools.pairwise(bounds)]
    asked = asked[np.argsort(cells[asked], kind="stable")]
    for start in range(0, len(asked), _BATCH):
        rows = asked[start : start + _BATCH]
        places, found, cosines = _probe(space, rows, middles, members, count=count, bar=bar)
        for first in range(0, len(rows), at_once):
            last = min(first + at_once, len(rows))
            part = slice(*np.searchsorted(places, [first, last]).tolist())
            yield Neighbours(rows[first:last], places[part] - first, found[part], cosines[part])


def _probe(
    space: Space, rows: Rows, middles: Vectors, members: Sequence[Rows], *, count: int, bar: float
) -> Matches:
    """Return (positions of the rows, columns, cosines) of the best in the nearest cells, by position."""
    probed = min(_PROBES, len(middles))
    cosines = space.matrix[rows] @ middles.T
    own = cosines.argmax(axis=1)
    nearest = np.argpartition(-cosines, probed - 1, axis=1)[:, :probed]
    least = np.full(len(rows), np.float32(bar))
    # First each in its own cell, which sets the threshold for the others.
    parts = [
        _in_cell(space, rows, here, members[cell], least, count=count)
        for cell, here in _by_value(own, np.arange(len(rows)))
    ]
    found = near_vectors.concatenate(*parts)
    least = near_vectors.raise_thresholds(least, found[0], found[2], count)
    others = nearest != own[:, None]
    parts = [found]
    for cell, here in _by_value(nearest[others], np.nonzero(others)[0]):
        for start in range(0, len(here), COLUMNS):
            parts.append(_in_cell(space, rows, here[start : start + COLUMNS], members[cell], least))
    return near_vectors.best(near_vectors.concatenate(*parts), count)


def _in_cell(
    space: Space, rows: Rows, here: Rows, members: Rows, least: Vectors, *, count: int = 0
) -> Matches:
    """Return what of a cell is near the rows at these places; with a count about so many for each of them."""
    if not len(members):
        return near_vectors.empty_matches()
    products = space.products(rows[here], members)
    wanted = least[here]
    if 0 < count < len(members):
        wanted = np.maximum(wanted, np.partition(products, -count, axis=1)[:, -count])
    one, other = near_vectors.at_least(products, wanted[:, None])
    return here[one], members[other], products[one, other]


def _by_value(values: Rows, places: Rows) -> Iterator[tuple[int, Rows]]:
    """Yield each value with its places."""
    order = np.argsort(values, kind="stable")
    firsts = np.flatnonzero(np.diff(values[order], prepend=-1)).tolist()
    for start, end in itertools.pairwise([*firsts, len(order)]):
        yield int(values[order[start]]), places[order[start:end]]


def _cell_centres(matrix: Vectors) -> Vectors:
    """Return the centres of about sqrt(n) cells, by k-means on a sample; the result is deterministic."""
    count = int(np.sqrt(len(matrix)))
    chance = np.random.default_rng(count)
    sample = matrix[np.sort(chance.choice(len(matrix), min(len(matrix), count * _SAMPLED_PER_CELL), False))]
    middles = sample[np.sort(chance.choice(len(sample), count, False))].copy()
    for _ in range(_ROUNDS):
        cells = _assign_cells(sample, middles)
        order = np.argsort(cells, kind="stable")
        firsts = np.searchsorted(cells[order], np.arange(count))
        filled = np.bincount(cells, minlength=count) > 0
        sums = np.add.reduceat(sample[order], np.minimum(firsts, len(order) - 1))
        middles[filled] = sums[filled]
        middles /= np.maximum(np.linalg.norm(middles, axis=1, keepdims=True), np.float32(1e-12))
    return np.asarray(middles, np.float32)


def _assign_cells(vectors: Vectors, middles: Vectors) -> NDArray[np.intp]:
    """Return the nearest centre of each vector."""
    return np.concatenate(
        [
            (vectors[start : start + COLUMNS] @ middles.T).argmax(axis=1)
            for start in range(0, len(vectors), COLUMNS)
        ]
    )
