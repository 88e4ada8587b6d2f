"""The nearest vectors within a project: by comparing all, or approximately in large projects.

The result has up to `count` columns for each row, those of highest cosine; of equal ones the first.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ragmem.services.vectors import near_vectors
from ragmem.services.vectors.cell_search import search_cells
from ragmem.services.vectors.near_vectors import Matches, Neighbours, Rows, Space, Vectors

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
        yield from search_cells(space, asked, count=count, bar=bar, at_once=at_once)
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
