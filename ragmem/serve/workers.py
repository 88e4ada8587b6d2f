"""The threads in which the memory works, while the event loop goes on answering."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

COUNT = 8
"""Threads. Each keeps a database connection of its own for as long as it lives, so they are few and stay:
the framework's own pool drops idle threads, and each new one would open one more connection."""

_T = TypeVar("_T")


class Workers:
    """A fixed set of threads; more work than threads waits in line."""

    def __init__(self, count: int = COUNT) -> None:
        self._pool = ThreadPoolExecutor(max_workers=count, thread_name_prefix="serve")

    async def run(self, work: Callable[[], _T]) -> _T:
        """Return what the work returns; what it raises is raised here."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """End the threads once their work is done; closing twice is fine."""
        self._pool.shutdown(wait=True)
