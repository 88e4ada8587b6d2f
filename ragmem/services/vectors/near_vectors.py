"""Blocks of the products of a project's vectors with each other, and what is best of them for each row.

Each row of a matrix is one memory, of unit length.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Rows = NDArray[np.intp]

Found = tuple[Rows, Rows, Vectors]
"""Places, the column that is near each, and the cosine."""

ROWS, COLUMNS = 512, 4096
"""Of a product that is made at a time: 8 MB, which a core still has at hand when it looks for the best."""

FIRST = 1024
"""Columns that tell what is not among the best; more tell it better, and take longer than that saves."""

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

    def products(self, rows: Rows, columns: Rows) -> Vectors:
        """Return the cosines of rows with columns (in order); of what must not be near each other, -2."""
        products: Vectors = self.matrix[rows] @ self.matrix[columns].T
        forbidden = self._forbidden(rows, columns)
        if forbidden is not None:
            products[forbidden] = -2.0
        places = np.minimum(np.searchsorted(columns, rows), len(columns) - 1)
        same = np.flatnonzero(columns[places] == rows)
        products[same, places[same]] = -2.0
        return products

    def _forbidden(self, rows: Rows, columns: Rows) -> NDArray[np.bool_] | None:
        """Return which pairs (rows, columns) are of two specs; None where none can be."""
        if not self.specs.any():
            return None
        one, other = self.specs[rows][:, None], self.specs[columns][None, :]
        return np.asarray((one != other) & (one != 0) & (other != 0), np.bool_)


def nothing() -> Found:
    """Return what is found where nothing is."""
    return np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32)


def joined(*parts: Found) -> Found:
    """Return what was found of several parts, at least one."""
    places, columns, cosines = (np.concatenate(part) for part in zip(*parts, strict=True))
    return places, columns, cosines


def at_least(products: Vectors, least: Vectors) -> tuple[Rows, Rows]:
    """Return the rows and columns where a product is at least what is wanted of its row.

    `least` has the shape (rows, 1); or (1, columns), then it is what is wanted of the column.
    """
    # In one dimension numpy finds them in a tenth of the time.
    rows, columns = np.divmod(np.flatnonzero(products >= least), products.shape[1])
    return rows, columns


def raised(least: Vectors, places: Rows, cosines: Vectors, count: int) -> Vectors:
    """Return what is the least that is among the best of each row, after these were found."""
    lowest = np.full(len(least), np.float32(np.inf))
    np.minimum.at(lowest, places, cosines)
    full = np.bincount(places, minlength=len(least)) >= count
    return np.where(full, np.maximum(least, lowest), least)


def best(found: Found, count: int) -> Found:
    """Return the `count` best of each place, by place, and best first.

    Sorted as numbers of 64 bits: place, distance, column; ten times as fast as by three keys.
    """
    places, columns, cosines = found
    distance = np.clip((1.0 - cosines) * _STEPS, 0, 2 * _STEPS - 1).astype(np.int64)
    keys = (places.astype(np.int64) << 44) | (distance << 24) | columns
    keys.sort()
    places = (keys >> 44).astype(np.intp)
    firsts = np.flatnonzero(np.diff(places, prepend=-1))
    ranks = np.arange(len(keys)) - np.repeat(firsts, np.diff(firsts, append=len(keys)))
    keys, places = keys[ranks < count], places[ranks < count]
    cosines = (1.0 - ((keys >> 24) & (2 * _STEPS - 1)) / _STEPS).astype(np.float32)
    return places, (keys & 0xFFFFFF).astype(np.intp), cosines
