"""Jobs in the background, one at a time, in the terms of LightRAG's pipeline."""

import asyncio
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from fastapi import FastAPI

from ragmem.api.memory import Ragmem
from ragmem.errors import RagmemError
from ragmem.server.http.workers import Workers
from ragmem.services.processes.progress import Progress

MAX_JOBS = 50
"""Maximum jobs whose state is kept."""

LINES = 200
"""Maximum lines of the history."""

JobState = Literal["running", "completed", "failed", "cancelled"]


class CancelledJobError(Exception):
    """The job was cancelled; it ends between two steps, each of which is a transaction."""


@dataclass
class Job:
    """One job in the background, which is its own progress."""

    name: str
    track_id: str
    tell: Callable[[str], None]
    began: float = field(default_factory=time.time)
    changed: float = field(default_factory=time.time)
    state: JobState = "running"
    message: str = ""
    total: int = 0
    done: int = 0
    steps: int = 0
    wanted: bool = True

    def begin(self, label: str, total: int, *, unit: str = "") -> None:
        """Start a part of the work."""
        del unit
        self.message, self.total, self.done = label, total, 0
        self.tell(f"{label}: {total}")
        self.advance(0)

    def advance(self, steps: int = 1, *, told: str = "") -> None:
        """Count completed steps; raises CancelledJobError if the job was cancelled."""
        del told
        self.done += steps
        self.steps += 1
        self.changed = time.time()
        if not self.wanted:
            raise CancelledJobError

    def end(self, state: JobState, message: str) -> None:
        """Set the final state."""
        self.state, self.message, self.changed = state, message, time.time()

    @property
    def began_at(self) -> str:
        """When it began, RFC 3339."""
        return datetime.fromtimestamp(self.began, tz=UTC).isoformat()


class Pipeline:
    """The jobs of one server; one runs at a time."""

    def __init__(self, memory: Ragmem, workers: Workers) -> None:
        self._memory = memory
        self._workers = workers
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._running: asyncio.Task[None] | None = None
        self.lines: deque[str] = deque(maxlen=LINES)

    @property
    def latest(self) -> Job | None:
        """The current or last job."""
        return next(reversed(self._jobs.values()), None)

    @property
    def busy(self) -> bool:
        """Whether a job runs."""
        return self._running is not None and not self._running.done()

    def job(self, track_id: str) -> Job | None:
        """Return a job; None if it is unknown or forgotten."""
        return self._jobs.get(track_id)

    def begin(self, name: str, work: Callable[[Progress], str]) -> Job | None:
        """Begin a job whose work returns a line of results; None if another job runs."""
        if self.busy:
            return None
        job = Job(name, f"{name}_{secrets.token_hex(8)}", lambda text: self._say(name, text))
        self._jobs[job.track_id] = job
        while len(self._jobs) > MAX_JOBS:
            self._jobs.popitem(last=False)
        self._running = asyncio.create_task(self._run(job, work))
        return job

    def cancel(self) -> bool:
        """End the running job after its current step; False if none runs."""
        job = self.latest
        if job is None or not self.busy:
            return False
        job.wanted = False
        return True

    async def _run(self, job: Job, work: Callable[[Progress], str]) -> None:
        job.tell("begins")
        try:
            job.end("completed", await self._workers.run_long(lambda: work(job)))
        except CancelledJobError:
            job.end("cancelled", "cancelled; completed work is kept")
        except RagmemError as error:
            job.end("failed", error.full_message)
        except Exception:
            # The traceback goes to the log with the task; clients must not wait for ever.
            job.end("failed", "this is a bug in ragmem; the log of the server has the traceback")
            raise
        job.tell(job.message)

    def _say(self, name: str, text: str) -> None:
        self.lines.append(f"{datetime.now(tz=UTC):%Y-%m-%d %H:%M:%S} {name}: {text}")

    @asynccontextmanager
    async def lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        """Cancel the running job at the end of the server."""
        try:
            yield
        finally:
            if self.cancel() and self._running is not None:
                await self._running
