"""When a request may be sent: a limit per minute, the server's own pauses, and the wait before a retry."""

import random
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

MINUTE_S = 60.0
BASE_S = 0.5
"""The longest wait before the first retry; it doubles with each."""

LONGEST_BACKOFF_S = 20.0
LONGEST_ASKED_S = 60.0
"""Where a server asks for a longer wait, the request fails and the work stays pending."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, sleep and randomness, so that tests need not wait."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[float, float], float] = random.uniform


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The time-out of each attempt, the deadline of all of them (None: no limit), and the number of retries.

    Once `cancelled` is set nobody wants the answer, and nothing is retried.
    """

    timeout_s: float
    deadline: float | None
    retries: int
    cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def has_deadline(self) -> bool:
        """Whether somebody waits for the answer, so that it goes before background work."""
        return self.deadline is not None


class RateLimiter:
    """Limits the requests of all threads in any minute (0: no limit)."""

    def __init__(self, per_minute: int, clock: Clock) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._sent: deque[float] = deque()
        self._not_before = 0.0
        self._lock = threading.Lock()

    def wait(self, policy: RetryPolicy) -> None:
        """Wait until the next request may be sent. A question does not wait, but counts."""
        while True:
            with self._lock:
                now = self._clock.now()
                self._forget(now)
                delay = 0.0 if policy.has_deadline else self._delay(now)
                if delay <= 0:
                    self._sent.append(now)
                    return
            self._clock.sleep(delay)

    def hold(self, seconds: float) -> None:
        """Hold the requests of all threads for this long: the server asked for it."""
        with self._lock:
            self._not_before = max(self._not_before, self._clock.now() + seconds)

    def _forget(self, now: float) -> None:
        while self._sent and now - self._sent[0] >= MINUTE_S:
            self._sent.popleft()

    def _delay(self, now: float) -> float:
        full = 0.0
        if self._per_minute and len(self._sent) >= self._per_minute:
            full = self._sent[len(self._sent) - self._per_minute] + MINUTE_S - now
        return max(full, self._not_before - now)


def backoff(attempt: int, asked: float | None, clock: Clock) -> float | None:
    """Return the seconds before retry number `attempt` (from 0), or None where it is not worth it.

    Exponential with full jitter, or the requested wait with a little jitter, so that many clients do not
    come back at the same moment.
    """
    if asked is None:
        return clock.chance(0.0, min(LONGEST_BACKOFF_S, BASE_S * 2**attempt))
    return None if asked > LONGEST_ASKED_S else asked + clock.chance(0.0, BASE_S)
