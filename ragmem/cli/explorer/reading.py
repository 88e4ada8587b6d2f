"""One open memory that is asked in threads, so that the screen never waits for it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any, Self, TypeVar

from ragmem.api.memory import Ragmem
from ragmem.cli.common import tell

Answer = TypeVar("Answer")

THREADS = 2
"""So that a plan of gc, which takes long, holds up no list."""


SILENT = 0.5
"""Seconds that leaving may take without a word."""


class ClosingError(Exception):
    """The explorer was left while something was still being read."""


class Reader:
    """Asks a memory; `projects` are those that all views tell of (None: all)."""

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
        """Wait for what is being read just now, which ends where it can, and drop the rest.

        A thread that waits for another process to write waits until its own patience ends: who left is told.
        """
        self._closing.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        if wait(tuple(self._asked), timeout=SILENT).not_done:
            tell("ending what was being read")
        self._pool.shutdown(wait=True)

    async def run(self, work: Callable[[Ragmem], Answer]) -> Answer:
        """Return what `work` makes of the memory, in a thread; whatever it raises is raised here."""
        future = self._pool.submit(work, self.memory)
        self._asked.add(future)
        future.add_done_callback(self._asked.discard)
        return await asyncio.wrap_future(future)

    def toggle(self, here: tuple[str, ...] | None) -> None:
        """Tell of `here` (this project and the user's) from now on, or of all projects again."""
        self.projects = here if self.projects is None else None

    def begin(self, label: str, total: int, *, unit: str = "") -> None:  # noqa: ARG002 - the protocol's
        """Be told that a long work has a new stretch; raises ClosingError once nobody waits for it."""
        self.advance()

    def advance(self, steps: int = 1, *, told: str = "") -> None:  # noqa: ARG002 - the protocol's
        """Be told that a long work goes on; raises ClosingError once nobody waits for it."""
        if self._closing.is_set():
            raise ClosingError
