"""Decide on many projects at once, in as many processes: the rules read every text, and need nothing else."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ragmem.domain.lifecycle import Connection, Entry, LifecyclePolicy
from ragmem.services.gc_lifecycle import Fate, fate_of
from ragmem.services.side_by_side import SideBySide


@dataclass(frozen=True, slots=True)
class Job:
    """The memories of one project, with all that `fate_of` asks for."""

    entries: Sequence[Entry]
    staying: Sequence[Entry]
    connections: Sequence[Connection]
    alike: Sequence[Connection]
    policy: LifecyclePolicy
    compared: bool
    settled: frozenset[str]


def decide(job: Job) -> Fate:
    """Return what becomes of the memories of a job."""
    return fate_of(
        job.staying,
        job.connections,
        alike=job.alike,
        policy=job.policy,
        compared=job.compared,
        settled=job.settled,
    )


def fates(jobs: Iterable[Job], *, workers: int) -> Iterator[tuple[Job, Fate]]:
    """Yield each job with its outcome, in order; with one worker in this process.

    A few jobs are held at a time. A process that ends early is a BrokenProcessPool.
    """
    with SideBySide(workers) as processes:
        yield from processes.each(decide, jobs)
