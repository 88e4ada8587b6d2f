"""Watchdog of a hook: at its deadline the process ends with exit code 0, whatever hangs."""

import _signal  # type: ignore[import-not-found]
import _thread
import os
import time

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LAST_WORDS_S = 0.05
"""Seconds before the deadline that are reserved for the log."""

_ENDINGS = (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP)


class Watchdog:
    """Ends this process with exit code 0 at a moment of `time.monotonic`, unless `over` is called before.

    `late` is called shortly before, for the log; even if it hangs, the process ends. A signal also ends the
    process with exit code 0, but only after `may_end`: work of a few milliseconds that would be lost is
    finished first.
    """

    def __init__(self, deadline: float, late: "Callable[[], object]") -> None:
        self.deadline = deadline
        self._late = late
        self._over = False
        self._may_end = False
        self._asked_to_end = False

    def begin(self) -> None:
        """Start watching; only the main thread may call this, once in a process."""
        for number in _ENDINGS:
            _signal.signal(number, self._end_process)
        _thread.start_new_thread(self._wait, (LAST_WORDS_S, self._late))
        _thread.start_new_thread(self._wait, (0.0, None))

    def may_end(self) -> None:
        """Let a signal end the process from now on."""
        self._may_end = True
        if self._asked_to_end:
            os._exit(0)

    def over(self) -> None:
        """Stop watching."""
        self._over = True
        self.may_end()

    def _end_process(self, _number: int, _frame: object) -> None:
        self._asked_to_end = True
        if self._may_end:
            os._exit(0)

    def _wait(self, before: float, late: "Callable[[], object] | None") -> None:
        while not self._over and (left := self.deadline - before - time.monotonic()) > 0:
            time.sleep(min(left, 0.25))
        if self._over:
            return
        try:
            if late is not None:
                late()
        finally:
            os._exit(0)
