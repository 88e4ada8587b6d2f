"""The warm process of a home: it is detached from its starter and ends when it is out of date.

It holds the lock of its folder as long as it runs. The files that a killed process leaves behind (a dead
socket, a free lock) are replaced by the next one.
"""

import gc
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.client.runtime import identity, runtime_folder
from ragmem.config import offline
from ragmem.config.places import find_places
from ragmem.daemon.endpoint import Endpoint, inode
from ragmem.daemon.log import Log
from ragmem.daemon.maintenance import Maintenance
from ragmem.daemon.server import Server
from ragmem.daemon.state import Home
from ragmem.daemon.status import BYTES_PER_MB, control, own_memory, stamps, status
from ragmem.readers.failures import LOG

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

GRACE_S = 0.7
"""Seconds that running answers have when the process ends."""

LONGEST_LOOK = 5.0
"""Seconds between two checks whether it must end."""

REPORT_S = 2.0
"""Seconds that a process which failed to load waits for a client to report to: its starter polls every few
milliseconds and would start the next one if it were gone."""


YOUNG_OBJECTS = 20_000
"""New objects after which the collector looks for cycles among them: a question makes some thousands."""


def settle() -> None:
    """Let the collector leave alone what is loaded, and look for cycles seldom: a question makes none."""
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])


def live(data: str, lock: int) -> None:
    """Run the warm process of a data folder; never returns."""
    WarmProcess(data, lock).run()
    os._exit(0)


class WarmProcess:
    """One warm process, from the inherited lock to its last answer."""

    def __init__(self, data: str, lock: int) -> None:
        self._data = data
        self._lock = lock
        self._post = Endpoint(runtime_folder(data), lock)
        self._identity = identity()
        self._born = time.time()
        self._detach()
        if offline.is_requested(os.environ.get(offline.VARIABLE)):
            offline.go()
        self._places = find_places(os.environ, home=Path.home(), cwd=Path("/"))
        self._log = Log(self._places.state)
        self._configuration = stamps(self._places.config)
        self._folder = inode(data)
        self._idle_s = 1800.0
        self._most_bytes = 0
        self._has_answered = False
        self._has_reported = False
        self._home = Home(self._open_memory, self._log)
        self._server: Server

    def run(self) -> None:
        """Listen, load, answer, end."""
        if self._places.data.resolve() != Path(self._data).resolve():
            self._log.write(f'the settings lead to "{self._places.data}", not to "{self._data}"')
            return
        listening = self._post.listen()
        self._server = server = Server(listening, answer=self._answer, at_once=self._at_once)
        self._upkeep = Maintenance(self._home.wait_for_memory, server.idle_s, self._log)
        signal.set_wakeup_fd(server.wakeup_fd, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: server.end("a signal"))
        self._post.record(f"{self._born:.0f}", self._identity)
        threading.Thread(target=self._load, name="load", daemon=True).start()
        self._upkeep.start()
        try:
            reason = server.serve(self._reason_to_end, every=self._every)
        except Exception as error:  # noqa: BLE001 - only the log can report it
            self._log.write_error("serving", error)
            reason = "this is a bug in ragmem"
        self._end(reason)

    def _detach(self) -> None:
        """Drop the folder, files, signals and session of the starter."""
        try:
            here = os.getcwd()
        except OSError:
            here = "/"
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
        # Imported modules stay: collecting them again and again costs a tenth of the start.
        gc.disable()
        try:
            self._home.load()
        finally:
            settle()
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
        """Answer an operation that needs no memory; None for one that needs it."""
        return control(
            request,
            self._server,
            self._upkeep,
            identity=self._identity,
            is_old=self._is_old,
            report=self._status,
        )

    def _is_old(self) -> bool:
        return stamps(self._places.config) != self._configuration

    def _answer(self, request: dict[str, Any], due: float) -> dict[str, Any]:
        answer = self._home.answer(request, due)
        if self._home.is_broken:
            self._has_reported = True
            self._server.look()
        if not self._has_answered and "error" not in answer:
            self._has_answered = True
            self._post.clear_failures()
        return answer

    def _status(self) -> dict[str, Any]:
        ready = self._home.is_ready()
        own = status(self._identity, began=self._born, idle_s=self._server.idle_s(), ready=ready)
        return {**own, "ends_after_s": self._idle_s}

    def _every(self) -> float:
        longest = REPORT_S / 4 if self._home.is_broken else LONGEST_LOOK
        return max(0.05, min(longest, self._idle_s / 4))

    def _reason_to_end(self) -> str:
        """Return why this process must end now; empty while it need not."""
        if not self._post.is_held():
            return "its files were removed or replaced"
        if inode(self._data) != self._folder:
            return "its home is gone"
        if self._most_bytes and own_memory() > self._most_bytes:
            return "it uses too much memory"
        if self._home.is_broken and (self._has_reported or self._server.idle_s() > REPORT_S):
            return "it could not be loaded"
        busy = not self._home.is_ready() or self._upkeep.is_busy()
        return "nobody asks" if not busy and self._server.idle_s() > self._idle_s else ""

    def _end(self, reason: str) -> None:
        """Finish the running answers, then remove the files."""
        alone = self._post.is_held()
        finished = self._server.close(grace=GRACE_S)
        self._upkeep.stop()
        if finished and self._home.is_ready():
            self._home.close()
        self._log.write(f"ended: {reason}")
        if alone:
            # After a failed load the next start waits, unless it was the first failure.
            self._post.remove_files(with_lock=not self._home.is_broken)
