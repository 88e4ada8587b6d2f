"""Threads that wait for language models, so that a slow answer blocks no question, and the end of streams."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import aclosing, contextmanager, suppress
from contextvars import copy_context
from typing import Any, TypeVar

from ragmem.errors import BackendError, LimitReachedError


class Shutdown:
    """The state of a shutdown, which begins with the first signal; streams end by it."""

    def __init__(self) -> None:
        self.has_begun = False
        self._listeners: dict[object, Callable[[], None]] = {}

    @contextmanager
    def listener(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call back on the event loop when the shutdown begins within this context, or at once if it has."""
        key = object()
        self._listeners[key] = callback
        try:
            if self.has_begun:
                callback()
            yield
        finally:
            del self._listeners[key]

    def begin(self) -> None:
        """Call all listeners, on the event loop; a second call has no effect."""
        if not self.has_begun:
            self.has_begun = True
            for callback in list(self._listeners.values()):
                callback()


COUNT = 4
"""Number of concurrent answers."""

WAITING = 16
"""Number of answers that may wait; further requests are refused."""

_T = TypeVar("_T")
_END = object()


class LlmWorkers:
    """Runs calls of language models, whole or part by part; a few at a time, while the others wait.

    The threads are daemons: a process that ends does not wait for a provider that does not answer.
    """

    def __init__(self, ending: Shutdown, *, count: int = COUNT, waiting: int = WAITING) -> None:
        """Allow `count` concurrent answers and `waiting` more; `ending` ends those that come in parts."""
        self._free = asyncio.Semaphore(count)
        self._most = count + waiting
        self._active = 0
        self._ending = ending

    @property
    def active_count(self) -> int:
        """The number of answers that run or wait."""
        return self._active

    async def run(self, work: Callable[[], _T]) -> _T:
        """Return the result of the work; raises LimitReachedError if too many answers wait."""
        async with aclosing(self.parts(lambda: iter((work(),)))) as parts:
            return await anext(parts)

    async def parts(self, start: Callable[[], Iterator[_T]]) -> AsyncGenerator[_T, None]:
        """Yield the parts of a blocking iterator as they come; raises its errors.

        The iterator is closed once the caller stops, and counts as active until then: a model ends only
        between two parts. Raises LimitReachedError if too many answers wait, and BackendError when the server
        stops.
        """
        results: asyncio.Queue[Any] = asyncio.Queue()
        over = threading.Event()
        loop = asyncio.get_running_loop()

        def later(call: Callable[..., None], *arguments: object) -> None:
            # The loop, and with it the caller, may have ended meanwhile.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(call, *arguments)

        def make() -> None:
            last = _make(start, lambda part: later(results.put_nowait, part), over)
            later(self._leave)
            later(results.put_nowait, last)

        await self._enter()
        try:
            # It acts for the same member as its caller.
            context = copy_context()
            threading.Thread(target=context.run, args=(make,), name="language-model", daemon=True).start()
        except RuntimeError:
            self._leave()
            raise
        ended = BackendError("the server is shutting down", hint="try again when it is back")
        try:
            with self._ending.listener(lambda: results.put_nowait(ended)):
                while (part := await results.get()) is not _END:
                    if isinstance(part, BaseException):
                        raise part
                    yield part
        finally:
            over.set()

    async def _enter(self) -> None:
        if self._active >= self._most:
            raise LimitReachedError(
                f"{self._active} answers are running or waiting already", hint="try again later"
            )
        self._active += 1
        try:
            await self._free.acquire()
        except BaseException:
            self._active -= 1
            raise

    def _leave(self) -> None:
        self._active -= 1
        self._free.release()


def _make(
    start: Callable[[], Iterator[Any]], give: Callable[[object], None], over: threading.Event
) -> object:
    """Give the parts one by one until the caller stops; return the end mark, or the error."""
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
    except BaseException as error:  # noqa: BLE001 - raised again by the consumer
        return error
    return _END
