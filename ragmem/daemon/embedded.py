"""A process that has a memory open anyway, `ragmem serve`, in the place of the warm process."""

import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ragmem import client
from ragmem.client import starting
from ragmem.daemon.endpoint import Endpoint
from ragmem.daemon.log import Log
from ragmem.daemon.maintenance import Maintenance
from ragmem.daemon.server import Server
from ragmem.daemon.state import ANSWERED, Home
from ragmem.daemon.status import stamps, status

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

PATIENCE_S = 10.0
"""Seconds that a warm process has to end when this takes its place."""

PAUSE_S = 0.02

CLAIMED_S = 0.5
"""Seconds until it is said once more that this waits for the place."""

AGAIN_S = 30.0
"""Seconds after the place was given up until it is taken again, if nobody else has it."""

LOOK_S = 5.0

GRACE_S = 0.7
"""Seconds that running answers have when the place is given up."""


class EmbeddedServer:
    """Answers hooks, tools and the command line on the home's socket, from a memory that stays the caller's.

    The warm process that is there is asked to end first. Who asks with other settings, or another version,
    makes this give the place up, and gets a warm process of its own.
    """

    def __init__(self, memory: "Ragmem", *, warn: Callable[[str], None]) -> None:
        self._memory = memory
        self._warn = warn
        self._data = str(memory.settings.places.data)
        self._config = memory.settings.places.config
        self._configuration = stamps(self._config)
        self._identity = client.identity()
        self._born = time.time()
        self._log = Log(memory.settings.places.state)
        self._home = Home(lambda: memory, self._log)
        self._ending = threading.Event()
        self._server: Server | None = None
        self._upkeep: Maintenance | None = None
        self._thread = threading.Thread(target=self._live, name="socket", daemon=True)

    def begin(self) -> None:
        """Take the place, in a thread; nothing is done where there is to be no warm process."""
        if client.wanted():
            self._thread.start()

    def end(self) -> None:
        """Give the place up, once what is being answered is answered."""
        self._ending.set()
        if self._server is not None:
            self._server.end("serve ends")
        if self._thread.is_alive():
            self._thread.join()

    def _live(self) -> None:
        try:
            self._home.load()
            post = self._taken(PATIENCE_S)
            if post is None and not self._ending.is_set():
                self._warn("another process answers hooks and the command line, and does not end")
            while not self._ending.is_set():
                if post is not None:
                    self._log.write(f"serve gave the socket up: {self._hold(post)}")
                self._ending.wait(AGAIN_S)
                post = None if self._is_old() or self._ending.is_set() else self._taken(0)
        except OSError as error:
            # A folder that others may use, no room for a socket: hooks go on as they would without this.
            self._log.failed("serve does not answer hooks", error)

    def _taken(self, patience: float) -> Endpoint | None:
        """Return the place of the home's process, once nobody else has it; None where somebody keeps it."""
        place = client.place_of(self._data)
        until = time.monotonic() + patience
        while not self._ending.is_set():
            lock = starting.locked(place)
            if lock is not None:
                return Endpoint(place, lock)
            if time.monotonic() >= until:
                return None
            starting.claim(place)
            client.stop(self._data, deadline=min(until, time.monotonic() + CLAIMED_S))
            time.sleep(PAUSE_S)
        return None

    def _hold(self, post: Endpoint) -> str:
        """Answer until something ends it, and return what."""
        try:
            listening = post.listen()
        except OSError:
            # Clients would wait for who has the lock.
            post.let_go()
            raise
        post.record(f"{self._born:.0f}", self._identity, client.SERVES)
        post.succeeded()
        self._server = server = Server(listening, answer=self._home.answer, at_once=self._at_once)
        self._upkeep = Maintenance(self._home.loaded, server.idle_s, self._log)
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
                post.leave()
            post.let_go()

    def _at_once(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Answer what needs no memory; None for what the memory answers."""
        assert self._server is not None
        assert self._upkeep is not None
        operation = request.get("op")
        if operation == "stop":
            self._server.end("it was told to")
            return {"process": os.getpid()}
        if operation != "status" and request.get("identity") not in (None, self._identity):
            self._server.end("another version asks")
            return {"ends": "another version"}
        if operation != "status" and self._is_old():
            self._server.end("its settings have changed")
            return {"ends": "other settings"}
        if operation in ANSWERED:
            return None
        if operation == "drain":
            self._upkeep.poke()
        told = status(self._identity, began=self._born, idle_s=self._server.idle_s(), ready=True)
        return {**told, "serves": True}

    def _is_old(self) -> bool:
        return stamps(self._config) != self._configuration
