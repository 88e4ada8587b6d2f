"""What agents send over HTTP and what they get; the field names of the published design."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from ragmem.domain.sessions.agents import Agent, Event, Letter
from ragmem.services.agents.agents import MOST_IDS
from ragmem.services.agents.texts import MOST_KEY, MOST_SHORT, MOST_STATUS, MOST_TEXT
from ragmem.services.agents.waiting import LONGEST_WAIT_S

ID_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"
AgentId = Annotated[
    str, Field(pattern=ID_PATTERN, description='Letters, digits and . _ : @ -; "all" is no id.')
]
MOST_NUMBER = 2**53 - 1
"""The largest whole number that every reader of JSON has exactly."""

Number = Annotated[int, Field(ge=0, le=MOST_NUMBER)]
_Short = Annotated[str, Field(max_length=MOST_SHORT)]


class HeartbeatRequest(BaseModel):
    """An agent says that it lives, and what it does; a field that is left out stays as it was."""

    agent_id: AgentId
    config_name: _Short | None = Field(default=None, description="Its role, or what it was started with.")
    project_path: _Short | None = Field(default=None, description="Where it works; never opened.")
    status: str | None = Field(
        default=None,
        max_length=MOST_STATUS,
        description="Any word. `starting` begins a new life of the id, `stopped` ends one: stop and pause"
        " of the former are void then.",
    )
    current_task: _Short | None = None
    host: _Short | None = None
    pid: Number | None = None


class HeartbeatResponse(BaseModel):
    """What the agent should know at once."""

    ok: Literal[True] = True
    timestamp: datetime
    should_stop: bool
    stop_reason: str | None = Field(default=None, description="Only where it should stop.")
    paused: bool = Field(description="It should do nothing until it is told to resume.")
    pause_reason: str | None = Field(default=None, description="Only where it should pause.")
    has_messages: bool
    message_count: int | None = Field(
        default=None, description="Messages and signals that it has not acknowledged; only where there are."
    )

    @classmethod
    def of(cls, agent: Agent) -> "HeartbeatResponse":
        """Return the answer to an agent that checked in."""
        return cls(
            timestamp=agent.last_seen,
            should_stop=agent.should_stop,
            stop_reason=agent.stop_reason if agent.should_stop else None,
            paused=agent.paused,
            pause_reason=agent.pause_reason if agent.paused else None,
            has_messages=agent.waiting > 0,
            message_count=agent.waiting or None,
        )


class StatusRequest(BaseModel):
    """An agent says what it does; it counts as a heartbeat."""

    agent_id: AgentId
    status: str = Field(max_length=MOST_STATUS, description="As of a heartbeat.")
    current_task: _Short | None = None
    progress: int | None = Field(default=None, ge=0, le=100, description="Percent.")


class SignalRequest(BaseModel):
    """What is told to one agent, or to all that are known and have not ended, but to the sender."""

    # A name that is not understood would leave `to` empty, and stop everybody.
    model_config = ConfigDict(extra="forbid")

    to: str = Field(
        default="",
        validation_alias=AliasChoices("to", "to_agent_id"),
        max_length=128,
        description='An agent; empty or "all": each of them.',
    )
    type: Literal["stop", "pause", "resume", "message"] = Field(
        validation_alias=AliasChoices("type", "signal")
    )
    sender: str = Field(
        default="",
        validation_alias=AliasChoices("from", "from_agent_id"),
        max_length=128,
        description="The agent that sends it, if one does.",
    )
    reason: _Short = Field(default="", description="Of a signal: why.")
    text: str = Field(
        default="",
        max_length=MOST_TEXT,
        validation_alias=AliasChoices("text", "message"),
        description="Of a message.",
    )
    data: dict[str, Any] = Field(
        default_factory=dict,
        validation_alias=AliasChoices("data", "context"),
        description=f"Any JSON object, up to {MOST_TEXT:,} bytes.",
    )
    key: str = Field(
        default="",
        max_length=MOST_KEY,
        validation_alias=AliasChoices("key", "idempotency_key"),
        description="Chosen by the sender, such as a UUID: what it sends again with the same is stored once.",
    )


class SignalReceipt(BaseModel):
    """One to whom it was stored. `listening`: a stream of its messages is open in this process now."""

    agent_id: str
    id: int
    listening: bool


class SignalRefusal(BaseModel):
    """One to whom it could not be stored."""

    agent_id: str
    detail: str


class SignalResponse(BaseModel):
    """Who got it: it is on the disk for each of `accepted`, and waits until acknowledged."""

    accepted: list[SignalReceipt]
    refused: list[SignalRefusal] = Field(description="Only of what is sent to all.")


class ShutdownResponse(BaseModel):
    """What an agent was told to do."""

    should_stop: bool
    stop_reason: str | None = None
    paused: bool
    pause_reason: str | None = None

    @classmethod
    def of(cls, agent: Agent) -> "ShutdownResponse":
        """Return the answer about an agent."""
        beat = HeartbeatResponse.of(agent)
        return cls(
            should_stop=beat.should_stop,
            stop_reason=beat.stop_reason,
            paused=beat.paused,
            pause_reason=beat.pause_reason,
        )


class MessageShape(BaseModel):
    """One message or signal to an agent."""

    model_config = ConfigDict(populate_by_name=True)

    id: int = Field(description="Grows with time; to acknowledge, and to go on after.")
    to: str
    sender: str = Field(serialization_alias="from", description="Empty: not an agent.")
    type: Literal["stop", "pause", "resume", "message"]
    text: str = Field(description="Of a signal: the reason.")
    data: dict[str, Any]
    created: datetime

    @classmethod
    def of(cls, letter: Letter) -> "MessageShape":
        """Return a message as JSON has it."""
        return cls(
            id=letter.id,
            to=letter.to,
            sender=letter.sender,
            type=letter.sort.value,
            text=letter.text,
            data=dict(letter.data),
            created=letter.created,
        )


class MessagesResponse(BaseModel):
    """What waits for an agent, oldest first; it waits on until acknowledged."""

    messages: list[MessageShape]


class AcknowledgeRequest(BaseModel):
    """What an agent has dealt with."""

    agent_id: AgentId
    ids: list[Number] = Field(max_length=MOST_IDS, description="Numbers of its messages.")


class AcknowledgeResponse(BaseModel):
    """What became of each number. Acknowledging twice is as once."""

    acknowledged: list[int]
    already: list[int] = Field(description="Acknowledged before, or made void by a later signal.")
    unknown: list[int] = Field(description="Never sent to this agent, or no longer kept.")
    message_count: int = Field(description="How many still wait.")


class AgentShape(BaseModel):
    """An agent as it stands."""

    id: str
    config_name: str
    project_path: str
    host: str
    pid: int
    status: str
    current_task: str
    progress: int | None
    joined: datetime
    last_seen: datetime
    stale: bool = Field(description="Not heard of for longer than [agents] stale_s.")
    should_stop: bool
    stop_reason: str
    paused: bool
    pause_reason: str
    waiting: int = Field(description="Messages and signals not acknowledged.")
    listening: bool = Field(description="A stream of its messages is open in this process.")


class AgentsResponse(BaseModel):
    """All agents, the one heard of last first."""

    agents: list[AgentShape]
    cursor: int = Field(description="The last event that is in this picture.")
    listeners: int = Field(description="Open streams and waiting requests, of messages and of events.")


class EventRequest(BaseModel):
    """Something that happened, for all who wait for events."""

    type: str = Field(pattern="^[a-z][a-z0-9_.-]{0,63}$", description="Not one that ragmem writes itself.")
    agent_id: str = Field(default="", max_length=128, description="Whom it is about, if an agent.")
    data: dict[str, Any] = Field(default_factory=dict, description="Any JSON object, up to 65,536 bytes.")


class EventResponse(BaseModel):
    """The number of an event that was stored."""

    id: int


class EventShape(BaseModel):
    """Something that happened."""

    id: int = Field(description="Grows with time.")
    at: datetime
    type: str
    agent: str
    data: dict[str, Any]

    @classmethod
    def of(cls, event: Event) -> "EventShape":
        """Return an event as JSON has it."""
        return cls(id=event.id, at=event.at, type=event.type, agent=event.agent, data=dict(event.data))


class EventsResponse(BaseModel):
    """What happened, oldest first; empty when the time was up."""

    events: list[EventShape]
    cursor: int = Field(description="To be given as `after` the next time.")
    missed: bool = Field(description="Some events after `after` are kept no more.")


class WaitQuery(BaseModel):
    """What events are waited for, and how long."""

    types: list[Annotated[str, Field(pattern="^[a-z][a-z0-9_.-]{0,63}$")]] = Field(
        default_factory=list, max_length=32, description="Repeatable; none: all."
    )
    after: Number | None = Field(
        default=None, description="A cursor; else since the agent was told last, and for nobody from now on."
    )
    agent_id: str = Field(default="", max_length=128, description="Who asks, if an agent.")
    wait: float = Field(default=0, ge=0, le=LONGEST_WAIT_S, description="Seconds.")
    limit: int = Field(default=100, ge=1, le=1_000)
