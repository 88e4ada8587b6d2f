"""Who listens to agents' messages and events: one thread looks for all, and wakes those that it concerns."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from ragmem.errors import LimitReachedError, RagmemError
from ragmem.services.agents.agents import Agents
from ragmem.services.agents.waiting import LOOK_FOR_STALE_S, POLL_S

MOST_LISTENERS = 512
"""Streams and waiting requests at a time; one more is refused with 429."""


class Listener:
    """One that waits: for what is sent to an agent, or (an empty name) for events."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Let it look."""
        self._woken.set()

    async def woken(self, seconds: float) -> bool:
        """Wait until it is to look, but for so long at most; tell whether it is."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True


class AgentBroker:
    """All listeners of one server. They read for themselves when woken, so a slow one holds up nobody.

    The thread starts with the first of them. While there are any, it looks ten times a second whether another
    process has written (microseconds each), and is woken by what this process writes.
    """

    def __init__(self, agents: Agents, *, warn: Callable[[str], None]) -> None:
        self._agents = agents
        self._warn = warn
        self._listeners: set[Listener] = set()
        self._names: Counter[str] = Counter()
        self._delivered: list[int] = []
        self._guard = threading.Lock()
        self._look = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def count(self) -> int:
        """How many listen."""
        with self._guard:
            return len(self._listeners)

    @property
    def ended(self) -> bool:
        """Tell whether the server ends; whoever listens then has to stop."""
        return self._ended.is_set()

    def listens(self, agent: str) -> bool:
        """Tell whether a stream of an agent's messages is open."""
        with self._guard:
            return self._names[agent] > 0

    def require_room(self) -> None:
        """Raise LimitReachedError where too many listen."""
        if self.count >= MOST_LISTENERS:
            raise LimitReachedError(
                f"{MOST_LISTENERS} listeners are too many", hint="close a stream, or try again later"
            )

    @contextmanager
    def listener(self, agent: str = "") -> Iterator[Listener]:
        """Give a listener, to be woken by what is sent to an agent or else (no agent) by each event.

        What came before is not told: read it once the block has begun.
        """
        listening = Listener(agent)
        with self._guard:
            self._listeners.add(listening)
            self._names[agent] += 1
            self._loop = asyncio.get_running_loop()
            if self._thread is None and not self.ended:
                self._agents.changes.listen(self._look.set)
                self._thread = threading.Thread(target=self._run, name="agents", daemon=True)
                self._thread.start()
        self._look.set()
        try:
            yield listening
        finally:
            with self._guard:
                self._listeners.discard(listening)
                self._names[agent] -= 1
                if not self._names[agent]:
                    del self._names[agent]
            # What it was handed is written down even if it was the last to listen.
            self._look.set()

    def delivered(self, ids: Iterable[int]) -> None:
        """Note what was handed out; it is written down with what others were handed, a moment later."""
        with self._guard:
            self._delivered += ids

    def end(self) -> None:
        """Let all stop; to be called in the event loop's thread when the server begins to end."""
        self._ended.set()
        self._look.set()
        with self._guard:
            listeners = list(self._listeners)
        for listening in listeners:
            listening.wake()

    def close(self) -> None:
        """End the thread, once it has written down what was handed out."""
        self._ended.set()
        self._look.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()
            self._agents.changes.ignore(self._look.set)

    def _run(self) -> None:
        seen: tuple[int, int] | None = None
        water = (0, 0)
        looked = 0.0
        told = ""
        while not self.ended:
            self._look.wait(POLL_S if self.count else None)
            self._look.clear()
            try:
                if time.monotonic() - looked >= LOOK_FOR_STALE_S:
                    looked = time.monotonic()
                    self._agents.mark_stale()
                now = self._agents.changes.seen()
                if now != seen:
                    water = self._wake_since(water)
                    seen = now
                self._write_delivered()
                told = ""
            except RagmemError as error:
                if str(error) != told:
                    told = str(error)
                    self._warn(f"agents are not told of anything new: {error}")
                # Not ten times a second where the disk is full.
                self._ended.wait(1.0)
        self._write_what_is_left()

    def _wake_since(self, water: tuple[int, int]) -> tuple[int, int]:
        """Wake whom anything new concerns; return how far that was.

        Who begins to listen after the look at the file reads for itself, after it too.
        """
        last, receivers = self._agents.news(water)
        with self._guard:
            woken = [
                one
                for one in self._listeners
                if (one.agent in receivers if one.agent else last[1] != water[1])
            ]
            loop = self._loop
        if woken and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(_wake, woken)
        return last

    def _write_delivered(self) -> None:
        with self._guard:
            ids, self._delivered = self._delivered, []
        if ids:
            self._agents.mark_delivered(ids)

    def _write_what_is_left(self) -> None:
        try:
            self._write_delivered()
        except RagmemError as error:
            self._warn(f"it was not noted which messages were handed out: {error}")


def _wake(listeners: Iterable[Listener]) -> None:
    for listening in listeners:
        listening.wake()
