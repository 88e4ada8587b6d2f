"""The nearest of many vectors for many of them: by comparing all, or those of near cells where all are many.

Each row of a matrix is one memory, of unit length. What is found are at most `count`
columns for each row, those of highest cosine, and of equal ones the first.
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

_FIRST = 1024
"""Columns that tell what is not among the best; more tell it better, and take longer than that saves."""

_SAMPLED_PER_CELL = 40
"""Vectors of which a cell's middle is found, on average."""

_ROUNDS = 6
"""Of moving the middles; more move them by no more than a hair."""

_PROBED = 16
"""Nearest cells that are searched for each vector: of 100,000 real vectors' 12 nearest they hold 95 %, and as
each end of a pair looks for the other, 97 % of the pairs are found, and 99 % of those above 0.6."""

_AT_A_TIME = 25_000
"""Vectors that are searched together, so that each cell is compared with many at once."""


_STEPS = 2**19
"""Of a cosine's distance from 1: what int8 rounds off is a thousand times as much."""


@dataclass(frozen=True, slots=True)
class Near:
    """What was found, by place and best first: `columns[n]` is near `asked[places[n]]`, by `cosines[n]`."""

    asked: Rows
    places: Rows
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


def search(
    space: Space, asked: Rows, *, count: int, bar: float, at_once: int, exact: bool = False
) -> Iterator[Near]:
    """Yield what is near the asked rows, by a cosine of at least `bar`, for about `at_once` at a time.

    `exact`: all are compared, however long it takes.
    """
    if not len(asked):
        return
    if len(asked) * len(space.matrix) > EXACT_PAIRS and not exact:
        yield from _by_cells(space, asked, count=count, bar=bar, at_once=at_once)
        return
    everything = np.arange(len(space.matrix))
    for start in range(0, len(asked), at_once):
        yield compare(space, asked[start : start + at_once], everything, count=count, bar=bar)


def compare(space: Space, asked: Rows, columns: Rows, *, count: int, bar: float) -> Near:
    """Return what of some columns, in order, is near some rows, by comparing all of them."""
    parts = []
    for start in range(0, len(asked), _ROWS):
        places, found, cosines = _compare(space, asked[start : start + _ROWS], columns, count=count, bar=bar)
        parts.append((places + start, found, cosines))
    places, found, cosines = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Near(asked, places, found, cosines)


def _compare(
    space: Space, rows: Rows, columns: Rows, *, count: int, bar: float
) -> tuple[Rows, Rows, Vectors]:
    """Return (places, columns, cosines) for so few rows that a block of their products fits the memory."""
    places = found = np.empty(0, np.intp)
    cosines = np.empty(0, np.float32)
    least = np.full(len(rows), np.float32(bar))
    for start in range(0, len(columns), _COLUMNS):
        part = columns[start : start + _COLUMNS]
        products = _products(space, rows, part)
        if not start and len(part) > 2 * count:
            # Nothing is known yet of what is among the best, but the first ones tell what is not.
            least = np.maximum(least, np.partition(products[:, :_FIRST], -count, axis=1)[:, -count])
        here, there = _at_least(products, least)
        places = np.concatenate([places, here])
        found = np.concatenate([found, part[there]])
        cosines = np.concatenate([cosines, products[here, there]])
        places, found, cosines = _best(places, found, cosines, count)
        least = _raised(least, places, cosines, count)
    return places, found, cosines


def _products(space: Space, rows: Rows, columns: Rows) -> Vectors:
    """Return the cosines of rows with columns (in order); of what must not be near each other, -2."""
    products: Vectors = space.matrix[rows] @ space.matrix[columns].T
    forbidden = space.forbidden(rows, columns)
    if forbidden is not None:
        products[forbidden] = -2.0
    places = np.minimum(np.searchsorted(columns, rows), len(columns) - 1)
    same = np.flatnonzero(columns[places] == rows)
    products[same, places[same]] = -2.0
    return products


def _at_least(products: Vectors, least: Vectors) -> tuple[Rows, Rows]:
    """Return the rows and columns where a product is at least what is wanted of its row."""
    # In one dimension numpy finds them in a tenth of the time.
    rows, columns = np.divmod(np.flatnonzero(products >= least[:, None]), products.shape[1])
    return rows, columns


def _raised(least: Vectors, places: Rows, cosines: Vectors, count: int) -> Vectors:
    """Return what is the least that is among the best of each row, after these were found."""
    lowest = np.full(len(least), np.float32(np.inf))
    np.minimum.at(lowest, places, cosines)
    full = np.bincount(places, minlength=len(least)) >= count
    return np.where(full, np.maximum(least, lowest), least)


