"""Limit the connections: their number, the duration of a request, and the size of its pieces.

Uvicorn has no such limits. If there are too many connections, a new one replaces the oldest that has not sent
its whole request, or that does not read its answer: so an honest client is answered, however many others only
wait.
"""

import asyncio
import json
import logging
import resource
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ragmem.config.settings import ServeSettings
from ragmem.server.security.security_headers import add_security_headers

ACCEPTED_AT_ONCE = 64
"""Connections accepted before the next read: few enough that the request of a new connection is read before
later ones could replace it."""

QUEUE = 2_048
"""Connections that wait to be accepted, if the system allows it; further clients retry a second later."""

FEWEST = 256
RESERVED_FILES = 256
"""Files and sockets reserved for the rest of the process."""

HEAD_BYTES = 32 * 1024
MOST_HEADERS = 100

STALL_S = 30.0
"""Seconds that an answer may wait for its reader."""

LINGER_S = 2.0
"""Seconds for the rest of a body that was answered before its end; nobody reads it."""

_FREE_PIECES, _BYTES_PER_PIECE = 512, 64
"""A body with more and smaller pieces is refused, because each piece costs time."""

# Otherwise every malformed request is logged as a warning, and anybody could fill the log.
_LOGGER = logging.getLogger("uvicorn.error.connections")
_LOGGER.setLevel(logging.ERROR)

Phase: TypeAlias = Literal["head", "body", "rest", "answer", "idle"]


@dataclass(slots=True)
class Limits:
    """The limits and the state shared by all connections of a server; times are in seconds."""

    connections: int
    head_s: float
    body_s: float
    waiting: dict["BoundedProtocol", None] = field(default_factory=dict)
    """The connections that a new one may replace, the oldest first."""


def limits_of(settings: ServeSettings) -> Limits:
    """Return the limits of [serve], reduced to the number of files that this process may open."""
    return Limits(
        connections=room_for(settings.max_connections),
        head_s=settings.head_seconds,
        body_s=settings.body_seconds,
    )


def room_for(connections: int) -> int:
    """Return the possible number of connections: at most the given one, less if open files are limited.

    Raises the soft limit of open files as far as necessary and possible.
    """
    others = ACCEPTED_AT_ONCE + RESERVED_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    wanted = connections + others
    if soft != unlimited and soft < wanted:
        soft = wanted if hard == unlimited else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections if soft == unlimited else max(FEWEST, min(connections, soft - others))


class _Requests(h11.Connection):
    """Refuses requests that h11 allows: two lengths of one body, too many headers, a body in tiny pieces."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        self._pieces = self._bytes = 0

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._pieces = self._bytes = 0
            names = [name for name, _ in event.headers]
            # H11 limits only an incomplete head, but a whole one may come at once.
            size = len(event.target) + sum(len(name) + len(value) for name, value in event.headers)
            lengths = names.count(b"content-length") + names.count(b"transfer-encoding")
            if lengths > 1 or len(names) > MOST_HEADERS or size > HEAD_BYTES:
                raise h11.RemoteProtocolError("two lengths of one body, or too many headers")
        elif isinstance(event, h11.Data):
            self._pieces += 1
            self._bytes += len(event.data)
            if self._pieces > max(_FREE_PIECES, self._bytes // _BYTES_PER_PIECE):
                raise h11.RemoteProtocolError("the body comes in too many small pieces")
        return event


class BoundedProtocol(H11Protocol):
    """Uvicorn's protocol with Limits."""

    def __init__(self, *arguments: Any, limits: Limits, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = _Requests()
        self.logger = _LOGGER
        self._limits = limits
        self._phase: Phase = "head"
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept it; if there are too many connections, drop the one that has waited the longest."""
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
        """Read the data, and set the deadline of the rest."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._update_phase()

    def on_response_complete(self) -> None:
        """Wait for the next request, or a short time for the rest of this one."""
        super().on_response_complete()
        self._update_phase(answered=True)

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request; an answer that has begun ends."""
        self._refuse(400, msg.rstrip(".").lower())

    def pause_writing(self) -> None:
        """Start the deadline for the reader of an answer."""
        super().pause_writing()
        self._limits.waiting[self] = None
        self._stall = self.loop.call_later(STALL_S, self.drop)

    def resume_writing(self) -> None:
        """End that deadline, because the answer is read."""
        super().resume_writing()
        if self._phase == "answer":
            self._limits.waiting.pop(self, None)
        self._cancel_stall()

    def drop(self) -> None:
        """End the connection at once, in any phase."""
        self._end()
        self.transport.abort()

    def _update_phase(self, *, answered: bool = False) -> None:
        if self.transport.is_closing():
            self._leave()
            return
        state = self.conn.their_state
        if state is h11.IDLE:
            # Between two requests uvicorn's own timeout holds; after the first bytes ours does.
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
        self._cancel_stall()

    def _cancel_stall(self) -> None:
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
            # The handler of the request learns that the client has left.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()
        # Otherwise a closed connection would wait for its reader.
        self.loop.call_later(LINGER_S, self.transport.abort)


def protocol_within(limits: Limits) -> Callable[..., BoundedProtocol]:
    """Return a factory of protocols with these limits."""
    return partial(BoundedProtocol, limits=limits)
