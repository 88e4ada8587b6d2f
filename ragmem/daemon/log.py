"""The log of a warm process: why it began, failed and ended; never what anybody asked."""

import os
import time
import traceback
from pathlib import Path

from ragmem.errors import BackendError, ConfigError, StorageError, StoreBusyError
from ragmem.readers.failures import append

NAME = "warm.log"
LONGEST = 256 * 1024
"""Bytes of the file before it becomes `daemon.log.1`, in the place of the one before."""

_TELLING = (BackendError, ConfigError, StorageError, StoreBusyError)
"""Errors that tell of the home. Others quote what they were given, which may be a prompt."""


class Log:
    """Lines appended to a file of the state folder, readable by its owner alone."""

    def __init__(self, state: Path) -> None:
        self._path = state / NAME

    def write(self, line: str) -> None:
        """Append a line; where that is not possible (a full disk) it is lost, and nothing else."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        append(self._path, f"{moment} {os.getpid()} {' '.join(line.split())}\n", longest=LONGEST)

    def failed(self, what: str, error: BaseException) -> None:
        """Append what failed and where in the code, without any text of the request."""
        told = str(error) if isinstance(error, _TELLING) else ""
        if not told:
            frames = reversed(traceback.extract_tb(error.__traceback__))
            told = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
        self.write(f"{what}: {type(error).__name__}: {told}")
