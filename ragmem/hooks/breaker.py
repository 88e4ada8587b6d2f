"""Circuit breaker: after three consecutive missed deadlines, hooks do not ask for five minutes."""

import os
import time

NAME = "hooks.missed"

MISSES = 3
"""Consecutive missed deadlines that open the breaker."""

REST_S = 300.0

_MOST_BYTES = 64


class Breaker:
    """The count of missed deadlines of a home, in a file that exists only while there are some."""

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, NAME)

    def is_open(self) -> bool:
        """Return whether hooks must not ask now."""
        count, last = self._read()
        # A clock that was set back must not keep the breaker open.
        return count >= MISSES and 0 <= time.time() - last < REST_S

    def record_miss(self) -> int:
        """Count a missed deadline; return the number of consecutive ones."""
        count = self._read()[0] + 1
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_TRUNC, 0o600)
            try:
                os.write(descriptor, b"%d %d\n" % (count, time.time()))
            finally:
                os.close(descriptor)
        except OSError:  # a folder that cannot be written keeps no count
            return count
        return count

    def reset(self) -> None:
        """Delete the count after an answer in time."""
        try:
            os.unlink(self._path)
        except OSError:  # usually there is no count
            return

    def _read(self) -> tuple[int, float]:
        try:
            with open(self._path, "rb") as file:
                count, last = file.read(_MOST_BYTES).split()
                return int(count), float(last)
        except (OSError, ValueError):  # no count, or an unreadable one
            return 0, 0.0
