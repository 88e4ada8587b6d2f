"""The requests and answers of agents, with the field names of the published design."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from ragmem.domain.sessions.agents import Agent, AgentMessage, Event
from ragmem.services.agents.agents import MOST_IDS
from ragmem.services.agents.changes import LONGEST_WAIT_S
from ragmem.services.agents.message_sender import MOST_KEY, MOST_SHORT, MOST_STATUS, MOST_TEXT

ID_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"
AgentId = Annotated[
    str, Field(pattern=ID_PATTERN, description='Letters, digits and . _ : @ -; "all" is not an id.')
]
MOST_NUMBER = 2**53 - 1
"""The largest integer that every JSON parser reads exactly."""

Number = Annotated[int, Field(ge=0, le=MOST_NUMBER)]
_Short = Annotated[str, Field(max_length=MOST_SHORT)]


class HeartbeatRequest(BaseModel):
    """A heartbeat of an agent, and what it does; omitted fields stay unchanged."""

    agent_id: AgentId
    config_name: _Short | None = Field(default=None, description="Its role or configuration.")
    project_path: _Short | None = Field(default=None, description="Its working folder; never opened.")
    status: str | None = Field(
        default=None,
        max_length=MOST_STATUS,
        description=(
            "Any word. `starting` resets the agent, `stopped` ends it; both discard earlier stop and pause "
            "signals."
        ),
    )
    current_task: _Short | None = None
    host: _Short | None = None
    pid: Number | None = None


class HeartbeatResponse(BaseModel):
    """The state of the agent, such as whether it should stop."""

    ok: Literal[True] = True
    timestamp: datetime
    should_stop: bool
    stop_reason: str | None = Field(default=None, description="Only if it should stop.")
    paused: bool = Field(description="It should pause until it is resumed.")
    pause_reason: str | None = Field(default=None, description="Only if it should pause.")
    has_messages: bool
    message_count: int | None = Field(
        default=None, description="Unacknowledged messages and signals; only if there are any."
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
    """The status of an agent; it counts as a heartbeat."""

    agent_id: AgentId
    status: str = Field(max_length=MOST_STATUS, description="As of a heartbeat.")
    current_task: _Short | None = None
    progress: int | None = Field(default=None, ge=0, le=100, description="Percent.")


class SignalRequest(BaseModel):
    """A message or signal to one agent, or to all active agents but the sender."""

    # A misspelt field would leave `to` empty, and stop all agents.
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
        description="The sending agent, if any.",
    )
    reason: _Short = Field(default="", description="The reason of a signal.")
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
        description="Chosen by the sender, such as a UUID: repeated requests with it are stored once.",
    )


class SignalReceipt(BaseModel):
    """A recipient for whom it was stored. `listening`: a stream of its messages is open in this process."""

    agent_id: str
    id: int
    listening: bool


class SignalRefusal(BaseModel):
    """A recipient for whom it could not be stored."""

    agent_id: str
    detail: str


class SignalResponse(BaseModel):
    """The recipients: it is on the disk for each of `accepted`, and waits until acknowledged."""

    accepted: list[SignalReceipt]
    refused: list[SignalRefusal] = Field(description="Only if it was sent to all.")


class ShutdownResponse(BaseModel):
    """Whether an agent should stop or pause."""

    should_stop: bool
    stop_reason: str | None = None
    paused: bool
    pause_reason: str | None = None

    @classmethod
    def of(cls, agent: Agent) -> "ShutdownResponse":
        """Return the answer about an agent."""
        return cls(**HeartbeatResponse.of(agent).model_dump(include=set(cls.model_fields)))


class MessageShape(BaseModel):
    """One message or signal to an agent."""

    model_config = ConfigDict(populate_by_name=True)

    id: int = Field(description="Increasing number, for acknowledgement and `after`.")
    to: str
    sender: str = Field(serialization_alias="from", description="Empty: not an agent.")
    type: Literal["stop", "pause", "resume", "message"]
    text: str = Field(description="The reason of a signal.")
    data: dict[str, Any]
    created: datetime

    @classmethod
    def of(cls, letter: AgentMessage) -> "MessageShape":
        """Return the JSON model of a message."""
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
    """The waiting messages of an agent, oldest first; they wait until acknowledged."""

    messages: list[MessageShape]


class AcknowledgeRequest(BaseModel):
    """The messages to acknowledge."""

    agent_id: AgentId
    ids: list[Number] = Field(max_length=MOST_IDS, description="Numbers of its messages.")


class AcknowledgeResponse(BaseModel):
    """The result for each number. A second acknowledgement has no effect."""

    acknowledged: list[int]
    already: list[int] = Field(description="Acknowledged before, or replaced by a later signal.")
    unknown: list[int] = Field(description="Never sent to this agent, or deleted.")
    message_count: int = Field(description="The number of messages that are still waiting.")


class AgentShape(BaseModel):
    """The state of an agent."""

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
    stale: bool = Field(description="Without a heartbeat for longer than [agents] stale_s.")
    should_stop: bool
    stop_reason: str
    paused: bool
    pause_reason: str
    waiting: int = Field(description="Messages and signals not acknowledged.")
    listening: bool = Field(description="A stream of its messages is open in this process.")


class AgentsResponse(BaseModel):
    """All agents, the latest heartbeat first."""

    agents: list[AgentShape]
    cursor: int = Field(description="The last event in this state.")
    listeners: int = Field(description="Open streams and waiting requests, of messages and of events.")


class EventRequest(BaseModel):
    """An event for all listeners."""

    type: str = Field(pattern="^[a-z][a-z0-9_.-]{0,63}$", description="Not a type that ragmem writes itself.")
    agent_id: str = Field(default="", max_length=128, description="The agent that it concerns, if any.")
    data: dict[str, Any] = Field(default_factory=dict, description="Any JSON object, up to 65,536 bytes.")


class EventResponse(BaseModel):
    """The number of a stored event."""

    id: int


class EventShape(BaseModel):
    """An event."""

    id: int = Field(description="Grows with time.")
    at: datetime
    type: str
    agent: str
    data: dict[str, Any]

    @classmethod
    def of(cls, event: Event) -> "EventShape":
        """Return the JSON model of an event."""
        return cls(id=event.id, at=event.at, type=event.type, agent=event.agent, data=dict(event.data))


class EventsResponse(BaseModel):
    """Events, oldest first; empty after the timeout."""

    events: list[EventShape]
    cursor: int = Field(description="The `after` of the next request.")
    missed: bool = Field(description="Whether events after `after` were deleted.")


class WaitQuery(BaseModel):
    """The events to wait for, and the timeout."""

    types: list[Annotated[str, Field(pattern="^[a-z][a-z0-9_.-]{0,63}$")]] = Field(
        default_factory=list, max_length=32, description="Repeatable; none: all."
    )
    after: Number | None = Field(
        default=None,
        description=(
            "A cursor; default: the last event that the agent received, or without an agent the current end."
        ),
    )
    agent_id: str = Field(default="", max_length=128, description="The requesting agent, if any.")
    wait: float = Field(default=0, ge=0, le=LONGEST_WAIT_S, description="Seconds.")
    limit: int = Field(default=100, ge=1, le=1_000)
