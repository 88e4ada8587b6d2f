"""The routes on the whole memory: stats, sources, timeline, health, log."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, date, timedelta
from typing import Annotated, Any, Generic, Literal, TypeVar

import orjson
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import Field

from ragmem.api.memory import Ragmem, now
from ragmem.assistants.places import Places
from ragmem.domain.model import State
from ragmem.ports import Embedder, LanguageModel, Models
from ragmem.ports.principal import confined_member
from ragmem.server.http.handlers import is_stored
from ragmem.server.http.workers import Workers, worker_router
from ragmem.server.v1.fields import ROUTER
from ragmem.server.v1.overview_models import (
    Check,
    Health,
    LogAnswer,
    OperationShape,
    Progress,
    SourceItem,
    Sources,
    Stats,
    Timeline,
    UnreadAnswer,
    UnreadFiles,
)
from ragmem.server.v1.preconditions import (
    NOT_MODIFIED,
    etag,
    etag_response,
    format_moment,
    matches,
    not_modified,
)
from ragmem.server.v1.selection import Selection
from ragmem.services.processes.operation import operation
from ragmem.storage.lifecycle.idle_mark import signature
from ragmem.storage.memories.memory_list import days, ends

By = Literal["day", "week", "month", "year"]

MOST_BUCKETS = 2_000
"""Maximum spans of a timeline, the latest."""

REUSE_S = 60.0
"""Seconds for which a check, or a search for files, is reused: each takes a second of a processor or more."""


class TimelineQuery(Selection):
    """The filters of a timeline, and the length of its spans."""

    by: By = Field(default="day", description="The length of a span, in UTC; weeks begin on Monday.")


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes of an open memory; blocking work runs in the workers."""
    router = worker_router(workers, memory, **ROUTER, tags=["overview"])
    _add_counts(router, memory)
    router.get("/timeline", operation_id="get_timeline", summary="Count memories by time")(timeline)
    router.get("/progress", operation_id="get_progress", summary="Get the progress of a setup or a seed")(
        progress
    )
    _add_looks(router, memory, workers)
    router.get("/log", operation_id="get_log", summary="List the log of operations")(log)
    return router


def _add_counts(router: APIRouter, memory: Ragmem) -> None:
    @router.get(
        "/stats",
        operation_id="get_stats",
        summary="Get statistics",
        response_model=Stats,
        responses=NOT_MODIFIED,
    )
    def stats(request: Request) -> Response:
        """Return counts of stored data; zeros if nothing is stored. The `ETag` shows changes."""
        stored = is_stored(memory)
        archived = memory.catalog.archive.count() if stored else 0
        held = memory.inbox.status()
        states = memory.catalog.overview.count_by("state") if stored else {}
        mark = signature(memory.catalog.database) if stored else ""
        tag = etag(mark, archived, held.writes, len(held.aside), sorted(states.items()))
        if matches(request, tag):
            return not_modified(tag)
        found = memory.reports.statistics() if stored else _empty_statistics(memory)
        if confined_member() is not None:
            # Members may not see its location or how much others have stored.
            found |= {name: type(found[name])() for name in ("home", "database", "bytes") if name in found}
        return etag_response(tag, orjson.dumps(found | {"archived": archived}))

    router.get("/sources", operation_id="list_sources", summary="List the sources")(sources)


def _empty_statistics(memory: Ragmem) -> dict[str, Any]:
    empty: dict[str, dict[str, int]] = {name: {} for name in ("state", "source", "kind", "tier", "project")}
    return {
        "home": str(memory.settings.places.data),
        "bytes": 0,
        "catalog": empty | {"total": {"memories": 0, "chunks": 0, "characters": 0}},
        "store": {},
        "models": memory.settings.models.backend,
        "inbox": {
            "waiting": memory.inbox.status().writes,
            "since": None,
            "aside": len(memory.inbox.status().aside),
        },
    }


def sources(memory: Ragmem) -> Sources:
    """Return the configured sources with their globs, and the number of their stored memories."""
    stored: dict[str, dict[str, Any]] = {}
    if is_stored(memory):
        stored = {str(row["source"]): row for row in memory.catalog.overview.source_rows()}
    specs = memory.settings.sources
    listed = []
    for name in [*specs, *(one for one in stored if one not in specs)]:
        spec, row = specs.get(name), stored.get(name, {})
        listed.append(
            SourceItem(
                source=name,
                memories=row.get("memories", 0),
                newest=format_moment(row.get("newest")),
                reader=spec.reader if spec else None,
                scope=spec.scope if spec else None,
                signal=spec.signal if spec else None,
                enabled=spec.enabled if spec else None,
                globs=list(spec.globs) if spec else [],
            )
        )
    return Sources(sources=listed)


def timeline(memory: Ragmem, wanted: Annotated[TimelineQuery, Query()]) -> Timeline:
    """Return the number of memories of each span and kind, by the time of their events.

    The memories of a span are `GET /v1/memory/memories` with its `since` and `until`.
    """
    buckets: dict[date, Counter[str]] = {}
    span = None
    if is_stored(memory):
        selected = wanted.filter(memory)
        span = ends(memory.catalog.database, selected)
        for day, kind, count in days(memory.catalog.database, selected):
            start = _start(date(1970, 1, 1) + timedelta(days=day), wanted.by)
            buckets.setdefault(start, Counter())[kind] += count
    total = sum(count.total() for count in buckets.values())
    shown = list(buckets.items())[-MOST_BUCKETS:]
    return Timeline.model_validate(
        {
            "by": wanted.by,
            "total": total,
            "first": format_moment(span[0]) if span else None,
            "last": format_moment(span[1]) if span else None,
            "buckets": [
                {"start": start.isoformat(), "total": count.total(), "kinds": dict(sorted(count.items()))}
                for start, count in shown
            ],
            "is_truncated": len(shown) < len(buckets),
        }
    )


