"""Worker threads for blocking work on the memory, so that the event loop stays responsive."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from inspect import iscoroutinefunction, signature
from typing import Any, TypeVar

from fastapi import APIRouter
from fastapi.routing import APIRoute

from ragmem.errors import StoreBusyError

QUICK_THREADS = 3
"""Threads for quick work: writes, and reads other than questions. Each thread keeps its own database
connection as long as it lives, so they are few and permanent: the framework's pool drops idle threads, and
each new thread would open another connection."""

QUERY_THREADS = 3
"""Threads for questions. Python computes in one thread at a time, so more threads are no faster; some wait
for a provider meanwhile."""

LONG_THREADS = 2
"""Threads for work that takes minutes, started on demand."""

QUEUE_SIZE = 256
"""Maximum work that waits for a thread: at 20 ms a question the last in the queue is answered in seconds."""

_T = TypeVar("_T")


class OverloadedError(StoreBusyError):
    """More requests arrive than can be answered within a useful time."""


class Workers:
    """Three thread pools, so that no write waits behind questions, and nothing waits behind gc.

    Work waits in a queue of limited length while all threads of its pool are busy.
    """

    closing = False
    """Whether the server is shutting down: long work stops between two steps."""

    def __init__(
        self,
        quick: int = QUICK_THREADS,
        *,
        queries: int = QUERY_THREADS,
        long: int = LONG_THREADS,
        queue: int = QUEUE_SIZE,
    ) -> None:
        self._quick = _Pool("quick", quick, queue)
        self._queries = _Pool("queries", queries, queue)
        self._long = _Pool("long", long, queue)

    async def begin(self, work: Callable[[], object]) -> None:
        """Start the permanent threads, and run the work once in each; raises its errors."""
        await asyncio.gather(self._quick.begin(work), self._queries.begin(work))

    async def run(self, work: Callable[[], _T]) -> _T:
        """Return the result of the work or raise its error; for writes and quick reads.

        Raises OverloadedError if the queue is full. Work whose caller no longer waits is not started.
        """
        return await self._quick.run(work)

    async def ask(self, work: Callable[[], _T]) -> _T:
        """Return the result of the work, as `run` does; for questions, which need a processor for long."""
        return await self._queries.run(work)

    async def run_long(self, work: Callable[[], _T]) -> _T:
        """Return the result of the work, as `run` does; for work that may take minutes."""
        return await self._long.run(work)

    def close(self) -> None:
        """End the threads once their work is done; a second call has no effect."""
        self.closing = True
        for pool in (self._quick, self._queries, self._long):
            pool.close()


class _Pool:
    def __init__(self, name: str, count: int, queue: int) -> None:
        self._count = count
        self._executor = ThreadPoolExecutor(max_workers=count, thread_name_prefix=f"serve-{name}")
        self._room = threading.BoundedSemaphore(count + queue)

    async def begin(self, work: Callable[[], object]) -> None:
        barrier = threading.Barrier(self._count)

        def run_once() -> None:
            # No thread may finish before each thread has got its call.
            barrier.wait()
            work()

        try:
            await asyncio.gather(*(self.run(run_once) for _ in range(self._count)))
        except BaseException:
            # If the system gives no more threads, the existing ones would wait for ever.
            barrier.abort()
            raise

    async def run(self, work: Callable[[], _T]) -> _T:
        if not self._room.acquire(blocking=False):
            raise OverloadedError("too many requests at once", hint="try again in a few seconds")
        try:
            # The work acts for the same member as its caller.
            future = self._executor.submit(copy_context().run, work)
        except RuntimeError:
            self._room.release()
            raise
        # Not at the end of the await: a cancelled caller does not stop the thread.
        future.add_done_callback(lambda _: self._room.release())
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        self._executor.shutdown(wait=True)


def worker_router(workers: Workers, memory: Any, **options: Any) -> APIRouter:
    """Return a router whose plain functions run in the workers, by `Workers.run`.

    If their first parameter is `memory`, they get this one. The event loop runs `async` functions.
    """

    class WorkerRoute(APIRoute):
        def __init__(self, path: str, endpoint: Callable[..., Any], **settings: Any) -> None:
            if not iscoroutinefunction(endpoint):
                endpoint = _in_workers(workers, memory, endpoint)
            super().__init__(path, endpoint, **settings)

    return APIRouter(route_class=WorkerRoute, **options)


def _in_workers(workers: Workers, memory: Any, endpoint: Callable[..., Any]) -> Callable[..., Any]:
    called = (
        partial(endpoint, memory) if next(iter(signature(endpoint).parameters), "") == "memory" else endpoint
    )

    async def run(**arguments: Any) -> Any:
        return await workers.run(lambda: called(**arguments))

    # FastAPI reads the parameters, and takes the description from the name and the docstring.
    run.__name__, run.__doc__ = endpoint.__name__, endpoint.__doc__
    run.__signature__ = signature(called)  # type: ignore[attr-defined]
    return run
