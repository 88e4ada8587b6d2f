"""Decide on many projects in parallel processes: the rules need nothing but the texts."""

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
"""Number of memories from which a project is too large for one process."""


@dataclass(frozen=True, slots=True)
class _RemoteProject:
    """A project for another process, which reads it from the same file."""

    home: Path
    redactor: Redactor
    reader: Callable[[Any], Store]
    asked: ProjectRequest

    def plan(self) -> ProjectPlan:
        with (
            closing(Catalog.at(self.home, self.redactor)) as catalog,
            closing(self.reader(catalog.database)) as store,
        ):
            return plan_project(catalog, store, self.asked)


def plan_projects(
    catalog: Catalog, store: Store, asked: Iterable[ProjectRequest], *, workers: int
) -> Iterator[tuple[ProjectRequest, ProjectPlan]]:
    """Yield each project with its plan, in order; with one worker in this process.

    Several processes share the work on a large project, or on any project if they cannot read the store.
    Raises BackendError; a process that ends early raises BrokenProcessPool.
    """
    reader = store.reader() if workers > 1 else None
    with WorkerPool(workers) as processes:
        for small, some in groupby(asked, key=lambda one: one.memories < LARGE):
            if small and reader:
                elsewhere = (
                    _RemoteProject(catalog.database.home, catalog.redactor, reader, one) for one in some
                )
                yield from ((one.asked, done) for one, done in processes.each(_RemoteProject.plan, elsewhere))
            else:
                yield from ((one, plan_project(catalog, store, one, processes)) for one in some)
