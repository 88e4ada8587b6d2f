"""`ragmem serve` replaces the warm process, because it has a memory open anyway."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ragmem import client
from ragmem.client import launcher, runtime
from ragmem.daemon.endpoint import Endpoint
from ragmem.daemon.log import Log
from ragmem.daemon.maintenance import Maintenance
from ragmem.daemon.server import Server
from ragmem.daemon.state import Home
from ragmem.daemon.status import control, stamps, status

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

PATIENCE_S = 10.0
"""Seconds that a warm process has to end when the server replaces it."""

PAUSE_S = 0.02

CLAIM_S = 0.5
"""Seconds until the claim on the lock is repeated."""

RETRY_S = 30.0
"""Seconds after the lock was released until it is acquired again, if it is free."""

LOOK_S = 5.0

GRACE_S = 0.7
"""Seconds that running answers have when the lock is released."""


class EmbeddedServer:
    """Answers hooks, tools and the command line on the home's socket from a memory that the caller owns.

    It first asks a running warm process to end. When a client has other settings or another version, it
    releases the lock, and that client starts a warm process.
    """

    def __init__(self, memory: "Ragmem", *, warn: Callable[[str], None]) -> None:
        self._memory = memory
        self._warn = warn
        self._data = str(memory.settings.places.data)
        self._config = memory.settings.places.config
        self._configuration = stamps(self._config)
        self._identity = runtime.identity()
        self._born = time.time()
        self._log = Log(memory.settings.places.state)
        self._home = Home(lambda: memory, self._log)
        self._ending = threading.Event()
        self._server: Server | None = None
        self._upkeep: Maintenance | None = None
        self._thread = threading.Thread(target=self._run, name="socket", daemon=True)

    def begin(self) -> None:
        """Acquire the lock in a thread; do nothing where the warm process is turned off."""
        if runtime.is_enabled():
            self._thread.start()

    def end(self) -> None:
        """Finish the running answers and release the lock."""
        self._ending.set()
        if self._server is not None:
            self._server.end("serve ends")
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            self._home.load()
            post = self._acquire(PATIENCE_S)
            if post is None and not self._ending.is_set():
                self._warn("another process answers hooks and the command line, and does not end")
            while not self._ending.is_set():
                if post is not None:
                    self._log.write(f"serve released the socket: {self._serve(post)}")
                self._ending.wait(RETRY_S)
                post = None if self._is_old() or self._ending.is_set() else self._acquire(0)
        except OSError as error:
            # Perhaps the folder is not private, or the disk is full: hooks work without this server.
            self._log.write_error("serve does not answer hooks", error)

    def _acquire(self, patience: float) -> Endpoint | None:
        """Return the endpoint once the lock is free; None where another process keeps it."""
        place = runtime.runtime_folder(self._data)
        until = time.monotonic() + patience
        while not self._ending.is_set():
            lock = launcher.acquire_lock(place)
            if lock is not None:
                return Endpoint(place, lock)
            if time.monotonic() >= until:
                return None
            launcher.claim(place)
            client.stop(self._data, deadline=min(until, time.monotonic() + CLAIM_S))
            time.sleep(PAUSE_S)
        return None

    def _serve(self, post: Endpoint) -> str:
        """Answer until something ends it; return the reason."""
        try:
            listening = post.listen()
        except OSError:
            # Clients would wait for the owner of the lock.
            post.release_lock()
            raise
        post.record(f"{self._born:.0f}", self._identity, runtime.SERVES)
        post.clear_failures()
        self._server = server = Server(listening, answer=self._home.answer, at_once=self._at_once)
        self._upkeep = Maintenance(self._home.wait_for_memory, server.idle_s, self._log)
        self._upkeep.start()
        if self._ending.is_set():
            server.end("serve ends")
        try:
            return server.serve(
                lambda: "" if post.is_held() else "its files were removed", every=lambda: LOOK_S
            )
        finally:
            held = post.is_held()
            server.close(grace=GRACE_S)
            self._upkeep.stop()
            self._server = None
            server.release()
            if held:
                post.remove_files()
            post.release_lock()

    def _at_once(self, request: dict[str, Any]) -> dict[str, Any] | None:
        assert self._server is not None
        assert self._upkeep is not None
        return control(
            request,
            self._server,
            self._upkeep,
            identity=self._identity,
            is_old=self._is_old,
            report=self._status,
        )

    def _status(self) -> dict[str, Any]:
        assert self._server is not None
        own = status(self._identity, began=self._born, idle_s=self._server.idle_s(), ready=True)
        return {**own, "serves": True}

    def _is_old(self) -> bool:
        return stamps(self._config) != self._configuration