def _start(day: date, by: By) -> date:
    if by == "week":
        # The first week of the year 1 has no Monday.
        return day - timedelta(days=min(day.weekday(), day.toordinal() - 1))
    if by == "month":
        return day.replace(day=1)
    return day.replace(month=1, day=1) if by == "year" else day


def progress(memory: Ragmem) -> Progress:
    """Return what runs now on this home, in any process, and how many memories have their vectors.

    Cheap enough to be asked for every second.
    """
    # What it reads now may be a file of this machine.
    running = operation(memory.settings.places.state) if confined_member() is None else None
    states = memory.catalog.overview.count_by("state") if is_stored(memory) else {}
    return Progress(
        operation=OperationShape(**asdict(running)) if running else None,
        memories=sum(states.values()),
        indexed=states.get(State.INDEXED, 0),
        pending=states.get(State.PENDING, 0),
    )


_Found = TypeVar("_Found")


class _CachedResult(Generic[_Found]):
    """Caches the result of work that takes seconds; it runs once at a time, for all clients."""

    def __init__(self, workers: Workers, work: Callable[[], _Found]) -> None:
        self._workers = workers
        self._work = work
        self._latest: asyncio.Task[_Found] | None = None
        self._until = 0.0

    async def result(self) -> _Found:
        """Return the result, from new work if the last one is old or failed."""
        if self._latest is None or (self._latest.done() and time.monotonic() >= self._until):
            self._until = 0.0
            self._latest = asyncio.create_task(self._run())
        # Other clients wait for it as well.
        return await asyncio.shield(self._latest)

    async def _run(self) -> _Found:
        found = await self._workers.ask(self._work)
        self._until = time.monotonic() + REUSE_S
        return found


class _SharedModels:
    """The models of the open memory, which stay open when the borrower closes them."""

    def __init__(self, models: Models) -> None:
        self._models = models

    @property
    def embedder(self) -> Embedder:
        """The embedder."""
        return self._models.embedder

    @property
    def language_model(self) -> LanguageModel | None:
        """The language model."""
        return self._models.language_model

    def check(self) -> list[str]:
        """Return the problems of their files."""
        return self._models.check()

    def close(self) -> None:
        """Leave them open."""


def _examine(memory: Ragmem) -> Health:
    # A second memory, so that the threads of the open one can write; the models need not load twice.
    models = _SharedModels(memory.models.wanted)
    with Ragmem(memory.settings, home=memory.home, cwd=memory.cwd, models=models) as beside:
        report = beside.doctor.examine(read_only=True)
    counts = Counter(check.status for check in report.checks)
    worst = next((status for status in ("failed", "warning") if counts[status]), "ok")
    return Health.model_validate(
        {
            "status": worst,
            "checked_at": format_moment(now().astimezone(UTC)),
            "checks": [
                Check.model_validate(
                    memory.redactor.redact_document(
                        {"name": one.name, "status": one.status, "detail": one.detail, "fix": one.fix}
                    )
                )
                for one in report.checks
            ],
            "counts": dict(counts),
        }
    )


def _find_unread(memory: Ragmem) -> UnreadAnswer:
    from ragmem.services.setup.survey import all_unread

    places = Places(os.environ, memory.home, memory.cwd)
    unread, cut = all_unread(memory.settings, memory.catalog, places)
    rows = [UnreadFiles(**memory.redactor.redact_document(asdict(one))) for one in unread]
    return UnreadAnswer.model_validate(
        {"looked_at": format_moment(now().astimezone(UTC)), "unread": rows, "cut": cut}
    )


def _add_looks(router: APIRouter, memory: Ragmem, workers: Workers) -> None:
    # The module's function is looked up with each check: a test puts a slow one there.
    examined = _CachedResult(workers, lambda: _examine(memory))
    searched = _CachedResult(workers, lambda: _find_unread(memory))

    @router.get("/health", operation_id="get_memory_health", summary="Run health checks")
    async def health() -> Health:
        """Return the result of the quick checks of `ragmem doctor --read-only`, cached for a minute."""
        return await examined.result()

    @router.get("/unread", operation_id="list_unread", summary="List unread files")
    async def unread() -> UnreadAnswer:
        """Return the files on this machine that the memory does not hold, cached for a minute.

        Only names, sizes and times are looked at. Files that are new come first, then those that could not be
        read, then what no source reads: transcripts and documents that are turned off, notes, pages.
        """
        return await searched.result()


def log(memory: Ragmem, limit: Annotated[int, Query(ge=1, le=1_000)] = 20) -> LogAnswer:
    """Return the operations on the memory, latest first: counts and names, no texts."""
    if not is_stored(memory):
        return LogAnswer(log=[])
    runs = {run.run for run in memory.catalog.archive.runs()}
    entries = memory.catalog.log.entries(limit=limit)
    return LogAnswer.model_validate(
        {
            "log": memory.redactor.redact_document(
                [
                    {
                        **entry,
                        "at": format_moment(entry["at"]),
                        "undoable": entry["detail"].get("run") in runs,
                    }
                    for entry in entries
                ]
            )
        }
    )
