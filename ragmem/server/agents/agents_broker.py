"""Wake the listeners of agents' messages and events, by one thread that polls for all of them."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from ragmem.errors import LimitReachedError, RagmemError
from ragmem.services.agents.agents import Agents
from ragmem.services.agents.changes import LOOK_FOR_STALE_S, POLL_S

MOST_LISTENERS = 512
"""Maximum streams and waiting requests; one more is refused with 429."""


class Listener:
    """A stream or request that waits for messages to an agent, or (with an empty name) for events."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """End the current wait."""
        self._woken.set()

    async def wait(self, seconds: float) -> bool:
        """Wait until woken or until the timeout; return whether it was woken."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True


class AgentBroker:
    """All listeners of one server. A woken one reads for itself, so a slow one delays nobody.

    The thread starts with the first listener. While there are any, it checks ten times a second whether
    another process has written (microseconds each), and writes of this process wake it at once.
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
        """The number of listeners."""
        with self._guard:
            return len(self._listeners)

    @property
    def is_ending(self) -> bool:
        """Whether the server is shutting down; listeners then have to stop."""
        return self._ended.is_set()

    def listens(self, agent: str) -> bool:
        """Return whether a stream of an agent's messages is open."""
        with self._guard:
            return self._names[agent] > 0

    def require_room(self) -> None:
        """Raise LimitReachedError if there are too many listeners."""
        if self.count >= MOST_LISTENERS:
            raise LimitReachedError(
                f"{MOST_LISTENERS} listeners are too many", hint="close a stream, or try again later"
            )

    @contextmanager
    def listener(self, agent: str = "") -> Iterator[Listener]:
        """Give a listener that each message to an agent wakes, or without an agent each event.

        Earlier items do not wake it: read them within the block.
        """
        listener = Listener(agent)
        with self._guard:
            self._listeners.add(listener)
            self._names[agent] += 1
            self._loop = asyncio.get_running_loop()
            if self._thread is None and not self.is_ending:
                self._agents.changes.listen(self._look.set)
                self._thread = threading.Thread(target=self._run, name="agents", daemon=True)
                self._thread.start()
        self._look.set()
        try:
            yield listener
        finally:
            with self._guard:
                self._listeners.discard(listener)
                self._names[agent] -= 1
                if not self._names[agent]:
                    del self._names[agent]
            # Its deliveries are stored even if it was the last listener.
            self._look.set()

    def mark_delivered(self, ids: Iterable[int]) -> None:
        """Mark messages as delivered; the thread stores this a moment later, for all listeners at once."""
        with self._guard:
            self._delivered += ids

    def end(self) -> None:
        """Wake all listeners at the shutdown; call it in the thread of the event loop."""
        self._ended.set()
        self._look.set()
        with self._guard:
            _wake(self._listeners)

    def close(self) -> None:
        """End the thread after it has stored the deliveries."""
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
        while not self.is_ending:
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
                    self._warn(f"agents are not notified: {error}")
                # Retry less often, for example while the disk is full.
                self._ended.wait(1.0)
        self._write_what_is_left()

    def _wake_since(self, water: tuple[int, int]) -> tuple[int, int]:
        """Wake the listeners of new items; return the last message and event.

        A listener that starts after this read reads later itself.
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
            self._warn(f"the delivery of messages was not recorded: {error}")


def _wake(listeners: Iterable[Listener]) -> None:
    for listener in listeners:
        listener.wake()
