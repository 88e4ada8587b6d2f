"""Adapt the size of transactions: as large as other writers can wait for."""

import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

AIM_S = 0.7
"""Target seconds of a transaction: other writers wait for less than a second."""

BESIDE = 4
"""Seconds of wall time that count as one if the CPU time is lower: the process waited for a disk, a server or
other processes, and smaller transactions would only make it slower."""

T = TypeVar("T")


class BatchSize:
    """The size of the next batch: as many items as should take `aim` seconds.

    It is between `least` and `most`. Ids are in random order, so that each transaction rewrites most pages of
    all indexes, regardless of its size: two large ones write half as much as four small ones.
    """

    def __init__(self, least: int, most: int, *, aim: float = AIM_S) -> None:
        self.size = least
        self._least = least
        self._most = most
        self._aim = aim

    def batches(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        """Yield the items in batches, on demand."""
        place = 0
        while place < len(items):
            batch = items[place : place + self.size]
            began, worked = time.monotonic(), time.process_time()
            yield batch
            waited = (time.monotonic() - began) / BESIDE
            self.adapt(len(batch), max(waited, time.process_time() - worked))
            place += len(batch)

    def adapt(self, count: int, seconds: float) -> None:
        """Adapt the size to the time that the last batch took."""
        fitting = int(count * self._aim / max(seconds, 1e-3))
        self.size = min(max(fitting, self._least), self._most)
