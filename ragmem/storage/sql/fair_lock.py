"""A fair (first in, first out) lock file for processes and threads.

A waiter holds a lock on its own ticket, and takes the lock file once no earlier ticket is held. The kernel
frees the locks of a process that dies, so that a ticket counts while its owner lives. Tickets only determine
the order: the lock file itself guarantees mutual exclusion, also against a ragmem without tickets.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragmem.errors import StorageError, StoreBusyError

COUNTER = "counter"
"""The file that holds the last number; its lock is held, for microseconds, while a ticket is drawn."""

FIRST_PAUSE = 0.0002
LONGEST_PAUSE = 0.0015
"""Seconds between two attempts of the first waiter: up to about 1 % of a core."""

PAUSE_PER_PLACE = 0.001
LONGEST_PAUSE_BEHIND = 0.01
"""Seconds between two attempts of the others, since each one before them writes to the disk first."""

UNQUEUED_PAUSE = 0.05
"""Seconds between two attempts of `lock_within`."""

STALLED_AFTER = 100
"""Attempts in a row with a free lock file and the same first ticket, after which that ticket is skipped."""

DRAWING = 0.5
"""Seconds that drawing a ticket may take; after that the process that draws one must have been stopped."""


@contextmanager
def turn(lock: Path, *, timeout: float) -> Iterator[None]:
    """Wait for this caller's turn and hold the lock file until the block ends.

    Not reentrant: a second call in one thread waits for the first. Raises StoreBusyError after `timeout`
    seconds, StorageError where the lock file cannot be created.
    """
    folder = f"{str(lock).removesuffix('.lock')}.queue"
    descriptor = None
    try:
        # Without a ticket this caller is ahead of everyone who draws one from now on.
        if not _numbers(folder):
            descriptor = take(lock)
        if descriptor is None:
            descriptor = _wait(lock, folder, timeout)
    except OSError as error:
        raise StorageError(
            f'cannot write in "{lock.parent}": {str(error.strerror).lower()}',
            hint="check free space and permissions, or set RAGMEM_HOME to another folder",
        ) from error
    try:
        yield
    finally:
        _release(descriptor)


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file; return False if another holds it."""
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_within(descriptor: int, timeout: float) -> bool:
    """Lock an open file, without a queue; return False if another holds it for `timeout` seconds."""
    end = time.monotonic() + timeout
    while not try_lock(descriptor):
        if time.monotonic() > end:
            return False
        time.sleep(UNQUEUED_PAUSE)
    return True


