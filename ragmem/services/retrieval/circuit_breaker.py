"""A circuit breaker: a model that did not answer is left alone for a while, so that nobody waits again."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ragmem.errors import BackendError

RESPITE = 30.0
"""Seconds for which a model that failed is not asked again."""

WAITED = 0.2
"""Seconds from which a failure was waited for; a faster one costs nothing to hear again."""


class CircuitBreaker:
    """The circuit breaker of one model; safe to use from several threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._error: BackendError | None = None
        self._until = 0.0

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Ask the model within the block, and take note where it fails; raises BackendError.

        Raises the former failure at once while the model is left alone.
        """
        if (failed := self.error()) is not None:
            raise failed.with_traceback(None)
        since = self.now()
        try:
            yield
        except BackendError as error:
            self.failed(error, since=since)
            raise

    def now(self) -> float:
        """Return the moment to give to `failed` later."""
        return self._clock()

    def error(self) -> BackendError | None:
        """Return why the model is not to be asked now; None where it is worth a try."""
        with self._guard:
            return self._error if self._clock() < self._until else None

    def failed(self, error: BackendError, *, since: float) -> None:
        """Note that a question which began at this moment got no answer."""
        moment = self._clock()
        if moment - since >= WAITED:
            with self._guard:
                self._error, self._until = error, moment + RESPITE
