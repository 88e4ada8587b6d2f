"""Decide on many projects at once, in as many processes: the rules read every text, and need nothing else."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from ragmem.domain.secrets.redaction import Redactor
from ragmem.ports import Store
from ragmem.services.lifecycle.project import ProjectPlan, ProjectRequest, plan_project
from ragmem.services.processes.worker_pool import WorkerPool
from ragmem.storage.home.catalog import Catalog

LARGE = 15_000
"""Memories of a project that is too much for one process."""


@dataclass(frozen=True, slots=True)
class _RemoteProject:
    """A project that another process decides on, which reads it from the same file."""

    home: Path
    redactor: Redactor
    reader: Callable[[Any], Store]
    asked: ProjectRequest

    def planned(self) -> ProjectPlan:
        with (
            closing(Catalog.at(self.home, self.redactor)) as catalog,
            closing(self.reader(catalog.database)) as store,
        ):
            return plan_project(catalog, store, self.asked)


def plans(
    catalog: Catalog, store: Store, asked: Iterable[ProjectRequest], *, workers: int
) -> Iterator[tuple[ProjectRequest, ProjectPlan]]:
    """Yield each project with what it adds to the plan, in order; with one worker from this process.

    On a large project all processes work together, and so they do where other processes cannot read what is
    stored. Raises BackendError; a process that ends early is a BrokenProcessPool.
    """
    reader = store.reader() if workers > 1 else None
    with WorkerPool(workers) as processes:
        for small, some in groupby(asked, key=lambda one: one.memories < LARGE):
            if small and reader:
                elsewhere = (
                    _RemoteProject(catalog.database.home, catalog.redactor, reader, one) for one in some
                )
                yield from (
                    (one.asked, done) for one, done in processes.each(_RemoteProject.planned, elsewhere)
                )
            else:
                yield from ((one, plan_project(catalog, store, one, processes)) for one in some)
