"""Have the events in the spool processed: by the warm process, or by one that is started for it."""

import fcntl
import os
import time

from ragmem.config import hook_defaults
from ragmem.hooks import spawn, spool
from ragmem.hooks.log import open_in

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LOCK = "hooks.drain"
"""A file in a home's state folder, locked while a process started by a hook drains the spool."""


def was_recent(state: str, seconds: float) -> bool:
    """Return whether the last drain was requested less than `seconds` ago."""
    try:
        return 0 <= time.time() - os.stat(os.path.join(state, LOCK)).st_mtime < seconds
    except OSError:  # no drain was requested yet
        return False


def tell(data: str, state: str, environ: "Mapping[str, str]") -> str:
    """Have the warm process, or a new one, drain the spool; return which one does. Raises OSError.

    Two are never started at a time: a running one looks again before it ends.
    """
    from ragmem import client

    lock = open_in(state, os.path.join(state, LOCK), os.O_RDWR)
    try:
        os.utime(lock)
        if client.poke(data, "drain"):
            return "the warm process"
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return "the running drain"
        spawn.start(["ingest", "--drain", "--quiet"], environ, folder=data, lock=lock)
    finally:
        os.close(lock)
    return "a new drain"


def release(data: str, state: str, environ: "Mapping[str, str]", *, left: "Sequence[str]") -> None:
    """Release the lock of a drain that a hook started; start another drain if new events wait.

    A hook that found this drain running left its event to it, perhaps after its last look. The events in
    `left` wait for the next occasion. Does nothing in a process that was not started by a hook.
    """
    held = environ.get(hook_defaults.LOCK, "")
    if not held.isdecimal():
        return
    try:
        if not os.path.samestat(os.fstat(int(held)), os.stat(os.path.join(state, LOCK))):
            return
        os.close(int(held))
        if set(spool.list_events(data)).difference(left):
            tell(data, state, environ)
    except OSError:  # the home is gone, or no process can be started: the next hook tries again
        return
