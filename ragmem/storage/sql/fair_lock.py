"""A fair queue before a lock file: who asks first gets it first, among processes and threads.

A waiter holds a lock on a ticket of its own, and takes the lock file once no earlier ticket is held. The
kernel frees the locks of a process that dies, however it dies, so a ticket counts for as long as its owner
lives. Only the order rests on the tickets: that one has the lock at a time is the lock file's doing, also
against a ragmem that knows nothing of tickets.
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
"""Seconds between two looks of the one whose turn is next: at most about 1 % of a core while it waits."""

PAUSE_PER_PLACE = 0.001
LONGEST_PAUSE_BEHIND = 0.01
"""Seconds between two looks of the others: each one before will first write to the disk."""

STALLED_AFTER = 100
"""Looks in a row that find the lock file free and the same ticket first, until that ticket is passed over."""

DRAWING = 0.5
"""Seconds that drawing a ticket may take; longer, and whoever draws was stopped just there."""


@contextmanager
def turn(lock: Path, *, timeout: float) -> Iterator[None]:
    """Hold the lock file from when it is this caller's turn until the block ends.

    Not reentrant: a second call in one thread waits for the first. Raises StoreBusyError after `timeout`
    seconds, StorageError where the lock file cannot be made.
    """
    folder = f"{str(lock).removesuffix('.lock')}.queue"
    descriptor = None
    try:
        # Who finds no ticket has come before everyone who draws one from now on.
        if not _numbers(folder):
            descriptor = _take(lock)
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


def _take(lock: Path) -> int | None:
    """Return the descriptor that holds the lock file, None while another one does."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # A lock on a file that was removed or replaced meanwhile keeps nobody out.
        if os.path.samestat(os.fstat(descriptor), lock.stat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _release(descriptor: int) -> None:
    # Said explicitly, because a child that was forked meanwhile would keep the lock with its descriptor.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _is_held(path: Path | str) -> bool:
    """Tell whether anybody holds the lock of a file: of a ticket, whether its owner lives and waits."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two who look at the same time don't take each other for the owner.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _wait(lock: Path, folder: str, timeout: float) -> int:
    deadline = time.monotonic() + timeout
    pause = FIRST_PAUSE
    stalled: tuple[int, int] = (0, 0)
    with _ticket(folder, deadline) as number:
        while True:
            first, places = _queue_before(folder, number)
            if not places:
                descriptor = _take(lock)
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
    """Return the first ticket and how often in a row it did not take a free lock file; at last, remove it.

    Its owner was stopped (by ctrl-Z, say). It lives, so its ticket is held; without it the queue goes on, and
    the owner, once it goes on, is as good as first. Looks are counted, and not time, because this process may
    have been stopped together with it.
    """
    ticket, count = before
    if ticket != first or _is_held(lock):
        return (first, 0)
    if count + 1 >= STALLED_AFTER:
        _remove(folder, first)
    return (first, count + 1)


@contextmanager
def _ticket(folder: str, deadline: float) -> Iterator[int]:
    """Give a number that is higher than all before it; its ticket is held until the block ends."""
    try:
        number, descriptor = _draw(folder, min(deadline, time.monotonic() + DRAWING))
    except OSError:
        # A full disk, no descriptor left: unfair is better than refused, and what waits may well free space.
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
        while True:
            try:
                fcntl.flock(counter, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(FIRST_PAUSE)
        numbers = _numbers(folder)
        for other in numbers:
            if not _is_held(_path(folder, other)):
                _remove(folder, other)
        last = os.pread(counter, 20, 0)
        number = max([int(last) if last.isdigit() else 0, *numbers]) + 1
        # Counted, and not only one above the others: a number that came twice could be removed by the former.
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
    """Return the numbers of all tickets, those of the dead among them, in order."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - each writer pays for it, and a Path for each name costs more
    except OSError:  # nobody has ever waited here, or nobody can
        return []
    return sorted(int(name) for name in names if name.isdecimal())


def _queue_before(folder: str, number: int) -> tuple[int, int]:
    """Return the first ticket that is held and how many lie from there to a number; (0, 0) for none."""
    before = [other for other in _numbers(folder) if other < number]
    for place, other in enumerate(before):
        if _is_held(_path(folder, other)):
            return other, len(before) - place
    return 0, 0


def _busy(lock: Path, timeout: float) -> StoreBusyError:
    hint = "try again in a moment"
    process = holder(lock)
    if process is not None:
        hint = f"try again in a moment; process {process} is writing"
        if _is_stopped(process):
            hint = f"process {process} is stopped in the middle: `kill -CONT {process}` lets it go on"
    return StoreBusyError(f"another process has been writing for {timeout:g} s", hint=hint)


def leftovers(lock: Path) -> list[Path]:
    """Return the tickets whose owner is dead; the next writer that has to wait removes them."""
    folder = f"{str(lock).removesuffix('.lock')}.queue"
    paths = [_path(folder, number) for number in _numbers(folder)]
    return [Path(path) for path in paths if not _is_held(path) and Path(path).exists()]


def holder(lock: Path) -> int | None:
    """Return the process that holds a lock file, None where none does or the system does not tell."""
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
