"""The values of the agent registry: agents, messages, signals and events."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from ragmem.errors import UsageError

EVERYONE = ("", "all")
"""Recipients that mean all agents; no agent may have such an id."""

STARTING = "starting"
"""The status at a start; it voids earlier stop and pause signals."""

STOPPED = "stopped"
"""The status of an agent that has ended."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}")
_EVENT_TYPE = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
_HEAD = 120


class MessageType(StrEnum):
    """The type of a message: plain, or a signal that changes the result of the agent's checks."""

    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"
    MESSAGE = "message"


SIGNALS = (MessageType.STOP, MessageType.PAUSE, MessageType.RESUME)

SUPERSEDES: Mapping[MessageType, tuple[MessageType, ...]] = {
    MessageType.STOP: (MessageType.STOP, MessageType.PAUSE, MessageType.RESUME),
    MessageType.PAUSE: (MessageType.PAUSE, MessageType.RESUME),
    MessageType.RESUME: (MessageType.STOP, MessageType.PAUSE, MessageType.RESUME),
    MessageType.MESSAGE: (),
}
"""Signal -> pending signals that it voids."""


class AgentEventType(StrEnum):
    """The types of ragmem's own events; agents may publish others."""

    JOINED = "agent_joined"
    STATUS = "agent_status"
    STALE = "agent_stale"
    BACK = "agent_back"
    FORGOTTEN = "agent_forgotten"
    SIGNAL = "signal"
    MESSAGE = "message"
    ACKNOWLEDGED = "acknowledged"


@dataclass(frozen=True, slots=True)
class Agent:
    """A registered agent. `stale`: no heartbeat for too long; `waiting`: count of unacknowledged messages."""

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
    stale: bool
    should_stop: bool
    stop_reason: str
    paused: bool
    pause_reason: str
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """A message to one agent; ids grow with time and are never used again.

    `delivered` is the time of the first delivery; the agent may not have read it.
    """

    id: int
    to: str
    sender: str
    sort: MessageType
    text: str
    data: Mapping[str, Any]
    created: datetime
    delivered: datetime | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """An event; ids grow with time and are never used again."""

    id: int
    at: datetime
    type: str
    agent: str
    data: Mapping[str, Any] = field(default_factory=dict)


def begins_or_ends(before: Agent | None, after: Agent) -> bool:
    """Return whether a check-in starts or ends an agent."""
    if before is None:
        return False
    another = after.status == STARTING and 0 != before.pid != after.pid
    return another or (after.status in (STARTING, STOPPED) and after.status != before.status)


def apply_signal(agent: Agent, letter: AgentMessage) -> Agent:
    """Return an agent after a signal."""
    if letter.sort is MessageType.STOP:
        return replace(agent, should_stop=True, stop_reason=letter.text)
    if letter.sort is MessageType.PAUSE:
        return replace(agent, paused=True, pause_reason=letter.text)
    return replace(agent, should_stop=False, stop_reason="", paused=False, pause_reason="")


def parse_agent_id(agent: str) -> str:
    """Return a valid id of an agent; raises UsageError for an invalid one."""
    if not _ID.fullmatch(agent) or agent in EVERYONE:
        raise UsageError(
            f'"{_quote(agent)}" cannot be the id of an agent',
            hint='up to 128 letters, digits and any of . _ : @ -; "all" means every agent',
        )
    return agent


def parse_event_type(name: str) -> str:
    """Return a valid event type; raises UsageError for an invalid one."""
    if not _EVENT_TYPE.fullmatch(name):
        raise UsageError(
            f'"{_quote(name)}" cannot be the type of an event',
            hint="a small letter, then up to 63 small letters, digits and any of _ . -",
        )
    return name


def own_type(name: str) -> str:
    """Return the type of an agent's own event; raises UsageError for one of ragmem's types."""
    if parse_event_type(name) in set(AgentEventType):
        raise UsageError(f'only ragmem writes events of the type "{name}"', hint="choose another")
    return name


def head_of(text: str) -> str:
    """Return the beginning of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= _HEAD else line[: _HEAD - 1] + "…"


def _quote(text: str) -> str:
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text[:64])
