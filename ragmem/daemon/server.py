"""Answer clients on a Unix socket: short requests at once, questions by workers; no client blocks another."""

import json
import os
import queue
import selectors
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ragmem.client.connection import MOST_BYTES, peer

WORKERS = 2
"""Threads for hooks, and as many for other requests, so that no hook waits behind the call of a tool. Each
keeps a database connection, and Python runs one at a time."""

RECEIVE_S = 5.0
"""Seconds in which a client must send its request."""

SEND_S = 1.0
"""Seconds in which a client must take its answer."""

MOST_CLIENTS = 128

LONGEST_WAIT_S = 60.0
"""Maximum seconds that a client may wait for an answer."""

FULL_S = 0.01
"""Seconds until the next attempt where no descriptor is left for a new connection."""

Answerer = Callable[[dict[str, Any], float], dict[str, Any]]
"""Takes a request and the deadline of its answer (time.monotonic)."""


@dataclass(slots=True)
class _Client:
    """A connection and the bytes received so far."""

    connection: socket.socket
    since: float
    received: bytearray = field(default_factory=bytearray)


@dataclass(frozen=True, slots=True)
class _Job:
    """A request that a worker answers before its deadline, or drops."""

    connection: socket.socket
    request: dict[str, Any]
    due: float


class Server:
    """The socket of a warm process; `serve` runs in the thread that made it, until `end` is called."""

    def __init__(
        self,
        listening: socket.socket,
        *,
        answer: Answerer,
        at_once: Callable[[dict[str, Any]], dict[str, Any] | None],
    ) -> None:
        """Answer a request by `at_once` in the listening thread, or by a worker where that gives None."""
        self._listening = listening
        self._answer = answer
        self._at_once = at_once
        self._selector = selectors.DefaultSelector()
        self._clients: dict[int, _Client] = {}
        self._hooks: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._others: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._open = 0
        self._last = time.monotonic()
        self._woken, self._waking = socket.socketpair()
        for end in (self._woken, self._waking, listening):
            end.setblocking(False)
        self._next_look = 0.0
        self.ending = ""

    @property
    def wakeup_fd(self) -> int:
        """The descriptor that wakes the listening thread when a byte is written to it."""
        return self._waking.fileno()

    def idle_s(self) -> float:
        """Return the seconds since the last request; 0 while one is open."""
        with self._guard:
            return 0.0 if self._open else time.monotonic() - self._last

    def end(self, reason: str) -> None:
        """Make `serve` return soon; callable from any thread."""
        self.ending = self.ending or reason
        self.look()

    def look(self) -> None:
        """Make `serve` check now whether it must end; callable from any thread."""
        self._next_look = 0.0
        try:
            self._waking.send(b"\0")
        except OSError:
            # It is awake already, or was released.
            return

    def serve(self, look: Callable[[], str], *, every: Callable[[], float]) -> str:
        """Answer until `look`, called `every` so many seconds, or `end` gives a reason; return that."""
        for jobs in (self._hooks, self._others) * WORKERS:
            threading.Thread(target=self._work, args=(jobs,), name="warm", daemon=True).start()
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        while not self.ending:
            now = time.monotonic()
            if now >= self._next_look:
                self.ending = self.ending or look()
                self._drop_slow(now)
                self._next_look = now + every()
                continue
            for key, _ in self._selector.select(self._next_look - now):
                if key.fileobj is self._listening:
                    self._accept()
                elif key.fileobj is self._woken:
                    self._woken.recv(64)
                else:
                    self._receive(self._clients[key.fd])
        return self.ending

    def close(self, *, grace: float) -> bool:
        """Stop listening and wait for the running answers; return whether all are done."""
        self._selector.unregister(self._listening)
        self._listening.close()
        for client in list(self._clients.values()):
            self._forget(client)
        for jobs in (self._hooks, self._others) * WORKERS:
            jobs.put(None)
        until = time.monotonic() + grace
        while time.monotonic() < until:
            with self._guard:
                if not self._open:
                    return True
            time.sleep(0.01)
        return False

    def release(self) -> None:
        """Close the other descriptors after `close`, where the process goes on."""
        self._selector.close()
        self._woken.close()
        self._waking.close()

    def _accept(self) -> None:
        try:
            connection, _ = self._listening.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError:
            time.sleep(FULL_S)
            return
        if peer(connection)[1] not in (None, os.geteuid()) or len(self._clients) >= MOST_CLIENTS:
            connection.close()
            return
        connection.setblocking(False)
        self._clients[connection.fileno()] = _Client(connection, time.monotonic())
        self._selector.register(connection, selectors.EVENT_READ)

    def _receive(self, client: _Client) -> None:
        try:
            part = client.connection.recv(65_536)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        client.received += part
        if part and not part.endswith(b"\n") and len(client.received) <= MOST_BYTES:
            return
        self._forget(client, close=False)
        if not part or len(client.received) > MOST_BYTES:
            client.connection.close()
            return
        self._take(client.connection, bytes(client.received))

    def _take(self, connection: socket.socket, line: bytes) -> None:
        try:
            request = json.loads(line)
        except ValueError:
            request = None
        if not isinstance(request, dict):
            _send(connection, {"error": "a request is one line of JSON, an object"})
            return
        if request.get("op") != "status":
            self._last = time.monotonic()
        answer = self._at_once(request)
        if answer is not None:
            _send(connection, answer)
            return
        wait = request.get("wait_ms", 0)
        seconds = wait / 1000 if isinstance(wait, int | float) else 0.0
        due = time.monotonic() + min(seconds, LONGEST_WAIT_S)
        with self._guard:
            self._open += 1
        jobs = self._hooks if request.get("op") == "context" else self._others
        jobs.put(_Job(connection, request, due))

    def _work(self, jobs: "queue.SimpleQueue[_Job | None]") -> None:
        while job := jobs.get():
            try:
                if time.monotonic() < job.due:
                    _send(job.connection, self._answer(job.request, job.due))
            finally:
                job.connection.close()
                with self._guard:
                    self._open -= 1
                    self._last = time.monotonic()

    def _forget(self, client: _Client, *, close: bool = True) -> None:
        self._selector.unregister(client.connection)
        del self._clients[client.connection.fileno()]
        if close:
            client.connection.close()

    def _drop_slow(self, now: float) -> None:
        for client in list(self._clients.values()):
            if now - client.since > RECEIVE_S:
                self._forget(client)


def _send(connection: socket.socket, answer: dict[str, Any]) -> None:
    """Send an answer and close the connection; a client that is gone gets none."""
    with connection:
        connection.settimeout(SEND_S)
        try:
            connection.sendall(json.dumps(answer).encode("ascii") + b"\n")
        except OSError:
            return
