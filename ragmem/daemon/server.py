"""Answer clients on a unix socket: short words at once, questions by workers, none behind a slow client."""

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

from ragmem.client import MOST_BYTES, peer

WORKERS = 2
"""Threads that answer hooks, and as many that answer everybody else, so that no hook waits behind a call of a
tool; each keeps a database connection, and Python runs one at a time."""

READING_S = 5.0
"""Seconds in which a client has to send its request."""

SENDING_S = 1.0
"""Seconds in which a client has to take its answer."""

MOST_CLIENTS = 128

LONGEST_WAIT_S = 60.0
"""Seconds for which an answer can be of use, whatever a client says."""

FULL_S = 0.01
"""Seconds until the next look where no descriptor is left for one who connects."""

Answerer = Callable[[dict[str, Any], float], dict[str, Any]]
"""Given a request and the moment of time.monotonic by which its answer is of use."""


@dataclass(slots=True)
class _Client:
    """A connection and what came by it so far."""

    connection: socket.socket
    since: float
    received: bytearray = field(default_factory=bytearray)


@dataclass(frozen=True, slots=True)
class _Job:
    """A request that a worker answers, if it comes to it while the answer is of use."""

    connection: socket.socket
    request: dict[str, Any]
    due: float


class Server:
    """The socket of a warm process; `serve` runs in the thread that made it, and ends when it is told to."""

    def __init__(
        self,
        listening: socket.socket,
        *,
        answer: Answerer,
        at_once: Callable[[dict[str, Any]], dict[str, Any] | None],
    ) -> None:
        """Answer a request by `at_once`, in the thread that listens, or where that is None by a worker."""
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
    def waking(self) -> int:
        """The descriptor that wakes the thread which listens when a byte is written to it."""
        return self._waking.fileno()

    def idle_s(self) -> float:
        """Return for how many seconds nobody asked anything; 0 while somebody does."""
        with self._guard:
            return 0.0 if self._open else time.monotonic() - self._last

    def end(self, reason: str) -> None:
        """Let `serve` return soon, from any thread."""
        self.ending = self.ending or reason
        self.look()

    def look(self) -> None:
        """Let `serve` look now whether anything ends it, from any thread."""
        self._next_look = 0.0
        try:
            self._waking.send(b"\0")
        except OSError:
            # Woken already, or released since.
            return

    def serve(self, look: Callable[[], str], *, every: Callable[[], float]) -> str:
        """Answer until something ends it, and return what; `look` is asked as often whether anything does."""
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
        """Listen no longer, and wait for the answers that are being made; tell whether all are."""
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
        """Close what else is open, where the process lives on; behind `close`."""
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
            if now - client.since > READING_S:
                self._forget(client)


def _send(connection: socket.socket, answer: dict[str, Any]) -> None:
    """Send an answer and close; a client that has left gets none."""
    with connection:
        connection.settimeout(SENDING_S)
        try:
            connection.sendall(json.dumps(answer).encode("ascii") + b"\n")
        except OSError:
            return
