"""An open memory that is queried in threads, so that the screen never waits for it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any, Self, TypeVar

from ragmem.api.memory import Ragmem
from ragmem.cli.common import tell

Answer = TypeVar("Answer")

THREADS = 2
"""Two, so that a long plan of gc does not block the lists."""

SILENT = 0.5
"""Seconds that closing may take without a message."""


class ClosingError(Exception):
    """The explorer was closed while something was still being read."""


class Reader:
    """Queries a memory; `projects` are those that all views show (None: all)."""

    def __init__(self, memory: Ragmem) -> None:
        self.memory = memory
        self.projects: tuple[str, ...] | None = None
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="explorer")
        self._closing = Event()
        self._asked: set[Future[Any]] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel the queued work, and wait for the running work, which stops as soon as it can.

        A thread that waits for another writer waits until its own time-out: then a message is printed.
        """
        self._closing.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        if wait(tuple(self._asked), timeout=SILENT).not_done:
            tell("ending what was being read")
        self._pool.shutdown(wait=True)

    async def run(self, work: Callable[[Ragmem], Answer]) -> Answer:
        """Return the result of `work` on the memory, run in a thread; its errors are raised here."""
        future = self._pool.submit(work, self.memory)
        self._asked.add(future)
        future.add_done_callback(self._asked.discard)
        return await asyncio.wrap_future(future)

    def toggle(self, here: tuple[str, ...] | None) -> None:
        """Switch between `here` (this project and the user's) and all projects."""
        self.projects = here if self.projects is None else None

    def begin(self, label: str, total: int, *, unit: str = "") -> None:  # noqa: ARG002 - the protocol's
        """Raise ClosingError if the explorer is closing; called by long work at each phase."""
        self.advance()

    def advance(self, steps: int = 1, *, told: str = "") -> None:  # noqa: ARG002 - the protocol's
        """Raise ClosingError if the explorer is closing; called by long work at each step."""
        if self._closing.is_set():
            raise ClosingError
