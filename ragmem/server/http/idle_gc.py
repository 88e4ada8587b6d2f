"""Tend the memory while nobody asks it anything: gc within a time budget, given up when a request comes."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from ragmem.api.memory import Ragmem, now
from ragmem.errors import RagmemError
from ragmem.server.http.activity import Activity
from ragmem.server.http.workers import Workers
from ragmem.storage.lifecycle.idle_mark import Mark, keep_mark, mark_of, signature

EVERY = timedelta(hours=4)
"""Time between two runs; within it a memory has not changed so much that it would matter."""

BUDGET_S = 120.0
"""Seconds that a run may take; what is left the next one does."""

UNDONE = "its latest run was undone; it does once `ragmem gc` was run again"
"""Why it must not, where a person took back what it did."""

LONGEST_LOOK, SHORTEST_LOOK = 30.0, 0.05
"""Seconds between two looks at whether anybody asks."""


class NotIdleError(Exception):
    """A request came; the run ends between two steps, and each step is a transaction."""


class WhileIdle:
    """A progress that ends the run as soon as anybody asks for anything."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity

    def begin(self, label: str, total: int, *, unit: str = "") -> None:
        """Raise NotIdleError where somebody asks."""
        del label, total, unit
        self.advance()

    def advance(self, steps: int = 1, *, told: str = "") -> None:
        """Raise NotIdleError where somebody asks."""
        del steps, told
        if not self._activity.idle_since():
            raise NotIdleError


async def tend_when_idle(
    memory: Ragmem, activity: Activity, workers: Workers, warn: Callable[[str], None]
) -> None:
    """Look again and again whether nobody asks, and tend the memory then; ends when it is cancelled.

    Where `idle_minutes` is 0 it ends at once.
    """
    idle = memory.settings.lifecycle.idle_minutes * 60
    if not idle:
        return
    look = max(SHORTEST_LOOK, min(LONGEST_LOOK, idle / 4))
    waited = 0.0
    while True:
        await asyncio.sleep(look)
        waited += look
        if waited >= idle and activity.idle_since() >= idle:
            waited = 0.0
            await workers.labour(lambda: tend(memory, activity, warn))


def tend(memory: Ragmem, activity: Activity, warn: Callable[[str], None]) -> None:
    """Run gc where that is due; never raises RagmemError, `warn` gets a line instead."""
    try:
        if not memory.is_stored():
            return
        memory.require()
        database = memory.catalog.database
        if database.read_only or not _is_due(memory):
            return
        done = memory.gc.run_idle(budget_s=BUDGET_S, progress=WhileIdle(activity))
        refused = UNDONE if done is None else done.refused
        if refused:
            warn(f"gc does not run by itself: {refused}")
        if done is None or done.finished:
            # What could not be compared may be so the next time, though nothing of it changed.
            left = _state_of(memory) if done is None or not done.uncompared else ""
            keep_mark(database, Mark(now(), left, refused))
    except NotIdleError:
        # It is tried again when nobody asks for as long.
        return
    except RagmemError as error:
        warn(f"the memory was not tended: {error}")


def _state_of(memory: Ragmem) -> str:
    """Return what differs once the memory was changed, or gc was switched on or off."""
    return f"{signature(memory.catalog.database)}/{'on' if memory.lifecycle.is_automatic() else 'off'}"


def _is_due(memory: Ragmem) -> bool:
    mark = mark_of(memory.catalog.database)
    if mark is None:
        return True
    # A clock that was set back must not end it for good.
    waited = abs(now() - mark.at) >= EVERY
    return waited and mark.signature != _state_of(memory)
