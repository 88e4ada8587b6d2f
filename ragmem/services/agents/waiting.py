"""Wait for what other threads and other processes write about agents."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ragmem.domain.sessions.agents import Event, checked_id, checked_type
from ragmem.storage.operational import agents, events
from ragmem.storage.operational.file import OperationalFile

POLL_S = 0.1
"""Seconds between two looks at whether another process has written; each costs microseconds."""

LONGEST_WAIT_S = 300.0

LOOK_FOR_STALE_S = 1.0


class Changes:
    """Tells threads at once that this process changed something; what others change it looks for."""

    def __init__(self, file: OperationalFile) -> None:
        self._file = file
        self._changed = threading.Condition()
        self._count = 0
        self._callbacks: list[Callable[[], None]] = []

    def tell(self) -> None:
        """Wake who waits."""
        with self._changed:
            self._count += 1
            self._changed.notify_all()
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def listen(self, callback: Callable[[], None]) -> None:
        """Call back after each change that this process made, in the thread that made it."""
        with self._changed:
            self._callbacks.append(callback)

    def ignore(self, callback: Callable[[], None]) -> None:
        """Call back no more."""
        with self._changed:
            self._callbacks.remove(callback)

    def seen(self) -> tuple[int, int]:
        """Return what differs after a change; compare it within one thread."""
        with self._changed:
            count = self._count
        return count, self._file.version()

    def wait(self, seen: tuple[int, int], seconds: float) -> bool:
        """Wait until something changed since then, but for so long at most; tell whether it did."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            with self._changed:
                self._changed.wait_for(lambda: self._count != seen[0], min(left, POLL_S))
            if self.seen() != seen:
                return True
        return False


@dataclass(frozen=True, slots=True)
class Events:
    """What happened; `cursor` is what to ask after next, `missed` tells that some before are kept no more."""

    events: tuple[Event, ...]
    cursor: int
    missed: bool = False


def next_events(
    file: OperationalFile,
    changes: Changes,
    types: Sequence[str],
    *,
    after: int | None,
    agent: str,
    timeout: float,
    limit: int,
    meanwhile: Callable[[], object],
) -> Events:
    """Return what happened after a number, waiting for it; see `Agents.events`.

    `meanwhile` is called each second, because nobody else may notice that an agent is silent.
    """
    for name in types:
        checked_type(name)
    if agent:
        checked_id(agent)
    until = time.monotonic() + min(timeout, LONGEST_WAIT_S)
    start, missed = after, False
    while True:
        meanwhile()
        seen = changes.seen()
        found = events_after(file, types, after=start, agent=agent, limit=limit)
        start, missed = found.cursor, missed or found.missed
        left = until - time.monotonic()
        if found.events or left <= 0:
            _note_told(file, agent, start)
            return replace(found, missed=missed)
        changes.wait(seen, min(left, LOOK_FOR_STALE_S))


def events_after(
    file: OperationalFile, types: Sequence[str], *, after: int | None, agent: str, limit: int
) -> Events:
    """Return what happened after a number without waiting; see `Agents.events`."""
    if not file.exists():
        return Events((), after or 0)
    with file.read() as connection:
        lowest, highest = events.bounds(connection)
        start = after
        if start is None:
            known = agent and agents.agent_of(connection, agent) is not None
            start = agents.told_event(connection, agent) if known else highest
        # A number that was never given is from a file that was here before.
        strange = start > highest
        start = 0 if strange else start
        found = events.after(connection, start, types=types, limit=limit)
        cursor = found[-1].id if len(found) == limit else max(highest, start)
        return Events(tuple(found), cursor, missed=strange or start + 1 < lowest)


def _note_told(file: OperationalFile, agent: str, cursor: int) -> None:
    if not agent or not file.exists() or file.database.read_only:
        return
    with file.read() as connection:
        known = agents.agent_of(connection, agent) is not None
        late = known and agents.told_event(connection, agent) < cursor
    if late:
        with file.write() as connection:
            agents.tell_event(connection, agent, cursor)
