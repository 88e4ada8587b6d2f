"""A limit on the time that a pattern takes: some take years for a short text."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ragmem.errors import UsageError


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """End a search that takes longer, with UsageError. In the main thread only, where signals arrive."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(_number: int, _frame: FrameType | None) -> None:
        raise UsageError(
            f"the pattern takes longer than {seconds:g} s for a few texts",
            hint="write it without repetitions within repetitions",
        )

    former = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
