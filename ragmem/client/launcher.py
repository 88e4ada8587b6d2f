"""Start the warm process of a home, unless one runs or the latest starts failed."""

import fcntl
import os
import sys
import time

import ragmem
from ragmem.client.runtime import HEIR, LOCK, WAITS_S, make_private

FIRST_DEATHS = 2
"""Starts in a row that may fail before the next has to wait."""

LONGEST_RESPITE = 300
"""Maximum seconds between two starts after many failures."""


def start(place: str, data: str) -> int:
    """Start the process; return the id of the child that does it, 0 if another process is ahead.

    Only the holder of the lock may start the process, and hands the lock over to it: two can never have it.
    Raises OSError if it cannot be started, or has failed too often just now.
    """
    if _is_claimed(place):
        return 0
    lock = acquire_lock(place)
    if lock is None:
        return 0
    try:
        _count_start(lock)
        return _spawn(data, lock)
    finally:
        os.close(lock)


def acquire_lock(place: str) -> "int | None":
    """Return the lock of a runtime folder, held until it is closed; None if another process has it.

    Raises OSError for a folder that others may use.
    """
    make_private(os.path.dirname(place))
    make_private(place)
    try:
        lock = os.open(f"{place}/{LOCK}", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        # A process that has just ended removed the folder.
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.stat(f"{place}/{LOCK}")):
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(lock)
    return None


def claim(place: str) -> None:
    """Keep clients from starting a process for WAITS_S; they check more often and would always win.

    Raises OSError for a folder that others may use.
    """
    make_private(os.path.dirname(place))
    make_private(place)
    mark = os.open(f"{place}/{HEIR}", os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.utime(mark)
    finally:
        os.close(mark)


def _is_claimed(place: str) -> bool:
    try:
        return 0 <= time.time() - os.stat(f"{place}/{HEIR}").st_mtime < WAITS_S
    except OSError:
        return False


def _count_start(lock: int) -> None:
    """Count the starts that did not succeed; raises OSError if it is too early for the next."""
    deaths, at = ([*os.pread(lock, 64, 0).split(), b"0", b"0"])[:2]
    count, now = int(deaths), int(time.time())
    if count >= FIRST_DEATHS and 0 <= now - int(at) < min(LONGEST_RESPITE, 2**count):
        raise OSError("it ended as soon as it was started")
    os.ftruncate(lock, 0)
    os.pwrite(lock, b"%d %d" % (count + 1, now), 0)


def _spawn(data: str, lock: int) -> int:
    # Not `-m`, which would look for modules in the working folder: a project's, perhaps a stranger's.
    program = os.path.join(os.path.dirname(ragmem.__file__), "daemon", "__main__.py")
    os.set_inheritable(lock, True)
    nowhere = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0)]
    nowhere += [(os.POSIX_SPAWN_DUP2, 0, number) for number in (1, 2)]  # type: ignore[misc]
    words = [sys.executable, "-P", program, os.path.abspath(data), str(lock)]
    try:
        return os.posix_spawn(sys.executable, words, os.environ, file_actions=nowhere, setsid=True)
    except NotImplementedError:
        # It leaves this session itself, a moment later.
        return os.posix_spawn(sys.executable, words, os.environ, file_actions=nowhere)


def reap(child: int) -> None:
    """Reap a child that `start` returned, if it has ended."""
    try:
        os.waitpid(child, os.WNOHANG)
    except ChildProcessError:
        return
