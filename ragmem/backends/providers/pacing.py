"""When a request may go: a limit by the minute, the server's own pauses, and the wait before a repetition."""

import random
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

MINUTE_S = 60.0
BASE_S = 0.5
"""The wait before the first repetition is up to this; it doubles with each."""

LONGEST_BACKOFF_S = 20.0
LONGEST_ASKED_S = 60.0
"""A server that asks for a longer wait is not waited for: the work stays pending."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, sleep and chance, so that tests need not wait."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[float, float], float] = random.uniform


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request may take: each attempt, all of them together (None: no limit), and how many.

    Once `over` is set nobody wants the answer, and nothing is repeated.
    """

    timeout_s: float
    until: float | None
    retries: int
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def hurried(self) -> bool:
        """Whether somebody waits for the answer, so that it goes before background work."""
        return self.until is not None


class Pacing:
    """Lets at most so many requests go in any minute, over all threads (0: no limit)."""

    def __init__(self, per_minute: int, clock: Clock) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._sent: deque[float] = deque()
        self._not_before = 0.0
        self._lock = threading.Lock()

    def wait(self, patience: Patience) -> None:
        """Wait until the next request may go. A question does not wait, but counts."""
        while True:
            with self._lock:
                now = self._clock.now()
                self._forget(now)
                delay = 0.0 if patience.hurried else self._delay(now)
                if delay <= 0:
                    self._sent.append(now)
                    return
            self._clock.sleep(delay)

    def hold(self, seconds: float) -> None:
        """Let no request of any thread go for so long: the server asked for it."""
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
    """Return the seconds before repetition number `attempt` (from 0), or None where it is not worth it.

    Exponential with full jitter, or what the server asks for and a little jitter, so that many clients do
    not come back at the same moment.
    """
    if asked is None:
        return clock.chance(0.0, min(LONGEST_BACKOFF_S, BASE_S * 2**attempt))
    return None if asked > LONGEST_ASKED_S else asked + clock.chance(0.0, BASE_S)
