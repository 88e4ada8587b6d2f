"""The nearest of many vectors for many of them: by comparing all, or those of near cells where all are many.

Each row of a matrix is one memory, of unit length. What is found are pairs (row, column, cosine) of at most
`count` columns for each row, those of highest cosine, and of equal ones the first.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Rows = NDArray[np.intp]

EXACT_PAIRS = 400_000_000
"""Pairs up to which all are compared: 20,000 memories with each other, some seconds of two cores."""

_ROWS, _COLUMNS = 1024, 8192
"""Of a product that is made at a time: 32 MB."""

_SAMPLED_PER_CELL = 40
"""Vectors of which a cell's middle is found, on average."""

_ROUNDS = 6
"""Of moving the middles; more move them no more than by a hair."""

_PROBED = 12
"""Cells that are compared with each cell: itself and the nearest."""


@dataclass(frozen=True, slots=True)
class Near:
    """Pairs that were found: `columns[n]` is near `rows[n]`, by `cosines[n]`; `asked` are all rows asked."""

    asked: Rows
    rows: Rows
    columns: Rows
    cosines: Vectors


@dataclass(frozen=True, slots=True)
class Space:
    """The vectors of a project; two memories whose specs (0: none) differ are not near each other."""

    matrix: Vectors
    specs: NDArray[np.int32]

    def forbidden(self, rows: Rows, columns: Rows) -> NDArray[np.bool_] | None:
        """Return which pairs (rows, columns) are of two specs; None where none can be."""
        if not self.specs.any():
            return None
        one, other = self.specs[rows][:, None], self.specs[columns][None, :]
        return np.asarray((one != other) & (one != 0) & (other != 0), np.bool_)


def search(space: Space, asked: Rows, *, count: int, bar: float, at_once: int) -> Iterator[Near]:
    """Yield what is near the asked rows, by a cosine of at least `bar`, for about `at_once` at a time."""
    if len(asked) * len(space.matrix) <= EXACT_PAIRS:
        everything = np.arange(len(space.matrix))
        for start in range(0, len(asked), at_once):
            yield compare(space, asked[start : start + at_once], everything, count=count, bar=bar)
    else:
        yield from _by_cells(space, asked, count=count, bar=bar, at_once=at_once)


def compare(space: Space, asked: Rows, columns: Rows, *, count: int, bar: float) -> Near:
    """Return what of some columns is near some rows, by comparing all of them."""
    parts = [
        _compare(space, asked[start : start + _ROWS], columns, count=count, bar=bar)
        for start in range(0, len(asked), _ROWS)
    ]
    return _joined(asked, parts)


def _joined(asked: Rows, parts: Sequence[tuple[Rows, Rows, Vectors]]) -> Near:
    if not parts:
        nothing = np.empty(0, np.intp)
        return Near(asked, nothing, nothing, np.empty(0, np.float32))
    rows, found, cosines = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Near(asked, rows, found, cosines)


def _compare(
    space: Space, rows: Rows, columns: Rows, *, count: int, bar: float
) -> tuple[Rows, Rows, Vectors]:
    """Return (rows, columns, cosines) for so few rows that a block of their products fits the memory."""
    asked = space.matrix[rows]
    places = np.empty(0, np.intp)
    found = np.empty(0, np.intp)
    cosines = np.empty(0, np.float32)
    least = np.full(len(rows), np.float32(bar))
    full = np.zeros(len(rows), np.bool_)
    for start in range(0, len(columns), _COLUMNS):
        part = columns[start : start + _COLUMNS]
        products = asked @ space.matrix[part].T
        forbidden = space.forbidden(rows, part)
        if forbidden is not None:
            products[forbidden] = -2.0
        products[rows[:, None] == part[None, :]] = -2.0
        if len(part) > 2 * count and not full.all():
            # Where it is not known yet what is among the best, this part tells what is not.
            least = np.maximum(least, np.partition(products, -count, axis=1)[:, -count])
        here, there = np.nonzero(products >= least[:, None])
        places = np.concatenate([places, here])
        found = np.concatenate([found, part[there]])
        cosines = np.concatenate([cosines, products[here, there]])
        kept = _best(places, found, cosines, count)
        places, found, cosines = places[kept], found[kept], cosines[kept]
        full = np.bincount(places, minlength=len(rows)) >= count
        lowest = np.full(len(rows), np.float32(np.inf))
        np.minimum.at(lowest, places, cosines)
        least = np.where(full, np.maximum(least, lowest), np.float32(bar))
    return rows[places], found, cosines


def _best(rows: Rows, columns: Rows, cosines: Vectors, count: int) -> NDArray[np.intp]:
    """Return the places of the `count` best of each row, row by row."""
    order = np.lexsort((columns, -cosines.round(5), rows))
    sorted_rows = rows[order]
    firsts = np.flatnonzero(np.diff(sorted_rows, prepend=-1))
    ranks = np.arange(len(order)) - np.repeat(firsts, np.diff(firsts, append=len(order)))
    return np.asarray(order[ranks < count], np.intp)


def _by_cells(space: Space, asked: Rows, *, count: int, bar: float, at_once: int) -> Iterator[Near]:
    """Compare the members of each cell with those of the nearest cells."""
    matrix = space.matrix
    middles = _middles(matrix)
    cells = _assigned(matrix, middles)
    order = np.argsort(cells, kind="stable")
    bounds = np.searchsorted(cells[order], np.arange(len(middles) + 1))
    members = [order[start:end] for start, end in itertools.pairwise(bounds)]
    wanted = np.zeros(len(matrix), np.bool_)
    wanted[asked] = True
    ready: list[tuple[Rows, Rows, Vectors]] = []
    done: list[Rows] = []
    for cell, here in enumerate(members):
        rows = here[wanted[here]]
        if not len(rows):
            continue
        near = np.argsort(-(middles @ middles[cell]), kind="stable")[:_PROBED]
        columns = np.concatenate([members[one] for one in near])
        ready += [
            _compare(space, rows[start : start + _ROWS], columns, count=count, bar=bar)
            for start in range(0, len(rows), _ROWS)
        ]
        done.append(rows)
        if sum(map(len, done)) >= at_once:
            yield _joined(np.concatenate(done), ready)
            ready, done = [], []
    if done:
        yield _joined(np.concatenate(done), ready)


def _middles(matrix: Vectors) -> Vectors:
    """Return the middles of about sqrt(n) cells, found by k-means on a sample; the same ones each time."""
    count = int(np.sqrt(len(matrix)))
    chance = np.random.default_rng(count)
    sample = matrix[np.sort(chance.choice(len(matrix), min(len(matrix), count * _SAMPLED_PER_CELL), False))]
    middles = sample[np.sort(chance.choice(len(sample), count, False))].copy()
    for _ in range(_ROUNDS):
        cells = _assigned(sample, middles)
        order = np.argsort(cells, kind="stable")
        firsts = np.searchsorted(cells[order], np.arange(count))
        filled = np.bincount(cells, minlength=count) > 0
        sums = np.add.reduceat(sample[order], np.minimum(firsts, len(order) - 1))
        middles[filled] = sums[filled]
        middles /= np.maximum(np.linalg.norm(middles, axis=1, keepdims=True), np.float32(1e-12))
    return np.asarray(middles, np.float32)


def _assigned(vectors: Vectors, middles: Vectors) -> NDArray[np.intp]:
    """Return the nearest middle of each vector."""
    return np.concatenate(
        [
            (vectors[start : start + _COLUMNS] @ middles.T).argmax(axis=1)
            for start in range(0, len(vectors), _COLUMNS)
        ]
    )
