"""Blocks of the products of a project's vectors with each other, and the best columns for each row.

Each row of a matrix is one memory, of unit length.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Rows = NDArray[np.intp]

Matches = tuple[Rows, Rows, Vectors]
"""Places, the column that is near each, and the cosine."""

ROWS, COLUMNS = 512, 4096
"""The shape of a block of products: 8 MB, which stay in the cache while the best are selected."""

FIRST = 1024
"""Columns that set the first threshold; more set a better one, but take longer than that saves."""

_STEPS = 2**19
"""Steps of a cosine's distance from 1; the rounding error of int8 is a thousand times larger."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Matches by place, best first: `columns[n]` is near `asked[places[n]]`, by `cosines[n]`."""

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
        """Return the cosines of rows with columns (in order); -2 for pairs that must not match."""
        products: Vectors = self.matrix[rows] @ self.matrix[columns].T
        forbidden = self._forbidden(rows, columns)
        if forbidden is not None:
            products[forbidden] = -2.0
        places = np.minimum(np.searchsorted(columns, rows), len(columns) - 1)
        same = np.flatnonzero(columns[places] == rows)
        products[same, places[same]] = -2.0
        return products

    def _forbidden(self, rows: Rows, columns: Rows) -> NDArray[np.bool_] | None:
        """Return a mask of the pairs (rows, columns) of two specs; None where there can be none."""
        if not self.specs.any():
            return None
        one, other = self.specs[rows][:, None], self.specs[columns][None, :]
        return np.asarray((one != other) & (one != 0) & (other != 0), np.bool_)


def empty_matches() -> Matches:
    """Return no matches."""
    return np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32)


def concatenate(*parts: Matches) -> Matches:
    """Concatenate the matches of several parts, at least one."""
    places, columns, cosines = (np.concatenate(part) for part in zip(*parts, strict=True))
    return places, columns, cosines


def at_least(products: Vectors, least: Vectors) -> tuple[Rows, Rows]:
    """Return the rows and columns where a product reaches its threshold.

    `least` has the shape (rows, 1), or (1, columns) for thresholds of the columns.
    """
    # In one dimension numpy takes a tenth of the time.
    rows, columns = np.divmod(np.flatnonzero(products >= least), products.shape[1])
    return rows, columns


def raise_thresholds(least: Vectors, places: Rows, cosines: Vectors, count: int) -> Vectors:
    """Raise the threshold of each row to its lowest match, where it has `count` of them."""
    lowest = np.full(len(least), np.float32(np.inf))
    np.minimum.at(lowest, places, cosines)
    full = np.bincount(places, minlength=len(least)) >= count
    return np.where(full, np.maximum(least, lowest), least)


def best(found: Matches, count: int) -> Matches:
    """Return the `count` best of each place, by place, best first.

    Sorting 64-bit numbers of place, distance and column is ten times as fast as sorting by three keys.
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