def take(lock: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int | None:
    """Return the descriptor that holds a lock file or folder, None if another holds it. Raises OSError."""
    descriptor = os.open(lock, flags, 0o600)
    try:
        # A lock on a file that was removed or replaced meanwhile excludes nobody.
        if try_lock(descriptor) and os.path.samestat(os.fstat(descriptor), lock.stat()):
            return descriptor
    except FileNotFoundError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _release(descriptor: int) -> None:
    # Explicitly, because a forked child would keep the lock with its descriptor.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def is_held(path: Path | str) -> bool:
    """Return whether anybody holds the lock of a file; for a ticket, whether its owner is waiting."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two processes that check at the same time do not take each other for the owner.
        return not try_lock(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _wait(lock: Path, folder: str, timeout: float) -> int:
    deadline = time.monotonic() + timeout
    pause = FIRST_PAUSE
    stalled: tuple[int, int] = (0, 0)
    with _ticket(folder, deadline) as number:
        while True:
            first, places = _queue_before(folder, number)
            if not places:
                descriptor = take(lock)
                if descriptor is not None:
                    return descriptor
                rest = pause
                pause = min(pause * 2, LONGEST_PAUSE)
            else:
                rest = min(places * PAUSE_PER_PLACE, LONGEST_PAUSE_BEHIND)
                stalled = _look(lock, folder, first, stalled)
            left = deadline - time.monotonic()
            if left <= 0:
                raise _busy(lock, timeout)
            time.sleep(min(rest, left))


def _look(lock: Path, folder: str, first: int, before: tuple[int, int]) -> tuple[int, int]:
    """Return the first ticket and how often in a row it did not take a free lock file; finally remove it.

    Its owner was stopped (by ctrl-Z, say), and still holds its ticket; without it the queue continues, and
    the owner is first when it is resumed. Attempts are counted, and not time, because this process may have
    been stopped as well.
    """
    ticket, count = before
    if ticket != first or is_held(lock):
        return (first, 0)
    if count + 1 >= STALLED_AFTER:
        _remove(folder, first)
    return (first, count + 1)


@contextmanager
def _ticket(folder: str, deadline: float) -> Iterator[int]:
    """Yield a number above all earlier ones; its ticket is held until the block ends."""
    try:
        number, descriptor = _draw(folder, min(deadline, time.monotonic() + DRAWING))
    except OSError:
        # A full disk, no descriptor left: an unfair turn is better than none, and the writer may free space.
        yield 0
        return
    try:
        yield number
    finally:
        _remove(folder, number)
        _release(descriptor)


def _draw(folder: str, deadline: float) -> tuple[int, int]:
    """Return a new number and the descriptor that holds its ticket; remove the tickets of the dead."""
    Path(folder).mkdir(mode=0o700, exist_ok=True)
    counter = os.open(f"{folder}/{COUNTER}", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while not try_lock(counter):
            if time.monotonic() > deadline:
                raise BlockingIOError
            time.sleep(FIRST_PAUSE)
        numbers = _numbers(folder)
        for other in numbers:
            if not is_held(_path(folder, other)):
                _remove(folder, other)
        last = os.pread(counter, 20, 0)
        number = max([int(last) if last.isdigit() else 0, *numbers]) + 1
        # From a counter, because the former owner of a reused number could remove the new ticket.
        os.pwrite(counter, f"{number:020d}".encode(), 0)
        descriptor = os.open(_path(folder, number), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return number, descriptor
    finally:
        _release(counter)


def _path(folder: str, number: int) -> str:
    return f"{folder}/{number}"


def _remove(folder: str, number: int) -> None:
    Path(_path(folder, number)).unlink(missing_ok=True)


def _numbers(folder: str) -> list[int]:
    """Return the numbers of all tickets, including those of dead processes, in order."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - each writer pays for it, and a Path for each name costs more
    except OSError:  # nobody has ever waited here, or nobody can
        return []
    return sorted(int(name) for name in names if name.isdecimal())


def _queue_before(folder: str, number: int) -> tuple[int, int]:
    """Return the first held ticket and its distance to a number; (0, 0) for none."""
    before = [other for other in _numbers(folder) if other < number]
    for place, other in enumerate(before):
        if is_held(_path(folder, other)):
            return other, len(before) - place
    return 0, 0


def _busy(lock: Path, timeout: float) -> StoreBusyError:
    hint = "try again in a moment"
    process = holder(lock)
    if process is not None:
        hint = f"try again in a moment; process {process} is writing"
        if _is_stopped(process):
            hint = f"process {process} is stopped in the middle: `kill -CONT {process}` resumes it"
    return StoreBusyError(f"another process has been writing for {timeout:g} s", hint=hint)


def leftovers(lock: Path) -> list[Path]:
    """Return the tickets whose owner is dead; the next writer that has to wait removes them."""
    folder = f"{str(lock).removesuffix('.lock')}.queue"
    paths = [_path(folder, number) for number in _numbers(folder)]
    return [Path(path) for path in paths if not is_held(path) and Path(path).exists()]


def holder(lock: Path) -> int | None:
    """Return the process that holds a lock file, None where it is free or unknown."""
    try:
        inode = str(lock.stat().st_ino)
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        # 1: FLOCK  ADVISORY  WRITE 12345 fe:01:131077 0 EOF; in the line of one that waits "->" comes second
        words = line.split()
        if words[1] == "FLOCK" and words[5].rpartition(":")[2] == inode and int(words[4]) > 0:
            return int(words[4])
    return None


def _is_stopped(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] in {"T", "t"}
