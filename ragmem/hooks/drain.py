"""Let somebody take up what waits in the spool: the warm process, or one that is started for it."""

import fcntl
import os
import time

from ragmem.config import hooking
from ragmem.hooks import spawn, spool

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LOCK = "hooks.drain"
"""Below a home's state: locked while a process that a hook has started takes up what waits."""


def was_recent(state: str, seconds: float) -> bool:
    """Tell whether somebody was told so shortly ago that a turn of a session need not tell again."""
    try:
        return 0 <= time.time() - os.stat(os.path.join(state, LOCK)).st_mtime < seconds
    except OSError:  # nobody was told yet
        return False


def tell(data: str, state: str, environ: "Mapping[str, str]") -> str:
    """Let the warm process, or one that is started here, take up what waits; return who does. Raises OSError.

    Two are never started at a time: who runs already looks again before it ends.
    """
    from ragmem import client

    lock = _open_lock(state)
    try:
        os.utime(lock)
        if client.poke(data, "drain"):
            return "the warm process"
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return "one that runs"
        spawn.start(["ingest", "--drain", "--quiet"], environ, folder=data, lock=lock)
    finally:
        os.close(lock)
    return "one that was started"


def release(data: str, state: str, environ: "Mapping[str, str]", *, left: "Sequence[str]") -> None:
    """End the turn of a drain that a hook has started; another one begins where more has come since.

    A hook that found this one running has left its event to it, perhaps after the last look. What this one
    had to leave waits for the next occasion. Does nothing in a process that no hook has started.
    """
    held = environ.get(hooking.LOCK, "")
    if not held.isdecimal():
        return
    try:
        if not os.path.samestat(os.fstat(int(held)), os.stat(os.path.join(state, LOCK))):
            return
        os.close(int(held))
        if set(spool.waiting(data)).difference(left):
            tell(data, state, environ)
    except OSError:  # the home is gone, or nothing can be started: the next hook tries again
        return


def _open_lock(state: str) -> int:
    path = os.path.join(state, LOCK)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(state, 0o700, exist_ok=True)
        return os.open(path, flags, 0o600)
