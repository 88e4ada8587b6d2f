"""Whether the server is about to end, told to what would otherwise go on for ever."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Shutdown:
    """Begins with the first signal; streams look at it and say good-bye."""

    def __init__(self) -> None:
        self._begun = asyncio.Event()
        self._listeners: dict[object, Callable[[], None]] = {}

    @property
    def begun(self) -> bool:
        """Whether the server is ending."""
        return self._begun.is_set()

    async def wait(self) -> None:
        """Return when the server begins to end."""
        await self._begun.wait()

    @contextmanager
    def telling(self, told: Callable[[], None]) -> Iterator[None]:
        """Call `told` within this context when it begins, on the event loop; at once where it has begun."""
        key = object()
        self._listeners[key] = told
        try:
            if self.begun:
                told()
            yield
        finally:
            del self._listeners[key]

    def begin(self) -> None:
        """Tell everybody; on the event loop. Beginning twice is beginning once."""
        if not self._begun.is_set():
            self._begun.set()
            for told in list(self._listeners.values()):
                told()