def _best(places: Rows, columns: Rows, cosines: Vectors, count: int) -> tuple[Rows, Rows, Vectors]:
    """Return the `count` best of each place, by place, and best first.

    Sorted as numbers of 64 bits: place, distance, column; ten times as fast as by three keys.
    """
    distance = np.clip((1.0 - cosines) * _STEPS, 0, 2 * _STEPS - 1).astype(np.int64)
    keys = (places.astype(np.int64) << 44) | (distance << 24) | columns
    keys.sort()
    places = (keys >> 44).astype(np.intp)
    firsts = np.flatnonzero(np.diff(places, prepend=-1))
    ranks = np.arange(len(keys)) - np.repeat(firsts, np.diff(firsts, append=len(keys)))
    keys, places = keys[ranks < count], places[ranks < count]
    cosines = (1.0 - ((keys >> 24) & (2 * _STEPS - 1)) / _STEPS).astype(np.float32)
    return places, (keys & 0xFFFFFF).astype(np.intp), cosines


def _by_cells(space: Space, asked: Rows, *, count: int, bar: float, at_once: int) -> Iterator[Near]:
    """Compare each row with the members of the cells that it is nearest to."""
    middles = _middles(space.matrix)
    cells = _assigned(space.matrix, middles)
    order = np.argsort(cells, kind="stable")
    bounds = np.searchsorted(cells[order], np.arange(len(middles) + 1)).tolist()
    members = [order[start:end] for start, end in itertools.pairwise(bounds)]
    asked = asked[np.argsort(cells[asked], kind="stable")]
    for start in range(0, len(asked), _AT_A_TIME):
        rows = asked[start : start + _AT_A_TIME]
        places, found, cosines = _probe(space, rows, middles, members, count=count, bar=bar)
        for first in range(0, len(rows), at_once):
            last = min(first + at_once, len(rows))
            part = slice(*np.searchsorted(places, [first, last]).tolist())
            yield Near(rows[first:last], places[part] - first, found[part], cosines[part])


def _probe(
    space: Space, rows: Rows, middles: Vectors, members: Sequence[Rows], *, count: int, bar: float
) -> tuple[Rows, Rows, Vectors]:
    """Return (places among the rows, columns, cosines) of the best in the nearest cells, by place."""
    probed = min(_PROBED, len(middles))
    nearest = np.argpartition(-(space.matrix[rows] @ middles.T), probed - 1, axis=1)[:, :probed]
    own = (space.matrix[rows] @ middles.T).argmax(axis=1)
    least = np.full(len(rows), np.float32(bar))
    # First each in its own cell, which tells what the others must offer.
    parts = [
        _in_cell(space, rows, here, members[cell], least, count=count)
        for cell, here in _by_value(own, np.arange(len(rows)))
    ]
    places, found, cosines = (np.concatenate(part) for part in zip(*parts, strict=True))
    least = _raised(least, places, cosines, count)
    others = nearest != own[:, None]
    parts = [(places, found, cosines)]
    for cell, here in _by_value(nearest[others], np.nonzero(others)[0]):
        for start in range(0, len(here), _COLUMNS):
            parts.append(_in_cell(space, rows, here[start : start + _COLUMNS], members[cell], least))
    places, found, cosines = (np.concatenate(part) for part in zip(*parts, strict=True))
    return _best(places, found, cosines, count)


def _in_cell(
    space: Space, rows: Rows, here: Rows, members: Rows, least: Vectors, *, count: int = 0
) -> tuple[Rows, Rows, Vectors]:
    """Return what of a cell is near the rows at these places; with a count about so many for each of them."""
    if not len(members):
        nothing = np.empty(0, np.intp)
        return nothing, nothing, np.empty(0, np.float32)
    products = _products(space, rows[here], members)
    wanted = least[here]
    if 0 < count < len(members):
        wanted = np.maximum(wanted, np.partition(products, -count, axis=1)[:, -count])
    one, other = _at_least(products, wanted)
    return here[one], members[other], products[one, other]


def _by_value(values: Rows, places: Rows) -> Iterator[tuple[int, Rows]]:
    """Yield each value with the places at which it stands."""
    order = np.argsort(values, kind="stable")
    firsts = np.flatnonzero(np.diff(values[order], prepend=-1)).tolist()
    for start, end in itertools.pairwise([*firsts, len(order)]):
        yield int(values[order[start]]), places[order[start:end]]


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
