"""Split long lists: SQLite takes a bounded number of parameters, and a transaction should be short."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

PARAMETERS = 500


def batches(items: Iterable[T], size: int = PARAMETERS) -> Iterator[list[T]]:
    """Yield the items in lists of at most `size`, in order; nothing for no items."""
    if isinstance(items, list):
        for start in range(0, len(items), size):
            yield items[start : start + size]
        return
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def text_batches(
    items: Iterable[T], count: Callable[[T], int], *, most: int, characters: int
) -> Iterator[list[T]]:
    """Yield the items in lists of at most `most`, which end when `count` adds up to so many characters."""
    batch: list[T] = []
    counted = 0
    for item in items:
        batch.append(item)
        counted += count(item)
        if len(batch) >= most or counted >= characters:
            yield batch
            batch, counted = [], 0
    if batch:
        yield batch


def padded(batch: list[T]) -> list[T]:
    """Return the values of an IN list, the last one repeated up to a power of two, or to PARAMETERS.

    SQLite keeps a prepared statement for each number of values, and preparing takes longer than reading.
    """
    size = min(1 << max(0, len(batch) - 1).bit_length(), PARAMETERS)
    return [*batch, *batch[-1:] * (size - len(batch))]


def marks(items: Sequence[object]) -> str:
    """Return the placeholders of an IN list: `?,?,?`; for no items one that matches nothing."""
    # PostgreSQL rejects an empty list.
    return ",".join("?" * len(items)) or "NULL"
