"""The log of a warm process: why it began, failed and ended; never the text of a request."""

import os
import time
import traceback
from pathlib import Path

from ragmem.errors import BackendError, ConfigError, StorageError, StoreBusyError
from ragmem.readers.failures import append

NAME = "warm.log"
LONGEST = 256 * 1024
"""Bytes of the file before it is rotated to `warm.log.1`, which replaces the previous one."""

_SAFE_ERRORS = (BackendError, ConfigError, StorageError, StoreBusyError)
"""Errors about the home. Others quote their input, which may be a prompt."""


class Log:
    """Appends lines to a file of the state folder that only its owner can read."""

    def __init__(self, state: Path) -> None:
        self._path = state / NAME

    def write(self, line: str) -> None:
        """Append a line; a line that cannot be written (a full disk) is dropped."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        append(self._path, f"{moment} {os.getpid()} {' '.join(line.split())}\n", longest=LONGEST)

    def write_error(self, what: str, error: BaseException) -> None:
        """Append what failed and where in the code, without any text of the request."""
        detail = str(error) if isinstance(error, _SAFE_ERRORS) else ""
        if not detail:
            frames = reversed(traceback.extract_tb(error.__traceback__))
            detail = " < ".join(
                f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames
            )
        self.write(f"{what}: {type(error).__name__}: {detail}")
