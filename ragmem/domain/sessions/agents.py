"""What agents tell one another: who they are, what is sent to them, and what happens around them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from ragmem.errors import UsageError

EVERYONE = ("", "all")
"""Names that mean each known agent; no agent can be called so."""

STARTING = "starting"
"""The status with which a new life begins: what was told to stop or to pause the former one is void."""

STOPPED = "stopped"
"""The status of an agent that has ended; it is not expected to be heard of again."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}")
_EVENT_TYPE = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
_HEAD = 120


class Sort(StrEnum):
    """What is sent: a signal, which also changes what the agent is told by each check, or a message."""

    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"
    MESSAGE = "message"


SIGNALS = (Sort.STOP, Sort.PAUSE, Sort.RESUME)

SUPERSEDES: Mapping[Sort, tuple[Sort, ...]] = {
    Sort.STOP: (Sort.STOP, Sort.PAUSE, Sort.RESUME),
    Sort.PAUSE: (Sort.PAUSE, Sort.RESUME),
    Sort.RESUME: (Sort.STOP, Sort.PAUSE, Sort.RESUME),
    Sort.MESSAGE: (),
}
"""Which waiting signals a new one makes void: who comes back must not stop on an order taken back."""


class Happening(StrEnum):
    """The types of the events that ragmem writes itself; agents may publish others of their own."""

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
    """One that has checked in. `stale`: not heard of for too long; `waiting`: messages not acknowledged."""

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
class Letter:
    """Something sent to one agent; ids grow with time and are never used again.

    `delivered` is when it was first handed out, which says nothing of whether it was read.
    """

    id: int
    to: str
    sender: str
    sort: Sort
    text: str
    data: Mapping[str, Any]
    created: datetime
    delivered: datetime | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened; ids grow with time and are never used again."""

    id: int
    at: datetime
    type: str
    agent: str
    data: Mapping[str, Any] = field(default_factory=dict)


def begins_or_ends(before: Agent | None, after: Agent) -> bool:
    """Tell whether a check-in begins another life of an agent, or ends one."""
    if before is None:
        return False
    another = after.status == STARTING and 0 != before.pid != after.pid
    return another or (after.status in (STARTING, STOPPED) and after.status != before.status)


def signalled(agent: Agent, letter: Letter) -> Agent:
    """Return an agent as a signal leaves it."""
    if letter.sort is Sort.STOP:
        return replace(agent, should_stop=True, stop_reason=letter.text)
    if letter.sort is Sort.PAUSE:
        return replace(agent, paused=True, pause_reason=letter.text)
    return replace(agent, should_stop=False, stop_reason="", paused=False, pause_reason="")


def checked_id(agent: str) -> str:
    """Return the id of an agent; raises UsageError for what cannot be one."""
    if not _ID.fullmatch(agent) or agent in EVERYONE:
        raise UsageError(
            f'"{_shown(agent)}" cannot be the id of an agent',
            hint='up to 128 letters, digits and any of . _ : @ -; "all" means every agent',
        )
    return agent


def checked_type(name: str) -> str:
    """Return the type of an event; raises UsageError for what cannot be one."""
    if not _EVENT_TYPE.fullmatch(name):
        raise UsageError(
            f'"{_shown(name)}" cannot be the type of an event',
            hint="a small letter, then up to 63 small letters, digits and any of _ . -",
        )
    return name


def own_type(name: str) -> str:
    """Return the type of an event that an agent publishes; raises UsageError for one of ragmem's own."""
    if checked_type(name) in {happening.value for happening in Happening}:
        raise UsageError(f'events of the type "{name}" are written by ragmem alone', hint="choose another")
    return name


def head_of(text: str) -> str:
    """Return the beginning of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= _HEAD else line[: _HEAD - 1] + "…"


def _shown(text: str) -> str:
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text[:64])
