"""Notify of changes by other threads and processes in the agent registry."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragmem.domain.sessions.agents import Event
from ragmem.storage.operational import agents, events
from ragmem.storage.operational.file import OperationalFile

POLL_S = 0.1
"""Seconds between two checks for changes by other processes; each takes microseconds."""

LONGEST_WAIT_S = 300.0

LOOK_FOR_STALE_S = 1.0


class Changes:
    """Notifies threads of changes: of this process at once, of other processes by polling."""

    def __init__(self, file: OperationalFile) -> None:
        self._file = file
        self._changed = threading.Condition()
        self._count = 0
        self._callbacks: list[Callable[[], None]] = []

    def tell(self) -> None:
        """Wake all waiting threads."""
        with self._changed:
            self._count += 1
            self._changed.notify_all()
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def listen(self, callback: Callable[[], None]) -> None:
        """Call back after each change by this process, in the thread of the change."""
        with self._changed:
            self._callbacks.append(callback)

    def ignore(self, callback: Callable[[], None]) -> None:
        """Remove a callback."""
        with self._changed:
            self._callbacks.remove(callback)

    def seen(self) -> tuple[int, int]:
        """Return a token that differs after a change; compare it within one thread."""
        with self._changed:
            count = self._count
        return count, self._file.version()

    def wait(self, seen: tuple[int, int], seconds: float) -> bool:
        """Wait until something has changed since then, or until the timeout; return whether it has."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            with self._changed:
                self._changed.wait_for(lambda: self._count != seen[0], min(left, POLL_S))
            if self.seen() != seen:
                return True
        return False


@dataclass(frozen=True, slots=True)
class Events:
    """Events; `cursor` is the number to continue after, `missed` tells that older ones were deleted."""

    events: tuple[Event, ...]
    cursor: int
    missed: bool = False


def events_after(
    file: OperationalFile, types: Sequence[str], *, after: int | None, agent: str, limit: int
) -> Events:
    """Return the events after a number without waiting; see `Agents.events`."""
    if not file.exists():
        return Events((), after or 0)
    with file.read() as connection:
        lowest, highest = events.bounds(connection)
        start = after
        if start is None:
            known = agent and agents.agent_of(connection, agent) is not None
            start = agents.last_event(connection, agent) if known else highest
        # An unknown number comes from an earlier file.
        strange = start > highest
        start = 0 if strange else start
        found = events.after(connection, start, types=types, limit=limit)
        cursor = found[-1].id if len(found) == limit else max(highest, start)
        return Events(tuple(found), cursor, missed=strange or start + 1 < lowest)


def mark_announced(file: OperationalFile, agent: str, cursor: int) -> None:
    """Remember the last event that an agent got."""
    if not agent or not file.exists() or file.database.read_only:
        return
    with file.read() as connection:
        known = agents.agent_of(connection, agent) is not None
        late = known and agents.last_event(connection, agent) < cursor
    if late:
        with file.write() as connection:
            agents.tell_event(connection, agent, cursor)
