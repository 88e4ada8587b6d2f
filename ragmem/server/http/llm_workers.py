"""The threads that wait for language models, so that a slow answer holds up no question."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import aclosing, suppress
from typing import Any, TypeVar

from ragmem.errors import BackendError, LimitReachedError
from ragmem.server.http.shutdown import Shutdown

COUNT = 4
"""Answers that are made at a time."""

WAITING = 16
"""Answers that may wait in line; further requests are refused."""

_T = TypeVar("_T")
_END = object()


class LlmWorkers:
    """Lets language models answer, whole or part by part; some at a time, the others wait in line.

    The threads are daemons: a process that ends does not wait for a server that does not answer.
    """

    def __init__(self, ending: Shutdown, *, count: int = COUNT, waiting: int = WAITING) -> None:
        """Take how many answers are made at a time; `ending` ends those that come in parts."""
        self._free = asyncio.Semaphore(count)
        self._most = count + waiting
        self._going = 0
        self._ending = ending

    @property
    def going(self) -> int:
        """How many answers are being made or wait in line."""
        return self._going

    async def run(self, work: Callable[[], _T]) -> _T:
        """Return what the work returns; raises LimitReachedError where too many wait."""
        async with aclosing(self.parts(lambda: iter((work(),)))) as parts:
            return await anext(parts)

    async def parts(self, start: Callable[[], Iterator[_T]]) -> AsyncGenerator[_T, None]:
        """Yield the parts of an iterator that blocks as they come, and raise what it raises.

        It is closed when nobody wants more, and keeps its place until then: a model ends between two parts
        only. Raises LimitReachedError where too many wait, and BackendError when the server ends.
        """
        given: asyncio.Queue[Any] = asyncio.Queue()
        over = threading.Event()
        loop = asyncio.get_running_loop()

        def later(call: Callable[..., None], *arguments: object) -> None:
            # The loop may have ended meanwhile, and with it whoever wanted this.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(call, *arguments)

        def make() -> None:
            last = _make(start, lambda part: later(given.put_nowait, part), over)
            later(self._leave)
            later(given.put_nowait, last)

        await self._enter()
        try:
            threading.Thread(target=make, name="speak", daemon=True).start()
        except RuntimeError:
            self._leave()
            raise
        try:
            with self._ending.telling(lambda: given.put_nowait(_ended())):
                while (part := await given.get()) is not _END:
                    if isinstance(part, BaseException):
                        raise part
                    yield part
        finally:
            over.set()

    async def _enter(self) -> None:
        if self._going >= self._most:
            raise LimitReachedError(
                f"{self._going} answers are being made or wait already", hint="ask again in a while"
            )
        self._going += 1
        try:
            await self._free.acquire()
        except BaseException:
            self._going -= 1
            raise

    def _leave(self) -> None:
        self._going -= 1
        self._free.release()


def _ended() -> BackendError:
    return BackendError("the server is ending", hint="ask again when it is back")


def _make(
    start: Callable[[], Iterator[Any]], give: Callable[[object], None], over: threading.Event
) -> object:
    """Give the parts one by one, until nobody wants more; return the end, or what went wrong."""
    try:
        parts = start()
        try:
            for part in parts:
                if over.is_set():
                    break
                give(part)
        finally:
            if isinstance(parts, Generator):
                parts.close()
    except BaseException as error:  # noqa: BLE001 - raised again where the parts are taken
        return error
    return _END
