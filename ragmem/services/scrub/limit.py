"""A time limit for regular expressions: some take years for a short text."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ragmem.errors import UsageError


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise UsageError when the block takes longer. Only in the main thread, where signals arrive."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(_number: int, _frame: FrameType | None) -> None:
        raise UsageError(
            f"the pattern takes longer than {seconds:g} s for a few texts",
            hint="write it without repetitions within repetitions",
        )

    previous = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
