"""The nearest vectors within a project: by comparing all, or approximately in large projects.

The result has up to `count` columns for each row, those of highest cosine; of equal ones the first.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ragmem.services.vectors import near_vectors
from ragmem.services.vectors.near_vectors import COLUMNS, Matches, Neighbours, Rows, Space, Vectors

EXACT_PAIRS = 400_000_000
"""Pairs up to which all are compared: 20,000 memories with each other, some seconds on two cores."""


def search(
    space: Space, asked: Rows, *, count: int, bar: float, at_once: int, exact: bool = False
) -> Iterator[Neighbours]:
    """Yield the neighbours of the asked rows, by a cosine of at least `bar`, for about `at_once` at a time.

    With `exact` all are compared, however long it takes.
    """
    if not len(asked):
        return
    everything = np.arange(len(space.matrix))
    if len(asked) * len(space.matrix) > EXACT_PAIRS and not exact:
        yield from _search_cells(space, asked, count=count, bar=bar, at_once=at_once)
    elif np.array_equal(asked, everything):
        yield from _each_other(space, count=count, bar=bar, at_once=at_once)
    else:
        for start in range(0, len(asked), at_once):
            yield _compare(space, asked[start : start + at_once], everything, count=count, bar=bar)


def _compare(space: Space, asked: Rows, columns: Rows, *, count: int, bar: float) -> Neighbours:
    """Return the neighbours of rows among columns (in order), by comparing all of them."""
    parts = []
    for start in range(0, len(asked), near_vectors.ROWS):
        rows = asked[start : start + near_vectors.ROWS]
        places, found, cosines = _block(space, rows, columns, count=count, bar=bar)
        parts.append((places + start, found, cosines))
    return Neighbours(asked, *near_vectors.concatenate(*parts))


def _block(space: Space, rows: Rows, columns: Rows, *, count: int, bar: float) -> Matches:
    """Return the matches of a few rows, block by block."""
    found = near_vectors.empty_matches()
    least = np.full(len(rows), np.float32(bar))
    for start in range(0, len(columns), near_vectors.COLUMNS):
        part = columns[start : start + near_vectors.COLUMNS]
        products = space.products(rows, part)
        if not start and len(part) > 2 * count:
            least = np.maximum(least, _first_best(products, count))
        here, there = near_vectors.at_least(products, least[:, None])
        found = near_vectors.concatenate(found, (here, part[there], products[here, there]))
        found = near_vectors.best(found, count)
        least = near_vectors.raise_thresholds(least, found[0], found[2], count)
    return found


def _each_other(space: Space, *, count: int, bar: float, at_once: int) -> Iterator[Neighbours]:
    """Yield the neighbours of each row of the space; each product is computed once for both of its rows."""
    everything = np.arange(len(space.matrix))
    least = np.full(len(everything), np.float32(bar))
    found = near_vectors.empty_matches()
    told = 0
    for block, start in enumerate(range(0, len(everything), near_vectors.ROWS), 1):
        rows = everything[start : start + near_vectors.ROWS]
        found = near_vectors.concatenate(found, *_both_sides(space, rows, least, count=count))
        if block & (block - 1) == 0:
            # Twice as many are compared as last time, which gives a better threshold.
            found = near_vectors.best(found, count)
            least = near_vectors.raise_thresholds(least, found[0], found[2], count)
        compared = start + len(rows)
        while told + at_once <= compared or told < compared == len(everything):
            asked = everything[told : told + at_once]
            ready = found[0] < told + len(asked)
            places, columns, cosines = near_vectors.best(_select(found, ready), count)
            found = _select(found, ~ready)
            yield Neighbours(asked, places - told, columns, cosines)
            told += len(asked)


def _both_sides(space: Space, rows: Rows, least: Vectors, *, count: int) -> Iterator[Matches]:
    """Yield the matches of some rows with themselves and all later rows, and those of the later rows.

    `least` are the thresholds; the first rows raise them.
    """
    first, end, size = int(rows[0]), int(rows[-1]) + 1, len(least)
    for start in range(first, size, near_vectors.COLUMNS):
        columns = np.arange(start, min(start + near_vectors.COLUMNS, size))
        products = space.products(rows, columns)
        if not start and len(columns) > 2 * count:
            least[rows] = np.maximum(least[rows], _first_best(products, count))
        here, there = near_vectors.at_least(products, least[rows][:, None])
        yield rows[here], columns[there], products[here, there]
        following = max(0, end - start)
        columns, products = columns[following:], products[:, following:]
        if not first and len(rows) > 2 * count:
            least[columns] = np.maximum(least[columns], _first_best(products.T.copy(), count))
        here, there = near_vectors.at_least(products, least[columns][None, :])
        yield columns[there], rows[here], products[here, there]


def _select(found: Matches, wanted: NDArray[np.bool_]) -> Matches:
    places, columns, cosines = found
    return places[wanted], columns[wanted], cosines[wanted]


def _first_best(products: Vectors, count: int) -> Vectors:
    """Return a threshold for each row: the lowest of the `count` best among the first columns."""
    return np.asarray(np.partition(products[:, : near_vectors.FIRST], -count, axis=1)[:, -count])


_SAMPLED_PER_CELL = 40
"""Vectors per cell that k-means is trained on."""

_ROUNDS = 6
"""Rounds of k-means; more barely move the centres."""

_PROBES = 16
"""Nearest cells that are searched for each vector: of 100,000 real vectors' 12 nearest they hold 95 %, and as
each end of a pair looks for the other, 97 % of the pairs are found, and 99 % of those above 0.6."""

_BATCH = 25_000
"""Vectors that are searched together, so that each cell is compared with many at once."""


def _search_cells(space: Space, asked: Rows, *, count: int, bar: float, at_once: int) -> Iterator[Neighbours]:
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
