"""Work in other processes: reading many texts is twice as fast on two cores."""

import gc
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from ragmem.storage.sql.batches import batches

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

Given = TypeVar("Given")
Done = TypeVar("Done")

_NEW_OBJECTS = 50_000
"""Number of new objects after which the youngest are searched for cycles."""

_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Environment variables for the number of threads in numpy's matrix libraries."""

BATCH_SIZE = 250
"""Number of small items that are sent together."""


class WorkerPool:
    """Works in `workers` other processes, which start with the first item; one worker is this process."""

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
        """Cancel pending work."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def each(self, work: Callable[[Given], Done], given: Iterable[Given]) -> Iterator[tuple[Given, Done]]:
        """Yield each item with its result, in order, with a few items in memory at a time.

        `work` must be a module-level function with picklable arguments and results. A process that ends early
        raises BrokenProcessPool.
        """
        if self.workers <= 1:
            yield from ((one, work(one)) for one in given)
            return
        if self._pool is None:
            import multiprocessing  # noqa: PLC0415 - one memory needs no other process
            from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415

            # Not forked: other threads of this process may hold locks.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, mp_context=context, initializer=_initialize)
        waiting: deque[tuple[Given, Future[Done]]] = deque()
        for one in given:
            waiting.append((one, self._pool.submit(work, one)))
            if len(waiting) > self.workers:
                first, future = waiting.popleft()
                yield first, future.result()
        while waiting:
            first, future = waiting.popleft()
            yield first, future.result()

    def map(self, work: Callable[[Given], Done], given: Sequence[Given]) -> Iterator[Done]:
        """Yield the results for many small items, in order."""
        if self.workers <= 1:
            return map(work, given)
        packets = self.each(partial(_map_batch, work), batches(given, BATCH_SIZE))
        return chain.from_iterable(done for _, done in packets)


def _map_batch(work: Callable[[Given], Done], given: Sequence[Given]) -> list[Done]:
    return list(map(work, given))


def _initialize() -> None:
    """Set up a worker process: it ignores ^C, and ends with its parent."""
    # Objects live long here: the usual searches for cycles would take a tenth of the time.
    gc.set_threshold(_NEW_OBJECTS)
    # One thread per core in each process would compete for the cores; numpy is not loaded yet.
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A killed parent sends no signal, and the worker would wait for work forever.
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    import multiprocessing  # noqa: PLC0415

    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def cpu_count() -> int:
    """Return the number of processes that can run in parallel here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
