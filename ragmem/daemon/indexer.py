"""Embed pending memories in a separate process, because the engine would stay loaded in this one."""

import fcntl
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragmem.domain.model import State
from ragmem.hooks import spawn
from ragmem.hooks.drain import LOCK

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

NICE = 15

LOOK_S = 0.05
"""Seconds between two checks whether it is done."""

_WORDS = ("ingest", "--drain", "--quiet")


def count_pending(memory: "Ragmem") -> int:
    """Return how many memories have no vectors yet."""
    return len(memory.catalog.memories.ids(states=[State.PENDING])) if memory.catalog.exists() else 0


def index(memory: "Ragmem", is_stopped: Callable[[], bool]) -> bool:
    """Run the index in a process of low priority and wait for it, or stop it; False where one runs already.

    The memories that it had finished when it was stopped are stored.
    """
    try:
        with _lock(memory):
            child = os.posix_spawn(
                sys.executable, [sys.executable, "-P", "-m", "ragmem", *_WORDS], os.environ
            )
            os.setpriority(os.PRIO_PROCESS, child, NICE)
            while os.waitpid(child, os.WNOHANG)[0] == 0:
                if is_stopped():
                    os.kill(child, signal.SIGTERM)
                time.sleep(LOOK_S)
    except BlockingIOError:
        return False
    return True


def start(memory: "Ragmem") -> bool:
    """Start the index in a process of low priority that outlives this one; False where one runs already.

    Raises OSError where no process can be started.
    """
    try:
        with _lock(memory) as lock:
            child = spawn.start(_WORDS, os.environ, folder=str(memory.settings.places.data), lock=lock)
            os.setpriority(os.PRIO_PROCESS, child, NICE)
    except BlockingIOError:
        return False
    return True


def is_running(memory: "Ragmem") -> bool:
    """Return whether a process makes the vectors of what waits."""
    try:
        with _lock(memory):
            return False
    except BlockingIOError:
        return True


@contextmanager
def _lock(memory: "Ragmem") -> Iterator[int]:
    """Hold the lock of the processes that index; raises BlockingIOError where one runs."""
    state = memory.settings.places.state
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(state / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield lock
    finally:
        os.close(lock)
