"""A circuit breaker: a model that did not answer is not asked for a while, so that nobody waits again."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ragmem.errors import BackendError

RESPITE = 30.0
"""Seconds for which a failed model is not asked again."""

WAITED = 0.2
"""Seconds from which a failure opens the circuit; faster failures cost nothing."""


class CircuitBreaker:
    """The circuit breaker of one model; safe to use from several threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._error: BackendError | None = None
        self._until = 0.0

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Ask the model within the block, and record a failure; raises BackendError.

        While the circuit is open, the previous failure is raised at once.
        """
        if (failed := self.error()) is not None:
            raise failed.with_traceback(None)
        since = self.now()
        try:
            yield
        except BackendError as error:
            self.record_failure(error, since=since)
            raise

    def now(self) -> float:
        """Return the moment to give to `record_failure` later."""
        return self._clock()

    def error(self) -> BackendError | None:
        """Return the previous failure while the model must not be asked, else None."""
        with self._guard:
            return self._error if self._clock() < self._until else None

    def record_failure(self, error: BackendError, *, since: float) -> None:
        """Record the failure of a question that began at this moment."""
        moment = self._clock()
        if moment - since >= WAITED:
            with self._guard:
                self._error, self._until = error, moment + RESPITE
