"""The threads in which the memory works, while the event loop goes on answering."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from ragmem.errors import StoreBusyError

COUNT = 8
"""Threads. Each keeps a database connection of its own for as long as it lives, so they are few and stay:
the framework's own pool drops idle threads, and each new one would open one more connection."""

LINE = 256
"""What waits for a thread at most: at 20 ms a question the last in line is answered within seconds."""

_T = TypeVar("_T")


class OverloadedError(StoreBusyError):
    """More was asked for at once than can be answered within a useful time."""


class Workers:
    """A fixed set of threads; more work than threads waits in line, as far as the line goes."""

    closing = False
    """Whether the server ends: what takes long stops between two steps."""

    def __init__(self, count: int = COUNT, *, line: int = LINE) -> None:
        self._pool = ThreadPoolExecutor(max_workers=count, thread_name_prefix="serve")
        self._room = threading.BoundedSemaphore(count + line)

    async def run(self, work: Callable[[], _T]) -> _T:
        """Return what the work returns; what it raises is raised here.

        Raises OverloadedError where the line is full. Work that nobody waits for any more is not begun.
        """
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
        """End the threads once their work is done; closing twice is fine."""
        self.closing = True
        self._pool.shutdown(wait=True)
