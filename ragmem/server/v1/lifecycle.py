"""The routes on how memories live: the report, curves of decay, and the archive."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from ragmem.api.memory import Ragmem
from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.domain.model.decay import exponential_recency
from ragmem.server.http.workers import Workers, worker_router
from ragmem.server.v1.fields import PAGE, Cursor, IdInPath, Limit, Projects
from ragmem.server.v1.life_models import RUN_NAME, ArchivePage, Curve, Decay, Lifecycle, RestoreAnswer
from ragmem.server.v1.preconditions import cursor as cursor_of
from ragmem.server.v1.preconditions import format_moment, is_stored, place_of, projects_of, require
from ragmem.services.reporting.lifecycle_picture import lifecycle_shape
from ragmem.services.retrieval.shapes import memory_shape
from ragmem.services.retrieval.superseding import first_line
from ragmem.storage.lifecycle.archive_pages import archived_page

SPAN = 2.0
"""Half-lives that a curve reaches over."""


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes over an open memory; what blocks runs in the workers."""
    router = worker_router(workers, memory, tags=["lifecycle"])
    for part in (_report, _archive):
        part(router, memory)
    return router


def _report(router: APIRouter, memory: Ragmem) -> None:
    @router.get("/lifecycle", operation_id="get_lifecycle", summary="Tell how memories live")
    def lifecycle(
        project: Projects = None,
        limit: Annotated[int, Query(ge=1, le=500, description="Items of each list.")] = 10,
    ) -> Lifecycle:
        """Return what state memories are in, what connects them, what went and why, and what goes next.

        `loners` are the memories that nothing is connected with, those that the next gc archives first, each
        with the reasons.
        """
        require(memory)
        report = memory.reports.lifecycle(projects_of(memory, project), limit=limit)
        return Lifecycle.model_validate(lifecycle_shape(report))

    @router.get("/decay", operation_id="get_decay", summary="Get the curves of decay")
    def decay(
        points: Annotated[int, Query(ge=2, le=1_000, description="Points of each curve.")] = 61,
        days: Annotated[
            float | None,
            Query(gt=0, le=36_500, description="Days that all curves reach over; else twice each half-life."),
        ] = None,
    ) -> Decay:
        """Return how the recency of each kind falls with age, and the numbers that this is made of."""
        return _decay(memory, points, days)


def _decay(memory: Ragmem, points: int, days: float | None) -> Decay:
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


def _archive(router: APIRouter, memory: Ragmem) -> None:
    @router.get("/archive", operation_id="list_archive", summary="List the archive")
    def archive(
        run: Annotated[str, Query(pattern=RUN_NAME, description="Only what this run took out.")] = "",
        rule: Annotated[
            str, Query(pattern=r"^[A-Za-z -]{0,40}$", description="Only what this rule took out.")
        ] = "",
        cursor: Cursor = "",
        limit: Limit = PAGE,
    ) -> ArchivePage:
        """Return what lies in the archive a page at a time, what was archived last first."""
        return _page(memory, run, rule, cursor, limit)

    @router.post(
        "/archive/{identifier}/restore", operation_id="restore_memory", summary="Restore an archived memory"
    )
    def restore(identifier: IdInPath) -> RestoreAnswer:
        """Bring a memory back as it was archived last; it neither ages nor is merged from then on."""
        require(memory)
        item, note = memory.gc.restore(identifier)
        return RestoreAnswer(restored=item.memory.id, run=item.run, rule=item.rule, note=note)


def _page(memory: Ragmem, run: str, rule: str, after: str, limit: int) -> ArchivePage:
    behind = place_of(after, int, str, str)
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
