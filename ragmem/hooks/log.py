"""The log of hooks: a line with the outcome of each hook; no prompts, no secrets."""

import os
import time

NAME = "hooks.log"
FORMER = "hooks.log.1"

MOST_BYTES = 256 * 1024
"""Size from which the log is rotated; one former log is kept."""

LONGEST = 300


def open_in(folder: str, path: str, flags: int) -> int:
    """Open or create a file, and its folder if that is missing; return the descriptor. Raises OSError."""
    flags |= os.O_CREAT | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(folder, 0o700, exist_ok=True)
        return os.open(path, flags, 0o600)


class Log:
    """The log in a home's state folder; its errors never stop a hook."""

    def __init__(self, state: str) -> None:
        self._state = state
        self._path = os.path.join(state, NAME)

    def write(self, *words: str) -> None:
        """Append a line with its time, in one write, so that concurrent lines stay whole."""
        said = " ".join(word for word in words if word)
        plain = "".join(letter if letter.isprintable() else " " for letter in said)[:LONGEST]
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {plain}\n".encode("utf-8", "replace")
        try:
            descriptor = open_in(self._state, self._path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
            try:
                os.write(descriptor, line)
                if os.fstat(descriptor).st_size > MOST_BYTES:
                    self._begin_anew(descriptor)
            finally:
                os.close(descriptor)
        except OSError:  # a full disk or a read-only folder; nobody could be told
            return

    def has(self, text: str) -> bool:
        """Return whether the log contains a text already."""
        try:
            with open(self._path, "rb") as file:
                return text.encode("utf-8", "replace") in file.read(2 * MOST_BYTES)
        except OSError:  # there is no log yet
            return False

    def _begin_anew(self, descriptor: int) -> None:
        # Another hook may have rotated it since.
        if os.path.samestat(os.fstat(descriptor), os.stat(self._path)):
            os.replace(self._path, os.path.join(self._state, FORMER))
