"""Adapt the size of transactions: as large as other writers can wait for."""

import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

AIM_S = 0.7
"""Target seconds of a transaction: other writers wait for less than a second."""

BESIDE = 4
"""Seconds of the clock that count as one, where the processor did less than that: it waited for a disk or a
server, or others worked too, and then smaller transactions would only make it longer for all."""

T = TypeVar("T")


class BatchSize:
    """The size of the next batch: as many items as should take `aim` seconds.

    Between `least` and `most`. Ids are in no order, so that each transaction writes most pages of all indexes
    anew, however few memories it is about: two large ones write half of what four do.
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
            self.took(len(batch), max(waited, time.process_time() - worked))
            place += len(batch)

    def took(self, count: int, seconds: float) -> None:
        """Take note of how long so many took."""
        fitting = int(count * self._aim / max(seconds, 1e-3))
        self.size = min(max(fitting, self._least), self._most)
