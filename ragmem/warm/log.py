"""The log of a warm process: why it began, failed and ended; never what anybody asked."""

import os
import time
import traceback
from pathlib import Path

from ragmem.errors import BackendError, ConfigError, StorageError, StoreBusyError

NAME = "warm.log"
LONGEST = 256 * 1024
"""Bytes of the file before it becomes `warm.log.1`, in the place of the one before."""

_TELLING = (BackendError, ConfigError, StorageError, StoreBusyError)
"""Errors that tell of the home. Others quote what they were given, which may be a prompt."""


class Log:
    """Lines appended to a file of the state folder, readable by its owner alone."""

    def __init__(self, state: Path) -> None:
        self._path = state / NAME

    def write(self, line: str) -> None:
        """Append a line; where that is not possible (a full disk) it is lost, and nothing else."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        text = f"{moment} {os.getpid()} {' '.join(line.split())}\n".encode("utf-8", "backslashreplace")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self._path.exists() and self._path.stat().st_size > LONGEST:
                self._path.replace(self._path.with_name(f"{NAME}.1"))
            descriptor = os.open(
                self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
            )
            try:
                os.write(descriptor, text)
            finally:
                os.close(descriptor)
        except OSError:
            return

    def failed(self, what: str, error: BaseException) -> None:
        """Append what failed and how, as far as that tells nothing of what was asked."""
        told = str(error) if isinstance(error, _TELLING) else ""
        if not told:
            at = traceback.extract_tb(error.__traceback__)[-1:]
            told = "".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in at)
        self.write(f"{what}: {type(error).__name__}: {told}")
