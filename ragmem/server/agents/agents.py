"""The routes of agents: heartbeats, messages, signals, events and their streams."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Header, Query
from pydantic import BaseModel
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ragmem.api.memory import Ragmem
from ragmem.domain.sessions.agents import Agent
from ragmem.errors import RagmemError
from ragmem.server.agents.agents_broker import AgentBroker
from ragmem.server.agents.agents_models import (
    ID_PATTERN,
    MOST_NUMBER,
    AcknowledgeRequest,
    AcknowledgeResponse,
    AgentShape,
    AgentsResponse,
    EventRequest,
    EventResponse,
    EventShape,
    EventsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MessageShape,
    MessagesResponse,
    ShutdownResponse,
    SignalReceipt,
    SignalRefusal,
    SignalRequest,
    SignalResponse,
    StatusRequest,
    WaitQuery,
)
from ragmem.server.http.failure_models import EVERYWHERE, Failure, failure_responses
from ragmem.server.http.workers import Workers
from ragmem.server.security.guard import CREDENTIAL, SESSION
from ragmem.server.security.sessions import Session
from ragmem.services.agents.agents import Agents
from ragmem.services.agents.changes import LONGEST_WAIT_S

SLOW_S = 20.0
"""Seconds that a client may leave a piece unread; then it is dropped, and may connect again."""

KEEP_ALIVE_S = 15.0
"""Seconds of silence after which a comment keeps the connection alive."""

RETRY_MS = 1_000
"""Milliseconds after which a browser reconnects."""

KEEP_ALIVE = b": keep-alive\n\n"
OPENING = f"retry: {RETRY_MS}\n: open\n\n".encode()

_LAST = {"type": "http.response.body", "body": b"", "more_body": False}

_LONGEST_STREAM_S = 86_400.0

_T = TypeVar("_T")


async def _follow_stream(
    broker: AgentBroker,
    agent: str,
    cursor: int,
    next_pieces: Callable[[int], Awaitable[tuple[int, list[bytes]]]],
    seconds: float,
) -> AsyncIterator[bytes]:
    """Yield the pieces of a stream: the existing ones, then new ones, with keep-alive comments in between."""
    until = time.monotonic() + (seconds or _LONGEST_STREAM_S)
    yield OPENING
    with broker.listener(agent) as listener:
        try:
            while True:
                reached, pieces = await next_pieces(cursor)
                for piece in pieces:
                    yield piece
                if pieces:
                    cursor = reached
                    continue
                left = until - time.monotonic()
                if left <= 0 or broker.is_ending:
                    return
                if not await listener.wait(min(left, KEEP_ALIVE_S)) and left > KEEP_ALIVE_S:
                    yield KEEP_ALIVE
        except RagmemError as error:
            yield frame(_as_json(Failure(detail=str(error), hint=error.hint)), event="refused")


async def _wait_for_items(
    broker: AgentBroker, workers: Workers, agent: str, read: Callable[[], list[_T]], seconds: float
) -> list[_T]:
    """Return the items that `read` finds; repeat it until there are some, or until the timeout."""
    found = await workers.run(read)
    if found or not seconds:
        return found
    broker.require_room()
    until = time.monotonic() + seconds
    with broker.listener(agent) as listener:
        while True:
            found = await workers.run(read)
            left = until - time.monotonic()
            if found or left <= 0 or broker.is_ending:
                return found
            await listener.wait(left)


def _as_json(model: BaseModel) -> bytes:
    """Return the JSON of a model for a stream."""
    return model.model_dump_json(by_alias=True).encode()


THREADS = 2
"""Threads reserved for agents: their requests take milliseconds, and must not wait for long questions."""

AT_A_TIME = 100
"""Messages or events that a stream reads at once, which bounds the memory of a slow listener."""

_Id = Annotated[str, Query(pattern=ID_PATTERN, description="A registered agent.")]
_After = Annotated[int | None, Query(ge=0, le=MOST_NUMBER)]
_LastEventId = Annotated[
    str, Header(pattern="^[0-9]{0,18}$", description="Sent by a browser when it reconnects.")
]
_Seconds = Annotated[
    float,
    Query(
        ge=0,
        le=_LONGEST_STREAM_S,
        description="End the stream after this many seconds; 0: when the client disconnects.",
    ),
]

_WITH_UNKNOWN = EVERYWHERE | failure_responses(404)


def _stream(what: str) -> dict[int | str, dict[str, Any]]:
    content = {"text/event-stream": {"schema": {"type": "string"}}}
    return {200: {"description": what, "content": content}}


def routes(memory: Ragmem, workers: Workers, broker: AgentBroker) -> APIRouter:
    """Return the routes; the workers are reserved for them, so that no agent waits for a question."""
    router = APIRouter()
    for part in (_heartbeats, _messages, _events):
        router.routes += part(memory.agents, workers, broker).routes
    return router


def _heartbeats(agents: Agents, workers: Workers, broker: AgentBroker) -> APIRouter:
    router = APIRouter(tags=["agents"])

    async def record(request: HeartbeatRequest | StatusRequest) -> HeartbeatResponse:
        fields = request.model_dump(exclude={"agent_id"}, exclude_none=True)
        return HeartbeatResponse.of(await workers.run(lambda: agents.heartbeat(request.agent_id, **fields)))

    @router.post("/heartbeat", response_model_exclude_none=True, responses=EVERYWHERE)
    async def heartbeat(request: HeartbeatRequest) -> HeartbeatResponse:
        """Record a heartbeat; learn whether the agent should stop or pause, and how much waits for it."""
        return await record(request)

    @router.post("/status", response_model_exclude_none=True, responses=EVERYWHERE)
    async def status(request: StatusRequest) -> HeartbeatResponse:
        """Record what an agent does; a heartbeat with a required status."""
        return await record(request)

    @router.get("/shutdown-check", response_model_exclude_none=True, responses=_WITH_UNKNOWN)
    async def shutdown_check(agent_id: _Id) -> ShutdownResponse:
        """Return whether an agent should stop, or pause; the quickest way to ask, and no heartbeat."""
        return ShutdownResponse.of(await workers.run(lambda: agents.require(agent_id)))

    @router.get("/agents", responses=EVERYWHERE)
    async def all_agents() -> AgentsResponse:
        """Return the state of all agents; continue with /agents/events after `cursor`."""

        def read() -> tuple[list[Agent], int]:
            # The cursor comes first, so that an event in between is sent twice rather than lost.
            cursor = agents.events().cursor
            return agents.agents(), cursor

        found, cursor = await workers.run(read)
        return AgentsResponse(
            agents=[_shape(agent, broker) for agent in found], cursor=cursor, listeners=broker.count
        )

    @router.delete("/agents/{agent_id}", status_code=204, responses=_WITH_UNKNOWN)
    async def forget(agent_id: str) -> None:
        """Remove an agent and all its messages."""
        await workers.run(lambda: agents.forget(agent_id))

    return router


def _messages(agents: Agents, workers: Workers, broker: AgentBroker) -> APIRouter:
    router = APIRouter(tags=["agents"])

    @router.post("/signal", responses=EVERYWHERE | failure_responses(404, 409))
    async def signal(request: SignalRequest) -> SignalResponse:
        """Send a message or a signal to one agent, or to all known agents but the sender.

        `accepted` names the agents for whom it is on the disk. A signal also changes the result of each check
        of the agent, and replaces the waiting signals that it makes void. A sender without an answer repeats
        the request with the same `key`: it is stored once, under its first number; 409 if it differs.
        """
        if request.type == "message":
            sent = await workers.run(
                lambda: agents.send(
                    request.to,
                    request.text or request.reason,
                    sender=request.sender,
                    data=request.data,
                    key=request.key,
                )
            )
        else:
            sent = await workers.run(
                lambda: agents.signal(
                    request.type,
                    to=request.to,
                    sender=request.sender,
                    reason=request.reason or request.text,
                    data=request.data,
                    key=request.key,
                )
            )
        return SignalResponse(
            accepted=[
                SignalReceipt(agent_id=name, id=number, listening=broker.listens(name))
                for name, number in sent.accepted.items()
            ],
            refused=[SignalRefusal(agent_id=name, detail=why) for name, why in sent.refused.items()],
        )

    @router.get(
        "/messages",
        status_code=200,  # which FastAPI looks for in the signature of a response class
        response_class=EventStream,
        responses=_WITH_UNKNOWN | _stream("Events whose data is one message as JSON."),
    )
    async def messages(
        agent_id: _Id, last_event_id: _LastEventId = "", after: _After = None, seconds: _Seconds = 0
    ) -> EventStream:
        """Stream the messages to an agent, as server-sent events.

        First all waiting ones: from the oldest not acknowledged, or after `Last-Event-ID` (or `after`), if
        the agent has the earlier ones. A message waits until it is acknowledged.
        """
        await workers.run(lambda: agents.require(agent_id))
        broker.require_room()
        start = int(last_event_id) if last_event_id else after or 0

        async def next_pieces(cursor: int) -> tuple[int, list[bytes]]:
            found = await workers.run(
                lambda: agents.messages(agent_id, after=cursor, limit=AT_A_TIME, mark=False)
            )
            broker.mark_delivered(letter.id for letter in found if letter.delivered is None)
            return (found[-1].id if found else cursor), [
                frame(_as_json(MessageShape.of(letter)), number=letter.id) for letter in found
            ]

        return EventStream(_follow_stream(broker, agent_id, start, next_pieces, seconds))

    @router.get("/messages/pending", responses=_WITH_UNKNOWN)
    async def pending(
        agent_id: _Id,
        after: _After = None,
        wait: Annotated[float, Query(ge=0, le=LONGEST_WAIT_S, description="Seconds.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1_000)] = AT_A_TIME,
    ) -> MessagesResponse:
        """Return the waiting messages of an agent without a stream; wait for the first if there is none."""

        def read() -> list[MessageShape]:
            found = agents.messages(agent_id, after=after or 0, limit=limit)
            return [MessageShape.of(letter) for letter in found]

        return MessagesResponse(messages=await _wait_for_items(broker, workers, agent_id, read, wait))

    @router.post("/messages/ack", responses=_WITH_UNKNOWN)
    async def acknowledge(request: AcknowledgeRequest) -> AcknowledgeResponse:
        """Acknowledge messages of an agent; they are not handed out again."""
        done = await workers.run(lambda: agents.acknowledge(request.agent_id, request.ids))
        return AcknowledgeResponse(
            acknowledged=list(done.acknowledged),
            already=list(done.already),
            unknown=list(done.unknown),
            message_count=done.waiting,
        )

    return router


def _events(agents: Agents, workers: Workers, broker: AgentBroker) -> APIRouter:
    router = APIRouter(tags=["agents"])

    @router.post("/events", responses=EVERYWHERE)
    async def publish(request: EventRequest) -> EventResponse:
        """Publish an event to all listeners."""
        number = await workers.run(
            lambda: agents.publish(request.type, agent=request.agent_id, data=request.data)
        )
        return EventResponse(id=number)

    @router.get("/events", responses=EVERYWHERE)
    async def events(query: Annotated[WaitQuery, Query()]) -> EventsResponse:
        """Return the events after a cursor; wait for the first if there is none."""
        cursor = query.after
        missed = False

        def read() -> list[EventShape]:
            nonlocal cursor, missed
            found = agents.events(query.types, after=cursor, agent=query.agent_id, limit=query.limit)
            cursor, missed = found.cursor, missed or found.missed
            return [EventShape.of(event) for event in found.events]

        shapes = await _wait_for_items(broker, workers, "", read, query.wait)
        return EventsResponse(events=shapes, cursor=cursor or 0, missed=missed)

    @router.get(
        "/agents/events",
        status_code=200,  # which FastAPI looks for in the signature of a response class
        response_class=EventStream,
        responses=EVERYWHERE | _stream("Events whose data is one event as JSON."),
    )
    async def follow(
        last_event_id: _LastEventId = "", after: _After = None, seconds: _Seconds = 0
    ) -> EventStream:
        """Stream everything that happens: check-ins, changes, heads of messages, published events.

        From now on, or after `Last-Event-ID` (or `after`, such as the cursor of /agents).
        """
        broker.require_room()
        given = int(last_event_id) if last_event_id else after
        start = given if given is not None else (await workers.run(agents.events)).cursor

        async def next_pieces(cursor: int) -> tuple[int, list[bytes]]:
            found = await workers.run(lambda: agents.events(after=cursor, limit=AT_A_TIME))
            return found.cursor, [
                frame(_as_json(EventShape.of(event)), number=event.id) for event in found.events
            ]

        return EventStream(_follow_stream(broker, "", start, next_pieces, seconds))

    return router


def _shape(agent: Agent, broker: AgentBroker) -> AgentShape:
    return AgentShape(
        **{name: getattr(agent, name) for name in AgentShape.model_fields if name != "listening"},
        listening=broker.listens(agent.id),
    )


def frame(document: bytes, *, event: str = "", number: int | None = None) -> bytes:
    """Return one event of a stream; a JSON document has no line breaks."""
    id_line = b"" if number is None else b"id: %d\n" % number
    event_line = b"event: %s\n" % event.encode() if event else b""
    return b"%s%sdata: %s\n\n" % (id_line, event_line, document)


class EventStream(Response):
    """Sends the pieces of an iterator; needs no thread, and cleans up in any case."""

    media_type = "text/event-stream"

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self.pieces = pieces
        self.status_code = 200
        self.background = None
        self.body = b""
        self.init_headers({"X-Accel-Buffering": "no"})
        # The length is unknown, although the body here is empty.
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the iterator ends, the client leaves, or the session that opened it ends."""
        session: Session | None = scope[SESSION] if scope.get(CREDENTIAL) == "session" else None
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sending = asyncio.create_task(self._send(send))
        others: list[asyncio.Task[Any]] = [asyncio.create_task(_wait_for_disconnect(receive))]
        if session is not None:
            others.append(asyncio.create_task(session.ended.wait()))
        try:
            await asyncio.wait({sending, *others}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, *others):
                task.cancel()
            for task in others:
                with suppress(asyncio.CancelledError):
                    await task
            with suppress(asyncio.CancelledError, TimeoutError):
                await sending
        if sending.cancelled() and session is not None and session.ended.is_set():
            await send(_LAST)

    async def _send(self, send: Send) -> None:
        try:
            async for piece in self.pieces:
                # The framework waits while the client's buffers are full.
                async with asyncio.timeout(SLOW_S):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send(_LAST)
        finally:
            closing = getattr(self.pieces, "aclose", None)
            if closing is not None:
                await closing()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
