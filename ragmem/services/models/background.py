"""Make vectors in a background process that survives the terminal."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from ragmem.errors import StorageError, StoreBusyError, os_errors_as
from ragmem.services.models.reembed import reembedding_pid

LOG_NAME = "models.log"
"""The log file of the process in the state folder."""

MOST_LOG_BYTES = 1_000_000
"""A larger log begins anew."""

COMMAND = ("models", "resume", "--background")

_POLL_S = 0.05

_START_TIMEOUT_S = 10.0
"""Seconds for the start of the process on a busy machine; usually it takes one."""


def start(home: Path, log: Path) -> int:
    """Start the process and return its number; it continues an unfinished change, and writes to the log.

    Returns when it works in the home, so that a later change of the model can end it, or when it has ended.
    Raises StorageError if the log cannot be written.
    """
    with os_errors_as(StorageError, f'write "{log}"', hint="or make the vectors here: ragmem models resume"):
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        anew = log.exists() and log.stat().st_size > MOST_LOG_BYTES
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if anew else os.O_APPEND), 0o600)
    with open(descriptor, "ab") as file:  # noqa: PTH123 - it is open already
        process = subprocess.Popen(  # noqa: S603 - ourselves
            # -P: never import from the current folder, which may belong to anybody.
            [sys.executable, "-P", "-m", "ragmem", *COMMAND],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    deadline = time.monotonic() + _START_TIMEOUT_S
    while reembedding_pid(home) != process.pid and process.poll() is None and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    # Not waited for: the process outlives this one.
    process.returncode = 0
    return process.pid


def stop(home: Path, *, patience: float) -> bool:
    """End the background process of this home, and return whether there was one; its vectors stay.

    Raises StoreBusyError if it does not end, or belongs to another user or machine.
    """
    process = reembedding_pid(home)
    if not process:
        return False
    deadline = time.monotonic() + patience
    before = 0
    while process := reembedding_pid(home):
        try:
            # A new holder of the lock may not have replaced the previous number yet, which may belong to any
            # process by now: only a stable number is trusted.
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
        f"the process {process} makes vectors of another model, and does not stop",
        hint="stop it, then run the same command again",
    )
