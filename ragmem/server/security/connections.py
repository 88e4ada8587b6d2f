"""What a connection may take: how many there are, how long a request may come in, how finely it is cut.

Uvicorn bounds none of it by itself. A connection whose request has not come in whole, or that does not take
its answer, makes room for a new one when there are too many, the oldest first: so an honest client is
answered however many others only wait.
"""

import asyncio
import json
import logging
import resource
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ragmem.config.settings import ServeSettings
from ragmem.server.security.security_headers import add_security_headers

ACCEPTED_AT_ONCE = 64
"""Connections that are accepted before anything is read again: few enough that who is accepted among many is
heard before it would have to make room for the next."""

QUEUE = 2_048
"""Connections that wait to be accepted, if the system allows it; beyond it a client tries again by itself,
a second later."""

FEWEST = 256
RESERVED_FILES = 256
"""Files and sockets that the rest of the process may have open."""

HEAD_BYTES = 32 * 1024
MOST_HEADERS = 100

STALL_S = 30.0
"""Seconds that an answer may wait for its reader."""

LINGER_S = 2.0
"""Seconds for the rest of a body that was answered before it came in whole; nobody reads it."""

_FREE_PIECES, _BYTES_PER_PIECE = 512, 64
"""A body of more pieces than that, of fewer bytes each on average, costs more than it can be worth."""

# Every malformed request is a line at the level of a warning otherwise: a log that anybody can fill.
_LOGGER = logging.getLogger("uvicorn.error.connections")
_LOGGER.setLevel(logging.ERROR)

Phase: TypeAlias = Literal["head", "body", "rest", "answer", "idle"]


@dataclass(slots=True)
class Limits:
    """What all connections of a server share; times are in seconds."""

    connections: int
    head_s: float
    body_s: float
    waiting: dict["BoundedProtocol", None] = field(default_factory=dict)
    """Those that make room, the oldest first."""


def limits_of(settings: ServeSettings) -> Limits:
    """Return the limits of [serve], lowered to the number of files that this process may open."""
    return Limits(
        connections=room_for(settings.max_connections),
        head_s=settings.head_seconds,
        body_s=settings.body_seconds,
    )


def room_for(connections: int) -> int:
    """Return how many connections the process may have: fewer than asked for where files are scarce.

    The soft limit of open files is raised as far as that takes and the hard one allows.
    """
    beside = ACCEPTED_AT_ONCE + RESERVED_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    wanted = connections + beside
    if soft != unlimited and soft < wanted:
        soft = wanted if hard == unlimited else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections if soft == unlimited else max(FEWEST, min(connections, soft - beside))


class _Requests(h11.Connection):
    """Refuses what h11 lets through: two lengths of one body, very many headers, a body in crumbs."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        self._pieces = self._bytes = 0

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._pieces = self._bytes = 0
            names = [name for name, _ in event.headers]
            # H11 bounds what is incomplete only, and a whole head may come at once.
            size = len(event.target) + sum(len(name) + len(value) for name, value in event.headers)
            lengths = names.count(b"content-length") + names.count(b"transfer-encoding")
            if lengths > 1 or len(names) > MOST_HEADERS or size > HEAD_BYTES:
                raise h11.RemoteProtocolError("two lengths of one body, or too many headers")
        elif isinstance(event, h11.Data):
            self._pieces += 1
            self._bytes += len(event.data)
            if self._pieces > max(_FREE_PIECES, self._bytes // _BYTES_PER_PIECE):
                raise h11.RemoteProtocolError("the body comes in crumbs")
        return event


class BoundedProtocol(H11Protocol):
    """Uvicorn's protocol within Limits."""

    def __init__(self, *arguments: Any, limits: Limits, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = _Requests()
        self.logger = _LOGGER
        self._limits = limits
        self._phase: Phase = "head"
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let it in, in the place of the one that has waited the longest where there are too many."""
        super().connection_made(transport)
        limits = self._limits
        if len(self.connections) > limits.connections:
            oldest = next(iter(limits.waiting), None)
            if oldest is None:
                self._refuse(503, "all connections are in use")
                return
            oldest.drop()
        self._enter("head")

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget its deadlines."""
        self._end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, and begin the deadline of what is still to come."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._reckon()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for a while for the rest of this one."""
        super().on_response_complete()
        self._reckon(answered=True)

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request; where an answer has begun, it ends."""
        self._refuse(400, msg.rstrip(".").lower())

    def pause_writing(self) -> None:
        """Begin to wait for the reader of an answer."""
        super().pause_writing()
        self._limits.waiting[self] = None
        self._stall = self.loop.call_later(STALL_S, self.drop)

    def resume_writing(self) -> None:
        """Go on: the answer is read."""
        super().resume_writing()
        if self._phase == "answer":
            self._limits.waiting.pop(self, None)
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def drop(self) -> None:
        """End the connection at once, in the middle of whatever it does."""
        self._end()
        self.transport.abort()

    def _reckon(self, *, answered: bool = False) -> None:
        if self.transport.is_closing():
            self._leave()
            return
        state = self.conn.their_state
        if state is h11.IDLE:
            # Between two requests uvicorn waits its own time; the head has begun when something came.
            if not answered or self.conn.trailing_data[0]:
                self._enter("head")
            else:
                self._leave()
                self._phase = "idle"
                self._limits.waiting[self] = None
        elif state is h11.SEND_BODY:
            done = self.cycle is not None and self.cycle.response_complete
            self._enter("rest" if done else "body")
        elif self._phase != "answer":
            self._leave()
            self._phase = "answer"

    def _enter(self, phase: Phase) -> None:
        if phase == self._phase and self._deadline is not None:
            return
        self._leave()
        self._phase = phase
        limits = self._limits
        limits.waiting[self] = None
        seconds = {"head": limits.head_s, "body": limits.body_s}.get(phase, LINGER_S)
        self._deadline = self.loop.call_later(seconds, self._late)

    def _leave(self) -> None:
        self._limits.waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end(self) -> None:
        self._leave()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _late(self) -> None:
        began = self._phase == "body" or bool(self.conn.trailing_data[0])
        if began and self._phase != "rest":
            self._refuse(408, f"the {self._phase} of the request took too long")
        else:
            self.drop()

    def _refuse(self, status: int, detail: str) -> None:
        self._end()
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            body = json.dumps({"detail": detail, "hint": ""}).encode()
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(body)),
                (b"connection", b"close"),
            ]
            shield = add_security_headers(headers, path="", status=status)
            for event in (
                h11.Response(status_code=status, headers=shield),
                h11.Data(body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None:
            # Whoever works on the request learns that nobody waits for its answer.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()
        # What nobody reads is not kept: a closed connection waits for its reader otherwise.
        self.loop.call_later(LINGER_S, self.transport.abort)


def protocol_within(limits: Limits) -> Callable[..., BoundedProtocol]:
    """Return what makes the protocol of a new connection."""

    def make(*arguments: Any, **options: Any) -> BoundedProtocol:
        return BoundedProtocol(*arguments, limits=limits, **options)

    return make
