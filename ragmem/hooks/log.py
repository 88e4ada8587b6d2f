"""The log of hooks: a line for what each hook did, or why it did nothing; no prompts, no secrets."""

import os
import time

NAME = "hooks.log"
FORMER = "hooks.log.1"

MOST_BYTES = 256 * 1024
"""Size from which the log begins anew; the former one is kept beside it."""

LONGEST = 300


class Log:
    """The log below a home's state; whatever is wrong with it, a hook goes on."""

    def __init__(self, state: str) -> None:
        self._state = state
        self._path = os.path.join(state, NAME)

    def write(self, *words: str) -> None:
        """Append a line with the moment before it, in one write, so that lines of others stay whole."""
        said = " ".join(word for word in words if word)
        plain = "".join(letter if letter.isprintable() else " " for letter in said)[:LONGEST]
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {plain}\n".encode("utf-8", "replace")
        try:
            descriptor = self._open_log()
            try:
                os.write(descriptor, line)
                if os.fstat(descriptor).st_size > MOST_BYTES:
                    self._begin_anew(descriptor)
            finally:
                os.close(descriptor)
        except OSError:  # a full disk, a folder that cannot be written: there is nobody to tell
            return

    def has(self, text: str) -> bool:
        """Tell whether the log says this already."""
        try:
            with open(self._path, "rb") as file:
                return text.encode("utf-8", "replace") in file.read(2 * MOST_BYTES)
        except OSError:  # there is no log yet
            return False

    def _open_log(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            return os.open(self._path, flags, 0o600)
        except FileNotFoundError:
            os.makedirs(self._state, 0o700, exist_ok=True)
            return os.open(self._path, flags, 0o600)

    def _begin_anew(self, descriptor: int) -> None:
        # Another hook may have done so since.
        if os.path.samestat(os.fstat(descriptor), os.stat(self._path)):
            os.replace(self._path, os.path.join(self._state, FORMER))
