"""The routes of gc: plan, apply, undo, and list runs; the first three are jobs."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from starlette.exceptions import HTTPException

from ragmem.api.memory import Ragmem, now
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import NotFoundError, RagmemError, UsageError
from ragmem.server.http.failure_models import failure_responses
from ragmem.server.http.handlers import is_stored
from ragmem.server.http.workers import Workers, worker_router
from ragmem.server.v1.fields import PREFIX, ROUTER
from ragmem.server.v1.life_models import ApplyRequest, PlanRequest, Run, Runs, UndoRequest
from ragmem.server.v1.life_models import Job as JobAnswer
from ragmem.server.v1.preconditions import format_moment, projects_of, require
from ragmem.services.lifecycle.items import Plan
from ragmem.services.lifecycle.plan_clusters import PlanCluster

MAX_JOBS = 20
"""Maximum jobs that can be looked up."""

MAX_PLANS = 3
"""Maximum plans that are kept: each has an item for every memory."""

RETRY_AFTER_S = 2

What = Literal["plan", "apply", "undo"]
Status = Literal["running", "done", "failed"]


class ShutdownError(Exception):
    """The server ends; the job stops between two steps."""


@dataclass
class Job:
    """A job; `plan`, its `clusters` and `outcome` are set at its end."""

    what: What
    started: datetime
    id: str = field(default_factory=lambda: f"j{secrets.token_hex(4)}")
    status: Status = "running"
    ended: datetime | None = None
    step: str = ""
    done: int = 0
    total: int = 0
    error: RagmemError | None = None
    plan: Plan | None = None
    clusters: Sequence[PlanCluster] = ()
    most: int = 0
    outcome: dict[str, Any] | None = None


class JobProgress:
    """A progress that updates a job, and ends it with the server."""

    def __init__(self, job: Job, workers: Workers) -> None:
        self._job = job
        self._workers = workers

    def begin(self, label: str, total: int, *, unit: str = "") -> None:
        """Set the current step."""
        del unit
        self._job.step, self._job.done, self._job.total = label, 0, total
        self.advance(0)

    def advance(self, steps: int = 1, *, told: str = "") -> None:
        """Count steps; raises ShutdownError if the server is shutting down."""
        del told
        if self._workers.closing:
            raise ShutdownError
        self._job.done += steps


class Jobs:
    """The jobs of one server; only the event loop's thread begins and looks them up."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._running: Job | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def of(self, identifier: str) -> Job:
        """Return a job; raises NotFoundError for an unknown or forgotten one."""
        if identifier not in self._jobs:
            raise NotFoundError(
                f'there is no job "{identifier}"', hint="jobs are forgotten when the server stops: plan again"
            )
        return self._jobs[identifier]

    async def begin(self, what: What, work: Callable[[Job, JobProgress], None], *, wait: float) -> Job:
        """Begin a job and wait up to `wait` seconds for its end; raises 409 while another one runs.

        Raises the job's own error if it fails within that time.
        """
        if self._running is not None:
            running = self._running
            raise HTTPException(
                409,
                f"{running.what} still runs: GET /v1/memory/gc/jobs/{running.id} returns its progress",
                {"Retry-After": str(RETRY_AFTER_S)},
            )
        job = self._running = Job(what, now())
        self._jobs[job.id] = job
        while len(self._jobs) > MAX_JOBS:
            self._jobs.popitem(last=False)
        task = asyncio.create_task(self._run(job, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.wait({task}, timeout=wait)
        if task.done():
            task.result()
            if job.error is not None:
                raise job.error
        return job

    async def join(self) -> None:
        """Wait until no job runs."""
        await asyncio.gather(*self._tasks)

    async def _run(self, job: Job, work: Callable[[Job, JobProgress], None]) -> None:
        try:
            await self._workers.run_long(lambda: work(job, JobProgress(job, self._workers)))
            job.status, job.done = "done", job.total
        except RagmemError as error:
            job.status, job.error = "failed", error
        except ShutdownError:
            job.status, job.error = "failed", RagmemError("the server ended meanwhile")
        finally:
            if job.status == "running":
                job.status, job.error = "failed", RagmemError("this is a bug in ragmem")
            job.ended, job.step, self._running = now(), "", None
            for old in [one for one in self._jobs.values() if one.plan is not None][:-MAX_PLANS]:
                old.plan, old.clusters = None, ()


_LATER: dict[int | str, dict[str, Any]] = {
    202: {"model": JobAnswer, "description": "The job continues; get it by its id."}
}


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes of an open memory; blocking work runs in the workers, one job at a time."""
    router = worker_router(workers, memory, **ROUTER | {"prefix": f"{PREFIX}/gc"}, tags=["gc"])
    jobs = Jobs(workers)
    _add_plan_routes(router, memory, jobs)
    _add_undo_route(router, memory, jobs)

    @router.get("/jobs/{job}", operation_id="get_gc_job", summary="Get the progress of a job")
    async def job(
        identifier: Annotated[str, Path(alias="job", pattern=r"^j[0-9a-f]{8}$", examples=["j0123abcd"])],
    ) -> JobAnswer:
        """Return a job; it is known until the server stops, or twenty later jobs have begun.

        Only the latest three plans are kept.
        """
        return job_answer(jobs.of(identifier), redactor=memory.redactor)

    @router.get("/runs", operation_id="list_gc_runs", summary="List the runs of gc")
    def runs(limit: Annotated[int, Query(ge=1, le=1_000)] = 20) -> Runs:
        """Return the results of the runs of gc, latest first."""
        if not is_stored(memory):
            return Runs(runs=[])
        return Runs(
            runs=[
                Run.model_validate(
                    {
                        "run": one.run,
                        "caller": one.caller,
                        "started_at": format_moment(one.started),
                        "ended_at": format_moment(one.ended),
                        "undone_at": format_moment(one.undone),
                        "archived": one.archived,
                        "counts": dict(one.counts),
                    }
                )
                for one in memory.gc.history(limit)
            ]
        )

    return router


def _add_plan_routes(router: APIRouter, memory: Ragmem, jobs: Jobs) -> None:
    @router.post(
        "/plan",
        operation_id="plan_gc",
        summary="Plan a run of gc",
        responses={**_LATER, **failure_responses(409)},
    )
    async def plan(request: PlanRequest, response: Response) -> JobAnswer:
        """Return the plan of gc: each memory that would change, with the rule and the reason.

        No memory changes. 202 if it takes longer than `wait` seconds.
        """

        def work(job: Job, progress: JobProgress) -> None:
            require(memory)
            job.most = request.most
            job.plan = memory.gc.plan(
                missing=request.missing,
                projects=projects_of(memory, request.projects),
                rules=tuple(request.rules),
                budget_s=request.budget,
                # They slow down questions less than threads of this process would.
                workers=memory.gc.worker_count(),
                progress=progress,
            )
            job.clusters = memory.gc.clusters(job.plan, most=request.most)

        return _answer(await jobs.begin("plan", work, wait=request.wait), response, redactor=memory.redactor)

    @router.post(
        "/apply",
        operation_id="apply_gc",
        summary="Apply a plan",
        responses={**_LATER, **failure_responses(409)},
    )
    async def apply(request: ApplyRequest, response: Response) -> JobAnswer:
        """Apply the plan of a job; `confirm` must be true. It can be undone.

        A memory that has changed since the plan stays as it is. 400 if more than a third of all memories
        would go, unless `allow_large`.
        """
        planned = jobs.of(request.job).plan
        if planned is None:
            raise UsageError(
                f'the job "{request.job}" has no plan',
                hint="wait until it is done, or POST /v1/memory/gc/plan: only the latest plans are kept",
            )

        def work(job: Job, progress: JobProgress) -> None:
            done = memory.gc.apply(planned, allow_large=request.allow_large, progress=progress)
            job.outcome = asdict(done)

        return _answer(await jobs.begin("apply", work, wait=request.wait), response, redactor=memory.redactor)


def _add_undo_route(router: APIRouter, memory: Ragmem, jobs: Jobs) -> None:
    @router.post(
        "/undo",
        operation_id="undo_gc",
        summary="Undo a run",
        responses={**_LATER, **failure_responses(409)},
    )
    async def undo(request: UndoRequest, response: Response) -> JobAnswer:
        """Undo all changes of a run, by default the latest; `confirm` must be true."""

        def work(job: Job, _: JobProgress) -> None:
            require(memory)
            job.outcome = asdict(memory.gc.undo(request.run, workers=memory.gc.worker_count()))

        return _answer(await jobs.begin("undo", work, wait=request.wait), response, redactor=memory.redactor)


def _answer(job: Job, response: Response, redactor: Redactor) -> JobAnswer:
    if job.status == "running":
        response.status_code = 202
    return job_answer(job, redactor=redactor)


def job_answer(job: Job, redactor: Redactor) -> JobAnswer:
    """Return the answer for a job, without secrets."""
    return JobAnswer.model_validate(
        {
            "id": job.id,
            "what": job.what,
            "status": job.status,
            "started_at": format_moment(job.started),
            "ended_at": format_moment(job.ended),
            "step": job.step,
            "done": job.done,
            "total": job.total,
            "error": job.error.full_message if job.error else None,
            "plan": _plan(job.plan, job.clusters, job.most, redactor=redactor) if job.plan else None,
            "outcome": redactor.redact_document(job.outcome) if job.outcome else None,
        }
    )


def _plan(plan: Plan, clusters: Sequence[PlanCluster], most: int, redactor: Redactor) -> dict[str, Any]:
    shown = [item for item in plan.items if item.action != "keep" or item.others]
    found: dict[str, Any] = redactor.redact_document(
        plan.document()
        | {
            "items": [item.document() for item in shown[:most]],
            "left_out": max(0, len(shown) - most),
            "clusters": [one.document() for one in clusters],
            "cards": [[key[:12] for key in members] for members in plan.cards[:most]],
            "large": plan.large,
            "empty": plan.empty,
        }
    )
    return found
