"""The routes on the lifecycle: the report, curves of decay, and the archive."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from ragmem.api.memory import Ragmem
from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.domain.model.decay import exponential_recency
from ragmem.server.http.handlers import is_stored
from ragmem.server.http.workers import Workers, worker_router
from ragmem.server.v1.fields import PAGE, ROUTER, Cursor, IdInPath, Limit, Projects
from ragmem.server.v1.life_models import RUN_NAME, ArchivePage, Curve, Decay, Lifecycle, RestoreAnswer
from ragmem.server.v1.preconditions import cursor as cursor_of
from ragmem.server.v1.preconditions import format_moment, place_of, projects_of, require
from ragmem.services.reporting.lifecycle_picture import lifecycle_shape
from ragmem.services.retrieval.shapes import memory_shape
from ragmem.services.retrieval.supersessions import first_line
from ragmem.storage.lifecycle.archive import archived_page

SPAN = 2.0
"""Default length of a curve, in half-lives."""


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes of an open memory; blocking work runs in the workers."""
    router = worker_router(workers, memory, **ROUTER, tags=["lifecycle"])
    for method, path, endpoint, name, summary in (
        ("GET", "/lifecycle", lifecycle, "get_lifecycle", "Get lifecycle states"),
        ("GET", "/decay", decay, "get_decay", "Get the decay curves"),
        ("GET", "/archive", archive, "list_archive", "List the archive"),
        ("POST", "/archive/{identifier}/restore", restore, "restore_memory", "Restore an archived memory"),
    ):
        router.add_api_route(path, endpoint, methods=[method], operation_id=name, summary=summary)
    return router


def lifecycle(
    memory: Ragmem,
    project: Projects = None,
    limit: Annotated[int, Query(ge=1, le=500, description="Items of each list.")] = 10,
) -> Lifecycle:
    """Return the states of memories, their connections, the archived ones and why, and the next ones.

    `loners` are isolated memories, those that the next gc archives first, each with the reasons.
    """
    require(memory)
    report = memory.reports.lifecycle(projects_of(memory, project), limit=limit)
    return Lifecycle.model_validate(lifecycle_shape(report))


def decay(
    memory: Ragmem,
    points: Annotated[int, Query(ge=2, le=1_000, description="Points of each curve.")] = 61,
    days: Annotated[
        float | None,
        Query(gt=0, le=36_500, description="Days of all curves; else twice each half-life."),
    ] = None,
) -> Decay:
    """Return the recency of each kind by age, and its parameters."""
    policy = memory.settings.decay
    counts = memory.catalog.overview.count_by("kind") if is_stored(memory) else {}
    curves = []
    for kind, half_life in policy.half_lives_days.items():
        span = days or SPAN * half_life
        ages = [span * number / (points - 1) for number in range(points)]
        curves.append(
            Curve(
                kind=kind.value,
                half_life_days=half_life,
                points=[
                    (
                        round(age, 4),
                        round(policy.recency(age, half_life), 5),
                        round(exponential_recency(age, half_life), 5),
                    )
                    for age in ages
                ],
                memories=counts.get(kind.value, 0),
            )
        )
    return Decay(
        weights={"semantic": policy.semantic_weight, "recency": policy.recency_weight},
        min_score_threshold=policy.min_score,
        bound=policy.bound,
        fresh_share=policy.fresh_share,
        fresh_days=policy.fresh_days,
        curves=curves,
    )


def archive(
    memory: Ragmem,
    run: Annotated[str, Query(pattern=RUN_NAME, description="Only what this run archived.")] = "",
    rule: Annotated[
        str, Query(pattern=r"^[A-Za-z -]{0,40}$", description="Only what this rule archived.")
    ] = "",
    cursor: Cursor = "",
    limit: Limit = PAGE,
) -> ArchivePage:
    """Return the archive a page at a time, the last archived first."""
    behind = place_of(cursor, int, str, str)
    if not is_stored(memory):
        return ArchivePage(archived=[], total=0, next=None)
    page = archived_page(
        memory.catalog.database,
        run=run,
        rule=rule,
        after=behind and (behind[0], behind[1], behind[2]),
        limit=limit,
    )
    shapes: list[dict[str, Any]] = [
        memory_shape(one.memory, redactor=memory.redactor)
        | {
            "excerpt": first_line(one.memory.text, redactor=memory.redactor),
            "run": one.run,
            "rule": one.rule,
            "archived_at": format_moment(one.at),
            "because": memory.redactor.redact(one.reason)[0],
            "successor": one.successor[:SHORT_ID_LENGTH] or None,
        }
        for one in page.items
    ]
    return ArchivePage.model_validate(
        {"archived": shapes, "total": page.total, "next": cursor_of(*page.rest) if page.rest else None}
    )


def restore(memory: Ragmem, identifier: IdInPath) -> RestoreAnswer:
    """Restore the last archived version of a memory; from then on it neither ages nor folds."""
    require(memory)
    item, note = memory.gc.restore(identifier)
    return RestoreAnswer(restored=item.memory.id, run=item.run, rule=item.rule, note=note)
