"""The routes by which agents tell that they live, send each other messages, and wait for them."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query

from ragmem.api.memory import Ragmem
from ragmem.domain.sessions.agents import Agent
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
from ragmem.server.agents.agents_streams import LONGEST_STREAM_S, as_json, follow_stream, wait_for_items
from ragmem.server.agents.event_stream import EventStream, frame
from ragmem.server.http.failure_models import EVERYWHERE, failure_responses
from ragmem.server.http.workers import Workers
from ragmem.services.agents.agents import Agents
from ragmem.services.agents.waiting import LONGEST_WAIT_S

THREADS = 2
"""Threads for agents alone: what they ask takes milliseconds, and must not wait for a long question."""

AT_A_TIME = 100
"""Messages or events that a stream reads at once; a listener that is behind holds no more in memory."""

_Id = Annotated[str, Query(pattern=ID_PATTERN, description="An agent that has checked in.")]
_After = Annotated[int | None, Query(ge=0, le=MOST_NUMBER)]
_LastEventId = Annotated[
    str, Header(pattern="^[0-9]{0,18}$", description="What a browser sends when it connects again.")
]
_Seconds = Annotated[
    float,
    Query(ge=0, le=LONGEST_STREAM_S, description="End the stream after so many seconds; 0: when you leave."),
]

_WITH_UNKNOWN = EVERYWHERE | failure_responses(404)


def _stream(what: str) -> dict[int | str, dict[str, Any]]:
    content = {"text/event-stream": {"schema": {"type": "string"}}}
    return {200: {"description": what, "content": content}}


def routes(memory: Ragmem, workers: Workers, listening: AgentBroker) -> APIRouter:
    """Return the routes; the workers are for these alone, so that no agent waits for a question."""
    router = APIRouter(tags=["agents"])
    for part in (_checking_in, _messages, _events):
        router.include_router(part(memory.agents, workers, listening))
    return router


def _checking_in(agents: Agents, workers: Workers, listening: AgentBroker) -> APIRouter:
    router = APIRouter()

    @router.post("/heartbeat", response_model_exclude_none=True, responses=EVERYWHERE)
    async def heartbeat(request: HeartbeatRequest) -> HeartbeatResponse:
        """Tell that an agent lives; learn whether it should stop or pause, and how much waits for it."""
        said = request.model_dump(exclude={"agent_id"}, exclude_none=True)
        agent = await workers.run(lambda: agents.heartbeat(request.agent_id, **said))
        return HeartbeatResponse.of(agent)

    @router.post("/status", response_model_exclude_none=True, responses=EVERYWHERE)
    async def status(request: StatusRequest) -> HeartbeatResponse:
        """Tell what an agent does, as a heartbeat that has to say so."""
        said = request.model_dump(exclude={"agent_id"}, exclude_none=True)
        agent = await workers.run(lambda: agents.heartbeat(request.agent_id, **said))
        return HeartbeatResponse.of(agent)

    @router.get("/shutdown-check", response_model_exclude_none=True, responses=_WITH_UNKNOWN)
    async def shutdown_check(agent_id: _Id) -> ShutdownResponse:
        """Tell whether an agent should stop, or pause; the quickest way to ask, and no heartbeat."""
        return ShutdownResponse.of(await workers.run(lambda: agents.shutdown_check(agent_id)))

    @router.get("/agents", responses=EVERYWHERE)
    async def all_agents() -> AgentsResponse:
        """Return all agents as they stand; go on with /agents/events after `cursor`."""

        def read() -> tuple[list[Agent], int]:
            # Read the cursor first: an event in between is then sent twice, not lost.
            cursor = agents.events().cursor
            return agents.agents(), cursor

        found, cursor = await workers.run(read)
        return AgentsResponse(
            agents=[_shape(agent, listening) for agent in found], cursor=cursor, listeners=listening.count
        )

    @router.delete("/agents/{agent_id}", status_code=204, responses=_WITH_UNKNOWN)
    async def forget(agent_id: str) -> None:
        """Forget an agent with everything that waits for it."""
        await workers.run(lambda: agents.forget(agent_id))

    return router


def _messages(agents: Agents, workers: Workers, listening: AgentBroker) -> APIRouter:
    router = APIRouter()

    @router.post("/signal", responses=EVERYWHERE | failure_responses(404, 409))
    async def signal(request: SignalRequest) -> SignalResponse:
        """Send a message or a signal to one agent, or to all that are known but the sender.

        `accepted` names those for whom it is on the disk. A signal also changes what each check of the agent
        says, and takes the place of those still waiting that it makes void. Who got no answer sends it again
        with the same `key`: it is stored once, and has the number that it had; 409 where it is not the same.
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
                SignalReceipt(agent_id=name, id=number, listening=listening.listens(name))
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
        """Stream what is sent to an agent, as server-sent events.

        First everything that waits: from the oldest not acknowledged, or after `Last-Event-ID` (or `after`),
        which says that the agent has those before. A message waits until it is acknowledged.
        """
        await workers.run(lambda: agents.require(agent_id))
        listening.require_room()
        start = int(last_event_id) if last_event_id else after or 0

        async def next_pieces(cursor: int) -> tuple[int, list[bytes]]:
            found = await workers.run(
                lambda: agents.messages(agent_id, after=cursor, limit=AT_A_TIME, mark=False)
            )
            listening.delivered(letter.id for letter in found if letter.delivered is None)
            return (found[-1].id if found else cursor), [
                frame(as_json(MessageShape.of(letter)), number=letter.id) for letter in found
            ]

        return EventStream(follow_stream(listening, agent_id, start, next_pieces, seconds))

    @router.get("/messages/pending", responses=_WITH_UNKNOWN)
    async def pending(
        agent_id: _Id,
        after: _After = None,
        wait: Annotated[float, Query(ge=0, le=LONGEST_WAIT_S, description="Seconds.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1_000)] = AT_A_TIME,
    ) -> MessagesResponse:
        """Return what waits for an agent without a stream; wait for the first if there is none."""

        def read() -> list[MessageShape]:
            found = agents.messages(agent_id, after=after or 0, limit=limit)
            return [MessageShape.of(letter) for letter in found]

        return MessagesResponse(messages=await wait_for_items(listening, workers, agent_id, read, wait))

    @router.post("/messages/ack", responses=_WITH_UNKNOWN)
    async def acknowledge(request: AcknowledgeRequest) -> AcknowledgeResponse:
        """Tell what an agent has dealt with; it is not handed out again."""
        done = await workers.run(lambda: agents.acknowledge(request.agent_id, request.ids))
        return AcknowledgeResponse(
            acknowledged=list(done.acknowledged),
            already=list(done.already),
            unknown=list(done.unknown),
            message_count=done.waiting,
        )

    return router


def _events(agents: Agents, workers: Workers, listening: AgentBroker) -> APIRouter:
    router = APIRouter()

    @router.post("/events", responses=EVERYWHERE)
    async def publish(request: EventRequest) -> EventResponse:
        """Tell all who wait for events that something happened."""
        number = await workers.run(
            lambda: agents.publish(request.type, agent=request.agent_id, data=request.data)
        )
        return EventResponse(id=number)

    @router.get("/events", responses=EVERYWHERE)
    async def events(query: Annotated[WaitQuery, Query()]) -> EventsResponse:
        """Return what happened after a cursor; wait for the first if nothing has."""
        cursor = query.after
        missed = False

        def read() -> list[EventShape]:
            nonlocal cursor, missed
            found = agents.events(query.types, after=cursor, agent=query.agent_id, limit=query.limit)
            cursor, missed = found.cursor, missed or found.missed
            return [EventShape.of(event) for event in found.events]

        shapes = await wait_for_items(listening, workers, "", read, query.wait)
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
        listening.require_room()
        given = int(last_event_id) if last_event_id else after
        start = given if given is not None else (await workers.run(agents.events)).cursor

        async def next_pieces(cursor: int) -> tuple[int, list[bytes]]:
            found = await workers.run(lambda: agents.events(after=cursor, limit=AT_A_TIME))
            return found.cursor, [
                frame(as_json(EventShape.of(event)), number=event.id) for event in found.events
            ]

        return EventStream(follow_stream(listening, "", start, next_pieces, seconds))

    return router


def _shape(agent: Agent, listening: AgentBroker) -> AgentShape:
    return AgentShape(
        **{name: getattr(agent, name) for name in AgentShape.model_fields if name != "listening"},
        listening=listening.listens(agent.id),
    )
