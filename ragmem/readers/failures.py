"""Errors of one file or text stop no other: the reason in one line, the traceback in a log."""

import errno
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.errors import RagmemError, RejectionError, SourceError, TextRejectionError

Item = TypeVar("Item")

NAME = "failures.log"
LONGEST = 1024 * 1024
"""Bytes of the log before it is rotated to `failures.log.1`, which replaces the previous one."""

_OF_THE_INPUT = (SourceError, RejectionError, TextRejectionError)
_OF_THE_MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE})


class Log:
    """The log of tracebacks of this process; nothing is written before its folder is set."""

    folder: Path | None = None
    written: Path | None = None
    """The file, once this process has written to it."""


LOG = Log()
"""Global to the process, like the loggers of `logging`. The code that opens a home sets its folder."""


def failure(error: Exception) -> str:
    """Return in one redacted line why an input failed; log the traceback.

    Raises the error again where the input is not at fault, see `check`.
    """
    check(error)
    if isinstance(error, _OF_THE_INPUT):
        return str(error)
    _keep(error)
    message = " ".join(str(error).split())
    return DEFAULT.redact(f"{type(error).__name__}: {message}" if message else type(error).__name__)[0]


def check(error: Exception) -> None:
    """Raise an error again if the input is not at fault.

    Such errors are a full disk, a lack of memory, a busy or damaged store, or an unavailable model.
    """
    of_input = isinstance(error, _OF_THE_INPUT)
    of_store = type(error).__module__.partition(".")[0] in {"sqlite3", "psycopg"}
    of_machine = isinstance(error, OSError) and error.errno in _OF_THE_MACHINE
    if not of_input and (isinstance(error, MemoryError | RagmemError) or of_store or of_machine):
        raise error


def isolate_failures(
    items: Sequence[Item], work: Callable[[Sequence[Item]], object]
) -> list[tuple[Item, str]]:
    """Process items together, and by halves after an error; return the rejected ones with the reason.

    Work that raises must not change anything. Errors that are not the fault of an item (`failures.check`) are
    raised; then the work was done on some of the items.
    """
    if not items:
        return []
    try:
        work(items)
    except Exception as error:  # noqa: BLE001 - one text never stops the others
        if len(items) == 1:
            return [(items[0], failure(error))]
        check(error)
    else:
        return []
    half = len(items) // 2
    return [*isolate_failures(items[:half], work), *isolate_failures(items[half:], work)]


def append(path: Path, text: str, *, longest: int) -> bool:
    """Append to a log that only its owner can read; False where that is not possible (a full disk).

    A log longer than `longest` bytes is rotated first: `.1` is appended to its name.
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
    import logging  # noqa: PLC0415 - only failures need it
    import traceback  # noqa: PLC0415

    from ragmem import __version__  # noqa: PLC0415

    trace = DEFAULT.redact("".join(traceback.format_exception(error)))[0]
    logger = logging.getLogger("ragmem")
    if not logger.handlers:
        # Without a handler, logging would write to standard error.
        logger.addHandler(logging.NullHandler())
    logger.error(trace)
    if LOG.folder is not None:
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        path = LOG.folder / NAME
        if append(path, f"{moment} ragmem {__version__}, process {os.getpid()}\n{trace}\n", longest=LONGEST):
            LOG.written = path
