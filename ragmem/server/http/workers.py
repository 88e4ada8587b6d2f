"""The threads in which the memory works, while the event loop goes on answering."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from inspect import iscoroutinefunction, signature
from typing import Any, TypeVar

from fastapi import APIRouter
from fastapi.routing import APIRoute

from ragmem.errors import StoreBusyError

SOON = 3
"""Threads for what is soon done: writes, and reads but for questions. Each thread keeps a database connection
of its own for as long as it lives, so they are few and stay: the framework's own pool drops idle threads, and
each new one would open one more connection."""

ASKING = 3
"""Threads for questions. Python computes in one thread at a time, so more of them answer no sooner; some wait
for a provider meanwhile."""

LABOURING = 2
"""Threads for work of minutes, made when there is any."""

LINE = 256
"""What waits for a thread at most: at 20 ms a question the last in line is answered within seconds."""

_T = TypeVar("_T")


class OverloadedError(StoreBusyError):
    """More was asked for at once than can be answered within a useful time."""


class Workers:
    """Fixed sets of threads in three lanes, so that no write waits behind questions, and nothing behind gc.

    Work waits in a line of limited length while all threads of its lane are busy.
    """

    closing = False
    """Whether the server ends: what takes long stops between two steps."""

    def __init__(
        self, soon: int = SOON, *, asking: int = ASKING, labouring: int = LABOURING, line: int = LINE
    ) -> None:
        self._soon = _Lane("soon", soon, line)
        self._asking = _Lane("asking", asking, line)
        self._labouring = _Lane("labouring", labouring, line)

    async def begin(self, work: Callable[[], object]) -> None:
        """Start the threads that stay, and let each do the work once; what it raises is raised here."""
        await asyncio.gather(self._soon.begin(work), self._asking.begin(work))

    async def run(self, work: Callable[[], _T]) -> _T:
        """Return what the work returns; what it raises is raised here. For writes and quick reads.

        Raises OverloadedError where the line is full. Work that nobody waits for any more is not begun.
        """
        return await self._soon.run(work)

    async def ask(self, work: Callable[[], _T]) -> _T:
        """Return what the work returns, as `run` does; for questions, which use a processor for long."""
        return await self._asking.run(work)

    async def labour(self, work: Callable[[], _T]) -> _T:
        """Return what the work returns, as `run` does; for what may take minutes."""
        return await self._labouring.run(work)

    def close(self) -> None:
        """End the threads once their work is done; closing twice is fine."""
        self.closing = True
        for lane in (self._soon, self._asking, self._labouring):
            lane.close()


class _Lane:
    def __init__(self, name: str, count: int, line: int) -> None:
        self._count = count
        self._pool = ThreadPoolExecutor(max_workers=count, thread_name_prefix=f"serve-{name}")
        self._room = threading.BoundedSemaphore(count + line)

    async def begin(self, work: Callable[[], object]) -> None:
        together = threading.Barrier(self._count)

        def once() -> None:
            # None is done with its own before each thread has one.
            together.wait()
            work()

        try:
            await asyncio.gather(*(self.run(once) for _ in range(self._count)))
        except BaseException:
            # Where the system gives no more threads, those that are there would wait for good.
            together.abort()
            raise

    async def run(self, work: Callable[[], _T]) -> _T:
        if not self._room.acquire(blocking=False):
            raise OverloadedError("too much is asked for at once", hint="try again in some seconds")
        try:
            future = self._pool.submit(work)
        except RuntimeError:
            self._room.release()
            raise
        # Not when the waiting ends: a thread goes on with what nobody waits for.
        future.add_done_callback(self._leave)
        return await asyncio.wrap_future(future)

    def _leave(self, _: Future[_T]) -> None:
        self._room.release()

    def close(self) -> None:
        self._pool.shutdown(wait=True)


def worker_router(workers: Workers, memory: Any, **options: Any) -> APIRouter:
    """Return a router whose plain functions run in the workers, as `Workers.run` has it.

    Where their first parameter is `memory`, they get this one. The event loop runs those that are `async`.
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

    # FastAPI reads the parameters, and makes the description of name and docstring.
    run.__name__, run.__doc__ = endpoint.__name__, endpoint.__doc__
    run.__signature__ = signature(called)  # type: ignore[attr-defined]
    return run
