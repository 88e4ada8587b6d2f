"""The shutdown signal for streams and jobs that would otherwise run for ever."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
