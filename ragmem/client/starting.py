"""Start the warm process of a home, unless there is one, or starts were in vain too often just now."""

import fcntl
import os
import sys
import time

import ragmem
from ragmem.client.place import HEIR, LOCK, WAITS_S, make_private

FIRST_DEATHS = 2
"""Starts in a row that may fail before the next has to wait."""

LONGEST_RESPITE = 300
"""Seconds between two starts where one after the other failed."""


def start(place: str, data: str) -> int:
    """Start the process unless there is one; return the child that does it, 0 where somebody else is ahead.

    Who holds the lock has the right to start, and hands the lock over to what it starts: at no moment can two
    have it. Raises OSError where it cannot be, and where it has failed too often just now.
    """
    if _is_claimed(place):
        return 0
    lock = locked(place)
    if lock is None:
        return 0
    try:
        _count_start(lock)
        return _spawn(data, lock)
    finally:
        os.close(lock)


def locked(place: str) -> "int | None":
    """Return the lock of a place, which is held until it is closed; None where somebody else has it.

    Raises OSError where it cannot be: a folder that others may use.
    """
    make_private(os.path.dirname(place))
    make_private(place)
    try:
        lock = os.open(f"{place}/{LOCK}", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        # The folder went with a process that has just ended.
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
    """Let nobody start a process for WAITS_S: clients, who look more often, would always be ahead.

    Raises OSError where it cannot be: a folder that others may use.
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
    """Count the starts that nobody saw succeed; raises OSError where it is too early for the next."""
    deaths, at = ([*os.pread(lock, 64, 0).split(), b"0", b"0"])[:2]
    count, now = int(deaths), int(time.time())
    if count >= FIRST_DEATHS and 0 <= now - int(at) < min(LONGEST_RESPITE, 2**count):
        raise OSError("it ended as soon as it was started")
    os.ftruncate(lock, 0)
    os.pwrite(lock, b"%d %d" % (count + 1, now), 0)


def _spawn(data: str, lock: int) -> int:
    # Not `-m`, which would look for modules in the folder of whoever asks: a project's, perhaps a stranger's.
    program = os.path.join(os.path.dirname(ragmem.__file__), "daemon", "__main__.py")
    os.set_inheritable(lock, True)
    nowhere = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0)]
    nowhere += [(os.POSIX_SPAWN_DUP2, 0, number) for number in (1, 2)]  # type: ignore[misc]
    words = [sys.executable, "-P", program, os.path.abspath(data), str(lock)]
    try:
        return os.posix_spawn(sys.executable, words, os.environ, file_actions=nowhere, setsid=True)
    except NotImplementedError:
        # It leaves this session by itself, a moment later.
        return os.posix_spawn(sys.executable, words, os.environ, file_actions=nowhere)


def reap(child: int) -> None:
    """Bury a child that `start` returned, if it has ended."""
    try:
        os.waitpid(child, os.WNOHANG)
    except ChildProcessError:
        return
