"""Limit the wait for a model: a timeout, and a circuit breaker for a model that did not answer."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ragmem.errors import BackendError

RESPITE = 30.0
"""Seconds for which a failed model is not asked again."""

WAITED = 0.2
"""Seconds from which a failure opens the circuit; faster failures cost nothing."""

T = TypeVar("T")


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


def run_with_timeout(work: Callable[[], T], seconds: float, *, what: str) -> T:
    """Return the result of the work, or raise its error; raises BackendError after `seconds`.

    After a timeout the work continues in its thread, and its result is lost.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, name="deadline", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise BackendError(
            f"{what} did not answer within {seconds:g} s", hint="the query is answered without it"
        )
    return results[0]
