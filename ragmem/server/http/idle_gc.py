"""Run gc on an idle server, within a time budget; a request interrupts it."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from ragmem.api.memory import Ragmem, now
from ragmem.errors import RagmemError
from ragmem.server.http.activity import Activity
from ragmem.server.http.workers import Workers
from ragmem.storage.lifecycle.idle_mark import Mark, mark_of, signature, write_mark

EVERY = timedelta(hours=4)
"""Minimum time between two runs; a memory hardly changes within it."""

BUDGET_S = 120.0
"""Maximum seconds of a run; the next run does the rest."""

UNDONE = "its latest run was undone; run `ragmem gc` to resume"
"""The reason not to run after the user undid the latest run."""

LONGEST_LOOK, SHORTEST_LOOK = 30.0, 0.05
"""Seconds between two checks for requests."""


class NotIdleError(Exception):
    """A request arrived; the run ends between two steps, each of which is a transaction."""


class IdleProgress:
    """A progress that ends the run at the next request."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity

    def begin(self, label: str, total: int, *, unit: str = "") -> None:
        """Raise NotIdleError if a request is open."""
        del label, total, unit
        self.advance()

    def advance(self, steps: int = 1, *, told: str = "") -> None:
        """Raise NotIdleError if a request is open."""
        del steps, told
        if not self._activity.idle_seconds():
            raise NotIdleError


async def run_gc_when_idle(
    memory: Ragmem, activity: Activity, workers: Workers, warn: Callable[[str], None]
) -> None:
    """Run gc whenever the server is idle, until cancelled; returns at once if `idle_minutes` is 0."""
    idle = memory.settings.lifecycle.idle_minutes * 60
    if not idle:
        return
    look = max(SHORTEST_LOOK, min(LONGEST_LOOK, idle / 4))
    waited = 0.0
    while True:
        await asyncio.sleep(look)
        waited += look
        if waited >= idle and activity.idle_seconds() >= idle:
            waited = 0.0
            await workers.run_long(lambda: run_gc(memory, activity, warn))


def run_gc(memory: Ragmem, activity: Activity, warn: Callable[[str], None]) -> None:
    """Run gc if it is due; never raises RagmemError, but passes a line to `warn`."""
    try:
        if not memory.is_stored():
            return
        memory.require()
        database = memory.catalog.database
        if database.read_only or not _is_due(memory):
            return
        done = memory.gc.run_idle(budget_s=BUDGET_S, progress=IdleProgress(activity))
        refused = UNDONE if done is None else done.refused
        if refused:
            warn(f"idle gc does not run: {refused}")
        if done is None or done.finished:
            # Memories that could not be compared now may be comparable next time, without a change.
            left = _state_of(memory) if done is None or not done.uncompared else ""
            write_mark(database, Mark(now(), left, refused))
    except NotIdleError:
        return  # the next idle time tries again
    except RagmemError as error:
        warn(f"gc failed on the idle server: {error}")


def _state_of(memory: Ragmem) -> str:
    """Return a text that differs once the memory has changed, or gc was switched on or off."""
    return f"{signature(memory.catalog.database)}/{'on' if memory.lifecycle.is_automatic() else 'off'}"


def _is_due(memory: Ragmem) -> bool:
    mark = mark_of(memory.catalog.database)
    if mark is None:
        return True
    # A clock that was set back must not stop gc for good.
    waited = abs(now() - mark.at) >= EVERY
    return waited and mark.signature != _state_of(memory)
