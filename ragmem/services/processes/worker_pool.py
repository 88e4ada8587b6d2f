"""Work in other processes: what reads many texts is done twice as fast on two cores."""

import gc
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from itertools import chain
from types import TracebackType
from typing import Self, TypeVar

from ragmem.storage.sql.batches import batches

Given = TypeVar("Given")
Done = TypeVar("Done")

_NEW_OBJECTS = 50_000
"""Objects that come until the newest are looked through for cycles."""

_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Variables by which the libraries below numpy are told how many threads multiply matrices."""

AT_ONCE = 250
"""Small pieces that are handed over together."""


class WorkerPool:
    """Does work in so many other processes, which start with the first piece; in this one for one worker."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave what nobody waits for undone."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def each(self, work: Callable[[Given], Done], given: Iterable[Given]) -> Iterator[tuple[Given, Done]]:
        """Yield each piece with what comes of it, in order; a few pieces are held at a time.

        `work` is a function of a module, and what it takes and returns can be pickled. A process that ends
        early is a BrokenProcessPool.
        """
        if self.workers <= 1:
            yield from ((one, work(one)) for one in given)
            return
        if self._pool is None:
            # Not forked: other threads of this process may hold locks.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, mp_context=context, initializer=_begin)
        waiting: deque[tuple[Given, Future[Done]]] = deque()
        for one in given:
            waiting.append((one, self._pool.submit(work, one)))
            if len(waiting) > self.workers:
                first, future = waiting.popleft()
                yield first, future.result()
        while waiting:
            first, future = waiting.popleft()
            yield first, future.result()

    def spread(self, work: Callable[[Given], Done], given: Sequence[Given]) -> Iterator[Done]:
        """Yield what comes of each of many small pieces, in order."""
        if self.workers <= 1:
            return map(work, given)
        packets = self.each(partial(_several, work), batches(given, AT_ONCE))
        return chain.from_iterable(done for _, done in packets)


def _several(work: Callable[[Given], Done], given: Sequence[Given]) -> list[Done]:
    return list(map(work, given))


def _begin() -> None:
    """Let the process that waits for this one hear of ^C, and end with it."""
    # What is read stays for long: to look through it for cycles as often as usual takes a tenth of the time.
    gc.set_threshold(_NEW_OBJECTS)
    # As many threads in each process as there are cores would wait for each other; numpy is not loaded yet.
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # One that was killed tells nobody, and a process of a pool would wait for its work for ever.
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def cores() -> int:
    """Return how many processes can run at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
