"""The life of a warm process: one a home, unseen by whoever started it, ended by what makes it old.

It holds the lock of its folder as long as it lives. What it leaves when it is killed (a socket nobody listens
on, a lock nobody holds) is replaced by the next.
"""

import gc
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.client import identity, place_of
from ragmem.config import offline
from ragmem.config.places import find_places
from ragmem.daemon.endpoint import Endpoint, inode
from ragmem.daemon.log import Log
from ragmem.daemon.maintenance import Maintenance
from ragmem.daemon.server import Server
from ragmem.daemon.state import ANSWERED, Home
from ragmem.daemon.status import own_memory, stamps, status
from ragmem.readers.failures import LOG

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

GRACE_S = 0.7
"""Seconds that running answers have when the process ends."""

LONGEST_LOOK = 5.0
"""Seconds between two looks at what may end it."""

TELLS_S = 2.0
"""Seconds for which one that could not be loaded waits for somebody to tell: whoever started it looks for it
every few milliseconds, and would start the next if it were gone."""

BYTES_PER_MB = 1024 * 1024


def live(data: str, lock: int) -> None:
    """Answer for the home of a data folder until something ends it; never returns."""
    Life(data, lock).run()
    os._exit(0)


class Life:
    """One warm process, from the lock that it was handed to its last answer."""

    def __init__(self, data: str, lock: int) -> None:
        self._data = data
        self._lock = lock
        self._post = Endpoint(place_of(data), lock)
        self._identity = identity()
        self._born = time.time()
        self._settle()
        if offline.is_requested(os.environ.get(offline.VARIABLE)):
            offline.go()
        self._places = find_places(os.environ, home=Path.home(), cwd=Path("/"))
        self._log = Log(self._places.state)
        self._configuration = stamps(self._places.config)
        self._folder = inode(data)
        self._idle_s = 1800.0
        self._most_bytes = 0
        self._succeeded = False
        self._has_told = False
        self._home = Home(self._open_memory, self._log)
        self._server: Server

    def run(self) -> None:
        """Listen, load, answer, end."""
        if self._places.data.resolve() != Path(self._data).resolve():
            self._log.write(f'the settings lead to "{self._places.data}", not to "{self._data}"')
            return
        listening = self._post.listen()
        self._server = server = Server(listening, answer=self._answer, at_once=self._at_once)
        self._upkeep = Maintenance(self._home.loaded, server.idle_s, self._log)
        signal.set_wakeup_fd(server.waking, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: server.end("a signal"))
        self._post.record(f"{self._born:.0f}", self._identity)
        threading.Thread(target=self._load, name="load", daemon=True).start()
        self._upkeep.start()
        try:
            reason = server.serve(self._reason_to_end, every=self._every)
        except Exception as error:  # noqa: BLE001 - the log is the one place where anybody would see it
            self._log.failed("serving", error)
            reason = "this is a bug in ragmem"
        self._end(reason)

    def _settle(self) -> None:
        """Keep nothing of whoever started this: neither its folder nor its files, signals and session."""
        here = os.getcwd() if _can_be_named() else "/"
        if chosen := os.environ.get("RAGMEM_HOME"):
            os.environ["RAGMEM_HOME"] = chosen if chosen.startswith("~") else str(Path(here, chosen))
        os.environ.pop("RAGMEM_SESSION", None)
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        os.umask(0o077)
        os.chdir("/")
        os.set_inheritable(self._lock, False)
        os.closerange(3, self._lock)
        os.closerange(self._lock + 1, self._lock + 1024)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def _load(self) -> None:
        # What is imported stays: to look through it again and again costs a tenth of the start.
        gc.disable()
        try:
            self._home.load()
        finally:
            gc.freeze()
            gc.enable()
            self._server.look()

    def _open_memory(self) -> "Ragmem":
        from ragmem.api.memory import Ragmem

        LOG.folder = self._places.state
        memory = Ragmem.open(cwd=Path("/"))
        self._idle_s = memory.settings.warm.idle_minutes * 60
        self._most_bytes = int(memory.settings.warm.max_memory_mb * BYTES_PER_MB)
        self._server.look()
        return memory

    def _at_once(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Answer what needs no memory; None for a question."""
        operation = request.get("op")
        if operation == "stop":
            self._server.end("it was told to")
            return {"process": os.getpid()}
        if operation == "status":
            # Whoever looks at it, with whatever settings, changes nothing.
            return self._status()
        if request.get("identity") not in (None, self._identity):
            self._server.end("another version asks")
            return {"ends": "another version"}
        if stamps(self._places.config) != self._configuration:
            self._server.end("its settings have changed")
            return {"ends": "other settings"}
        if operation == "drain":
            self._upkeep.poke()
        elif operation in ANSWERED:
            return None
        return self._status()

    def _answer(self, request: dict[str, Any], due: float) -> dict[str, Any]:
        told = self._home.answer(request, due)
        if self._home.is_broken:
            self._has_told = True
            self._server.look()
        if not self._succeeded and "error" not in told:
            self._succeeded = True
            self._post.succeeded()
        return told

    def _status(self) -> dict[str, Any]:
        ready = self._home.is_ready()
        told = status(self._identity, began=self._born, idle_s=self._server.idle_s(), ready=ready)
        return {**told, "ends_after_s": self._idle_s}

    def _every(self) -> float:
        longest = TELLS_S / 4 if self._home.is_broken else LONGEST_LOOK
        return max(0.05, min(longest, self._idle_s / 4))

    def _reason_to_end(self) -> str:
        """Return what ends this process now; nothing while nothing does."""
        if not self._post.is_held():
            return "its files were removed or replaced"
        if inode(self._data) != self._folder:
            return "its home is gone"
        if self._most_bytes and own_memory() > self._most_bytes:
            return "it holds too much memory"
        if self._home.is_broken and (self._has_told or self._server.idle_s() > TELLS_S):
            return "it could not be loaded"
        busy = not self._home.is_ready() or self._upkeep.is_busy()
        return "nobody asks" if not busy and self._server.idle_s() > self._idle_s else ""

    def _end(self, reason: str) -> None:
        """Answer what is being answered, then leave nothing behind."""
        alone = self._post.is_held()
        finished = self._server.close(grace=GRACE_S)
        self._upkeep.stop()
        if finished and self._home.is_ready():
            self._home.close()
        self._log.write(f"ended: {reason}")
        if alone:
            # Where it was broken the next start is to wait, if it was not the first.
            self._post.leave(with_lock=not self._home.is_broken)


def _can_be_named() -> bool:
    try:
        os.getcwd()
    except OSError:
        return False
    return True
