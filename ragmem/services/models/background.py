"""Making vectors in a process of its own, which outlives the terminal that started it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from ragmem.errors import StorageError, StoreBusyError
from ragmem.services.models.reembed import at_work

LOG_NAME = "models.log"
"""The file in the state folder that takes what the process says."""

MOST_LOG_BYTES = 1_000_000
"""A larger log begins anew."""

COMMAND = ("models", "resume", "--background")

_POLL_S = 0.05

_BEGINNING_S = 10.0
"""For the process to begin, on a busy machine; a second is usual."""


def start(home: Path, log: Path) -> int:
    """Start the process and return its number; it goes on with what was begun, and writes to the log.

    Returns when it is at work in the home, so that whoever chooses another model then can end it, or when it
    has ended already. Raises StorageError where the log cannot be written.
    """
    try:
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        anew = log.exists() and log.stat().st_size > MOST_LOG_BYTES
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if anew else os.O_APPEND), 0o600)
    except OSError as error:
        raise StorageError(
            f'cannot write "{log}": {(error.strerror or str(error)).lower()}',
            hint="or make the vectors here: ragmem models resume",
        ) from error
    with open(descriptor, "ab") as file:  # noqa: PTH123 - it is open already
        process = subprocess.Popen(  # noqa: S603 - ourselves
            # -P: the folder we are in may be anybody's, and is no place to import from.
            [sys.executable, "-P", "-m", "ragmem", *COMMAND],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    deadline = time.monotonic() + _BEGINNING_S
    while at_work(home) != process.pid and process.poll() is None and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    # Not waited for any longer: it shall live on, and who starts it ends first.
    process.returncode = 0
    return process.pid


def stop(home: Path, *, patience: float) -> bool:
    """End the process that makes vectors in this home, and tell whether there was one; what it made stays.

    Raises StoreBusyError where it does not end, or is another person's or machine's.
    """
    process = at_work(home)
    if not process:
        return False
    deadline = time.monotonic() + patience
    before = 0
    while process := at_work(home):
        try:
            # Who has just taken the lock has not yet written its number over that of the one before, and
            # that may be anybody's by now: only a number that stays is believed.
            if process > 0 and process == before:
                os.kill(process, signal.SIGTERM)
        except ProcessLookupError:  # it has just ended, or works on another machine
            pass
        except PermissionError as error:
            raise _busy(process) from error
        if time.monotonic() > deadline:
            raise _busy(process)
        before = process
        time.sleep(_POLL_S)
    return True


def _busy(process: int) -> StoreBusyError:
    return StoreBusyError(
        f"the process {process} makes vectors of another model, and does not end",
        hint="end it, then run the same command again",
    )
