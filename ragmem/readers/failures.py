"""What to make of an error that one file or text raised: its reason in a line, its traceback in a log."""

import errno
import os
import time
from pathlib import Path

from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.errors import RagmemError, RejectionError, SourceError

NAME = "failures.log"
LONGEST = 1024 * 1024
"""Bytes of the log before it becomes `failures.log.1`, in the place of the one before."""

_OF_THE_MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE})


class Log:
    """Where this process keeps tracebacks: in a folder once one is named, and then in which file."""

    folder: Path | None = None
    written: Path | None = None
    """The log, once this process has written to it."""


LOG = Log()
"""Of the whole process, as the loggers of `logging`; whoever opens a home for a person names its folder."""


def failure(error: Exception) -> str:
    """Return in one line, without secrets, why one input failed; a log gets the traceback.

    Raises the error again where it is no fault of the input, see `check`.
    """
    check(error)
    if isinstance(error, SourceError | RejectionError):
        return str(error)
    _keep(error)
    message = " ".join(str(error).split())
    return DEFAULT.redact(f"{type(error).__name__}: {message}" if message else type(error).__name__)[0]


def check(error: Exception) -> None:
    """Raise an error again that is no fault of one input.

    That is a full disk, memory that is short, a store that is busy or damaged, or a model that is down.
    """
    of_input = isinstance(error, SourceError | RejectionError)
    of_store = type(error).__module__.partition(".")[0] in {"sqlite3", "psycopg"}
    of_machine = isinstance(error, OSError) and error.errno in _OF_THE_MACHINE
    if not of_input and (isinstance(error, MemoryError | RagmemError) or of_store or of_machine):
        raise error


def append(path: Path, text: str, *, longest: int) -> bool:
    """Append to a log that its owner alone can read; False where that is not possible (a full disk).

    A log longer than `longest` bytes becomes the former one first, with `.1` behind its name.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists() and path.stat().st_size > longest:
            path.replace(path.with_name(f"{path.name}.1"))
        descriptor = os.open(
            path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            os.write(descriptor, text.encode("utf-8", "backslashreplace"))
        finally:
            os.close(descriptor)
    except OSError:
        return False
    return True


def _keep(error: Exception) -> None:
    import logging  # noqa: PLC0415 - for what goes wrong alone
    import traceback  # noqa: PLC0415

    from ragmem import __version__  # noqa: PLC0415

    trace = DEFAULT.redact("".join(traceback.format_exception(error)))[0]
    logger = logging.getLogger("ragmem")
    if not logger.handlers:
        # Without one, logging would write to standard error.
        logger.addHandler(logging.NullHandler())
    logger.error(trace)
    if LOG.folder is not None:
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        path = LOG.folder / NAME
        if append(path, f"{moment} ragmem {__version__}, process {os.getpid()}\n{trace}\n", longest=LONGEST):
            LOG.written = path
