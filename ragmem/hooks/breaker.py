"""Circuit breaker: after three consecutive missed deadlines, hooks do not ask a process for five minutes."""

import os
import time

from ragmem.client.runtime import SOCKET, runtime_folder

NAME = "hooks.missed"

MISSES = 3
"""Consecutive missed deadlines that open the breaker."""

REST_S = 300.0

_MOST_BYTES = 64


class Breaker:
    """The count of missed deadlines of a home, in a file that exists only while there are some."""

    def __init__(self, state: str, data: str) -> None:
        self._path = os.path.join(state, NAME)
        try:
            self._process = os.stat(os.path.join(runtime_folder(data), SOCKET)).st_mtime_ns
        except OSError:  # none listens
            self._process = 0

    def is_open(self) -> bool:
        """Return whether hooks must not ask now."""
        count, last, process = self._read()
        # A clock that was set back must not keep the breaker open, nor the process before this one.
        return count >= MISSES and 0 <= time.time() - last < REST_S and self._process in (0, process)

    def record_miss(self) -> int:
        """Count a missed deadline; return the number of consecutive ones."""
        count = self._read()[0] + 1
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_TRUNC, 0o600)
            try:
                os.write(descriptor, b"%d %d %d\n" % (count, time.time(), self._process))
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

    def _read(self) -> tuple[int, float, int]:
        """Return the count, the time of the last miss, and when the process asked had begun to listen."""
        try:
            with open(self._path, "rb") as file:
                count, last, process = file.read(_MOST_BYTES).split()
                return int(count), float(last), int(process)
        except (OSError, ValueError):  # no count, or an unreadable one
            return 0, 0.0, 0
