"""The routes on the whole memory: stats, sources, timeline, health, log."""

import asyncio
import time
from collections import Counter
from datetime import UTC, date, timedelta
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import Field

from ragmem.api.memory import Ragmem, now
from ragmem.ports import Embedder, LanguageModel, Models
from ragmem.server.http.handlers import is_stored
from ragmem.server.http.workers import Workers, worker_router
from ragmem.server.v1.etag import NOT_MODIFIED, etag, etag_response, matches, not_modified
from ragmem.server.v1.overview_models import (
    Check,
    Health,
    LogAnswer,
    SourceItem,
    Sources,
    Stats,
    Timeline,
)
from ragmem.server.v1.preconditions import format_moment
from ragmem.server.v1.selection import Selection
from ragmem.storage.lifecycle.idle_mark import signature
from ragmem.storage.memories.memory_list import days, ends

By = Literal["day", "week", "month", "year"]

MOST_BUCKETS = 2_000
"""Maximum spans of a timeline, the latest."""

HEALTH_TTL_S = 60.0
"""Seconds for which a health check is reused: a check takes a second of a processor."""


class TimelineQuery(Selection):
    """The filters of a timeline, and the length of its spans."""

    by: By = Field(default="day", description="The length of a span, in UTC; weeks begin on Monday.")


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes of an open memory; blocking work runs in the workers."""
    router = worker_router(workers, memory, tags=["overview"])
    _add_counts(router, memory)
    router.get("/timeline", operation_id="get_timeline", summary="Count memories by time")(timeline)
    _add_health(router, memory, workers)
    return router


def _add_counts(router: APIRouter, memory: Ragmem) -> None:
    @router.get(
        "/stats",
        operation_id="get_stats",
        summary="Count what there is",
        response_model=Stats,
        responses=NOT_MODIFIED,
    )
    def stats(request: Request) -> Response:
        """Return counts of stored data; zeros if nothing is stored. The `ETag` tells whether it changed."""
        stored = is_stored(memory)
        archived = memory.catalog.archive.count() if stored else 0
        held = memory.inbox.status()
        states = memory.catalog.overview.count_by("state") if stored else {}
        mark = signature(memory.catalog.database) if stored else ""
        tag = etag(mark, archived, held.writes, len(held.aside), sorted(states.items()))
        if matches(request, tag):
            return not_modified(tag)
        found = memory.reports.statistics() if stored else _empty_statistics(memory)
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


class _HealthCache:
    """Caches the result of the health check; one check runs at a time, for all clients."""

    def __init__(self, memory: Ragmem, workers: Workers) -> None:
        self._memory = memory
        self._workers = workers
        self._latest: asyncio.Task[Health] | None = None
        self._until = 0.0

    async def health(self) -> Health:
        """Return the result, from a new check if the last one is old or failed."""
        if self._latest is None or (self._latest.done() and time.monotonic() >= self._until):
            self._until = 0.0
            self._latest = asyncio.create_task(self._examine())
        # Other clients wait for it as well.
        return await asyncio.shield(self._latest)

    async def _examine(self) -> Health:
        found = await self._workers.ask(lambda: _examine(self._memory))
        self._until = time.monotonic() + HEALTH_TTL_S
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


def _add_health(router: APIRouter, memory: Ragmem, workers: Workers) -> None:
    examined = _HealthCache(memory, workers)

    @router.get("/health", operation_id="get_memory_health", summary="Examine the memory")
    async def health() -> Health:
        """Return the result of the quick checks of `ragmem doctor --read-only`, cached for a minute."""
        return await examined.health()

    @router.get("/log", operation_id="get_log", summary="Tell what was done")
    def log(limit: Annotated[int, Query(ge=1, le=1_000)] = 20) -> LogAnswer:
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
