"""Remember for a while that a model did not answer, so that not every question waits for it again."""

import threading
import time
from collections.abc import Callable

from ragmem.errors import BackendError

RESPITE = 30.0
"""Seconds for which a model that failed is not asked again."""

WAITED = 0.2
"""Seconds from which a failure was waited for; a faster one costs nothing to hear again."""


class Respite:
    """What is known of a model that did not answer; safe to use from several threads."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._error: BackendError | None = None
        self._until = 0.0

    def now(self) -> float:
        """Return the moment that `failed` is told later."""
        return self._clock()

    def error(self) -> BackendError | None:
        """Return why the model is not to be asked now; None where it is worth a try."""
        with self._guard:
            return self._error if self._clock() < self._until else None

    def failed(self, error: BackendError, *, since: float) -> None:
        """Take note that a question which began then was not answered."""
        moment = self._clock()
        if moment - since >= WAITED:
            with self._guard:
                self._error, self._until = error, moment + RESPITE
