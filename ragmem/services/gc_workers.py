"""Decide on many projects at once, in as many processes: the rules read every text, and need nothing else."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from ragmem.domain.lifecycle import Connection, Entry, LifecyclePolicy
from ragmem.services.gc_lifecycle import Fate, fate_of
from ragmem.services.side_by_side import SideBySide

if TYPE_CHECKING:
    from ragmem.services.alike_pairs import AlikePairs

LARGE = 15_000
"""Memories of a project that is too much for one process."""


@dataclass(frozen=True, slots=True)
class Job:
    """The memories of one project, with all that `fate_of` asks for."""

    entries: Sequence[Entry]
    staying: Sequence[Entry]
    connections: Sequence[Connection]
    comparing: Sequence["AlikePairs"]
    """What tells which of the memories are alike."""
    policy: LifecyclePolicy
    compared: bool
    settled: frozenset[str]


def decide(job: Job, processes: SideBySide | None = None) -> Fate:
    """Return what becomes of the memories of a job."""
    return fate_of(
        job.staying,
        job.connections,
        alike=[pair for part in job.comparing for pair in part.found()],
        policy=job.policy,
        compared=job.compared,
        settled=job.settled,
        processes=processes,
    )


def fates(jobs: Iterable[Job], *, workers: int) -> Iterator[tuple[Job, Fate]]:
    """Yield each job with its outcome, in order; with one worker in this process.

    A few jobs are held at a time; on a large one all processes work together.
    A process that ends early is a BrokenProcessPool.
    """
    with SideBySide(workers) as processes:
        for large, some in groupby(jobs, key=lambda job: len(job.staying) >= LARGE):
            if large:
                yield from ((job, decide(job, processes)) for job in some)
            else:
                yield from processes.each(decide, some)
