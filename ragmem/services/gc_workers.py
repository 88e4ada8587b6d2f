"""Decide on many projects at once, in as many processes: the rules read every text, and need nothing else."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass

from ragmem.domain.lifecycle import Connection, Entry, LifecyclePolicy
from ragmem.services.gc_lifecycle import Fate, fate_of


@dataclass(frozen=True, slots=True)
class Job:
    """The memories of one project, with all that `fate_of` asks for."""

    entries: Sequence[Entry]
    staying: Sequence[Entry]
    connections: Sequence[Connection]
    policy: LifecyclePolicy
    compared: bool
    settled: frozenset[str]


def decide(job: Job) -> Fate:
    """Return what becomes of the memories of a job."""
    return fate_of(
        job.staying, job.connections, policy=job.policy, compared=job.compared, settled=job.settled
    )


def fates(jobs: Iterable[Job], *, workers: int) -> Iterator[tuple[Job, Fate]]:
    """Yield each job with its outcome, in order; with one worker in this process.

    A few jobs are held at a time. A process that ends early is a BrokenProcessPool.
    """
    if workers <= 1:
        yield from ((job, decide(job)) for job in jobs)
        return
    # Not forked: other threads of this process may hold locks.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_leave_interrupts) as pool:
        waiting: deque[tuple[Job, Future[Fate]]] = deque()
        try:
            for job in jobs:
                waiting.append((job, pool.submit(decide, job)))
                if len(waiting) > workers:
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _leave_interrupts() -> None:
    """Let the process that waits for this one hear of ^C, and tell of it once."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def cores() -> int:
    """Return how many processes can run at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
