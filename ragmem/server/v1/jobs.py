"""Long jobs, one at a time: a request begins one, and later requests ask for its progress."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from starlette.exceptions import HTTPException

from ragmem.api.memory import now
from ragmem.errors import NotFoundError, RagmemError
from ragmem.server.http.workers import Workers
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
