"""The agent registry of one machine: check-ins, messages, signals and events."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from ragmem.domain.sessions.agents import (
    SIGNALS,
    Agent,
    AgentEventType,
    AgentMessage,
    begins_or_ends,
    own_type,
    parse_agent_id,
    parse_event_type,
)
from ragmem.errors import LimitReachedError, UsageError
from ragmem.services.agents.changes import (
    LONGEST_WAIT_S,
    LOOK_FOR_STALE_S,
    Events,
    events_after,
    mark_announced,
)
from ragmem.services.agents.message_sender import (
    MOST_SHORT,
    MOST_STATUS,
    MessageSender,
    clean_data,
    clean_text,
)
from ragmem.storage.operational import agents as rows
from ragmem.storage.operational import events, messages
from ragmem.storage.sql.database import Connection

MOST_IDS = 1_000
"""Maximum messages of one acknowledgement."""


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The result of an acknowledgement, by message number: new, already acknowledged, or never sent."""

    acknowledged: tuple[int, ...]
    already: tuple[int, ...]
    unknown: tuple[int, ...]
    waiting: int


class Agents(MessageSender):
    """The agents of one home; safe to use from several threads, and from several processes at once.

    An accepted message is on the disk when the call returns. It is delivered at least once, in the order of
    acceptance, and again until its agent acknowledges it. `now` is the clock for stale agents.
    """

    def heartbeat(
        self,
        agent: str,
        *,
        status: str | None = None,
        current_task: str | None = None,
        progress: int | None = None,
        config_name: str | None = None,
        project_path: str | None = None,
        host: str | None = None,
        pid: int | None = None,
    ) -> Agent:
        """Record a heartbeat of an agent; return its state, such as whether it should stop.

        The first heartbeat registers the agent. None leaves a value unchanged. The status `starting` begins a
        new life of the same id, and `stopped` ends it; then earlier stop and pause signals are void. Raises
        LimitReachedError if there are too many agents.
        """
        self._check_id(agent)
        given: dict[str, Any] = {"progress": progress, "pid": pid}
        texts = {
            "status": status,
            "current_task": current_task,
            "config_name": config_name,
            "project_path": project_path,
            "host": host,
        }
        for name, text in texts.items():
            most = MOST_STATUS if name == "status" else MOST_SHORT
            given[name] = None if text is None else clean_text(text, name, most, self._redactor)
        if progress is not None and not 0 <= progress <= 100:
            raise UsageError(f"the progress must be from 0 to 100, not {progress}", hint="give it in percent")
        changes = {name: value for name, value in given.items() if value is not None}
        with self._write() as connection:
            before = rows.agent_of(connection, agent)
            if before is None:
                self._make_room(connection)
            moment = self._now()
            former = before or Agent(
                agent, "", "", "", 0, "idle", "", None, moment, moment, False, False, "", False, ""
            )
            after: Agent = replace(former, **changes, last_seen=moment, stale=False)
            if begins_or_ends(before, after):
                messages.supersede(connection, agent, SIGNALS, moment)
                after = replace(after, should_stop=False, stop_reason="", paused=False, pause_reason="")
            rows.put(connection, after, told_event=events.bounds(connection)[1])
            self._tell_check_in(connection, before, after)
            known = rows.agent_of(connection, agent)
        assert known is not None
        return known

    def messages(
        self, agent: str, *, after: int = 0, limit: int = 100, timeout: float = 0.0, mark: bool = True
    ) -> list[AgentMessage]:
        """Return the messages after a number that wait for an agent, oldest first.

        If there is none, waits up to `timeout` seconds for one. `mark` marks them as delivered.
        Raises NotFoundError for an agent that never checked in.
        """
        until = time.monotonic() + min(timeout, LONGEST_WAIT_S)
        while True:
            seen = self.changes.seen() if timeout else (0, 0)
            self.require(agent)
            with self.file.read() as connection:
                found = messages.pending_messages(connection, agent, after=after, limit=limit)
            left = until - time.monotonic()
            if found or left <= 0:
                break
            self.changes.wait(seen, left)
        if mark:
            self.mark_delivered(letter.id for letter in found if letter.delivered is None)
        return found

    def mark_delivered(self, ids: Iterable[int]) -> None:
        """Mark messages as delivered."""
        wanted = list(ids)
        if wanted:
            # Nobody waits for this change.
            with self.file.write() as connection:
                messages.mark_delivered(connection, wanted, self._now())

    def acknowledge(self, agent: str, ids: Sequence[int]) -> Acknowledgement:
        """Acknowledge messages of an agent; a second acknowledgement has no effect.

        Raises NotFoundError for an agent that never checked in.
        """
        if len(ids) > MOST_IDS:
            raise UsageError(f"{len(ids):,} ids are too many", hint=f"up to {MOST_IDS:,} at a time")
        self.require(agent)
        wanted = dict.fromkeys(number for number in ids if 0 < number < 2**63)
        with self._write() as connection:
            done = messages.settle(connection, agent, wanted, self._now())
            left = [number for number in wanted if number not in set(done)]
            already = messages.stored_numbers(connection, agent, left)
            if done:
                self._write_event(connection, AgentEventType.ACKNOWLEDGED, agent, {"ids": done})
            found = rows.agent_of(connection, agent)
        unknown = [number for number in dict.fromkeys(ids) if number not in {*done, *already}]
        waiting = found.waiting if found else 0
        return Acknowledgement(tuple(done), tuple(already), tuple(unknown), waiting)

    def agents(self) -> list[Agent]:
        """Return all agents, the last heartbeat first; agents without a recent one are marked as stale."""
        self.mark_stale()
        if not self.file.exists():
            return []
        with self.file.read() as connection:
            return rows.all_agents(connection)

    def forget(self, agent: str) -> None:
        """Delete an agent and its messages; raises NotFoundError."""
        found = self.require(agent)
        with self._write() as connection:
            rows.forget(connection, agent)
            self._write_event(connection, AgentEventType.FORGOTTEN, agent, {"waiting": found.waiting})

    def mark_stale(self) -> list[str]:
        """Mark agents without a recent heartbeat as stale, each with an event; return them."""
        if not self.file.exists():
            return []
        moment = self._now() - timedelta(seconds=self.settings.stale_s)
        with self.file.read() as connection:
            if not rows.silent_since(connection, moment):
                return []
        if self.file.database.read_only:
            return []
        with self._write() as connection:
            silent = rows.silent_since(connection, moment)
            rows.mark_stale(connection, silent)
            for name in silent:
                self._write_event(connection, AgentEventType.STALE, name, {})
        return silent

    def publish(self, type_: str, *, agent: str = "", data: Mapping[str, Any] | None = None) -> int:
        """Publish an event to all listeners; return its number.

        Raises UsageError for a type that is ragmem's own.
        """
        own_type(type_)
        if agent:
            self._check_id(agent)
        told = clean_data(data, self._redactor)
        with self._write() as connection:
            return self._write_event(connection, type_, agent, told)

    def events(
        self,
        types: Sequence[str] = (),
        *,
        after: int | None = None,
        agent: str = "",
        timeout: float = 0.0,
        limit: int = 100,
    ) -> Events:
        """Return the events after a number, of these types (none: of all); waits up to `timeout` seconds.

        Without `after`: after the last event that the agent got, from its first heartbeat on; without an
        agent, from now on. Returns nothing after the timeout.
        """
        for name in types:
            parse_event_type(name)
        if agent:
            parse_agent_id(agent)
        until = time.monotonic() + min(timeout, LONGEST_WAIT_S)
        start, missed = after, False
        while True:
            # Nobody else may notice that an agent is silent.
            self.mark_stale()
            seen = self.changes.seen()
            found = events_after(self.file, types, after=start, agent=agent, limit=limit)
            start, missed = found.cursor, missed or found.missed
            left = until - time.monotonic()
            if found.events or left <= 0:
                mark_announced(self.file, agent, start)
                return replace(found, missed=missed)
            self.changes.wait(seen, min(left, LOOK_FOR_STALE_S))

    def news(self, since: tuple[int, int]) -> tuple[tuple[int, int], frozenset[str]]:
        """Return the last message and event, and the agents with messages after the given message."""
        if not self.file.exists():
            return since, frozenset()
        with self.file.read() as connection:
            last = messages.last(connection), events.bounds(connection)[1]
            # A lower number comes from another file, in which everything is new.
            after = since[0] if last[0] >= since[0] else 0
            receivers = messages.receivers(connection, after=after) if last[0] > after else []
        return last, frozenset(receivers)

    def close(self) -> None:
        """Close the file; a second call has no effect."""
        self.file.close()

    def _make_room(self, connection: Connection) -> None:
        if rows.count(connection) < self.settings.most:
            return
        name = rows.least_missed(connection)
        if not name:
            raise LimitReachedError(
                f"there are {self.settings.most:,} agents, and each is alive or has messages",
                hint="`ragmem agents forget ID` makes room, or raise agents.most",
            )
        rows.forget(connection, name)
        self._write_event(connection, AgentEventType.FORGOTTEN, name, {"waiting": 0})

    def _tell_check_in(self, connection: Connection, before: Agent | None, after: Agent) -> None:
        now = {"status": after.status, "current_task": after.current_task, "progress": after.progress}
        if before is None:
            more = {"config_name": after.config_name, "project_path": after.project_path}
            self._write_event(connection, AgentEventType.JOINED, after.id, now | more)
            return
        if before.stale:
            self._write_event(connection, AgentEventType.BACK, after.id, now)
        was = (before.status, before.current_task, before.progress)
        if was != (after.status, after.current_task, after.progress):
            self._write_event(connection, AgentEventType.STATUS, after.id, now)
