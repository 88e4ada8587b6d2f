"""A rate limit by token buckets, which refill with time."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

MOST_NAMES = 1_024
"""Maximum buckets: more than a local server has clients."""


class RateLimit:
    """Limits the rate per minute and name, and allows bursts of a minute; safe from several threads."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._guard = threading.Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, name: str) -> int:
        """Take a token and return 0, or return the seconds to wait; 0 a minute means no limit."""
        if not self.per_minute:
            return 0
        with self._guard:
            now = self._clock()
            left, since = self._left.pop(name, (float(self.per_minute), now))
            left = min(self.per_minute, left + (now - since) * self.per_minute / 60)
            allowed = left >= 1
            self._left[name] = (left - 1 if allowed else left, now)
            while len(self._left) > MOST_NAMES:
                self._left.popitem(last=False)
            return 0 if allowed else max(1, math.ceil((1 - left) * 60 / self.per_minute))
