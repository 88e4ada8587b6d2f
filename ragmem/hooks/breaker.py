"""Circuit breaker: after three missed deadlines in a row, hooks answer nothing for five minutes."""

import os
import time

NAME = "hooks.missed"

MISSES = 3
"""Deadlines missed in a row that open the breaker."""

REST_S = 300.0

_MOST_BYTES = 64


class Breaker:
    """The count of missed deadlines of a home: a file, which is there only while there are some."""

    def __init__(self, state: str) -> None:
        self._path = os.path.join(state, NAME)

    def is_open(self) -> bool:
        """Tell whether hooks must not ask now."""
        count, last = self._read()
        # A clock that was set back must not silence a home for as long.
        return count >= MISSES and 0 <= time.time() - last < REST_S

    def missed(self) -> int:
        """Count a missed deadline; return how many there are in a row."""
        count = self._read()[0] + 1
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_TRUNC, 0o600)
            try:
                os.write(descriptor, b"%d %d\n" % (count, time.time()))
            finally:
                os.close(descriptor)
        except OSError:  # nothing can be counted where nothing can be written
            return count
        return count

    def answered(self) -> None:
        """Forget what was counted: somebody answered in time."""
        try:
            os.unlink(self._path)
        except OSError:  # as a rule there is nothing to forget
            return

    def _read(self) -> tuple[int, float]:
        try:
            with open(self._path, "rb") as file:
                count, last = file.read(_MOST_BYTES).split()
                return int(count), float(last)
        except (OSError, ValueError):  # none was missed, or nobody can tell
            return 0, 0.0
