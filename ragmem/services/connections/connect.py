"""Connect memories with others of their project that have the same subject.

Candidates are the nearest by vectors and those that share a rare name. The common words
(domain/lifecycle/connections.py) decide, and the strongest are kept. A few new memories are compared with
their nearest neighbours in the store, many with all.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from ragmem.domain.lifecycle.connections import COPY, FEWEST, Scale, is_due, known_scale, scale_from
from ragmem.ports import Store, VectorIndex
from ragmem.services.processes.progress import Progress, Silent
from ragmem.services.processes.worker_pool import WorkerPool
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.connections import StoredScale

if TYPE_CHECKING:
    from ragmem.services.connections.comparison import Comparison
    from ragmem.services.connections.pair_comparison import Job

FEW_SHARE = 1000
"""Up to this share of a project, new memories are few: single look-ups are faster than reading all."""

LOOKED_UP = 64
"""Chunks that are looked up for each of a few new memories."""

MANY = 5000
"""Minimum waiting memories for parallel processes, each of which takes half a second to start."""

LARGEST = 20_000
"""Maximum memories of a project for another process: some tens of megabytes."""


@dataclass(frozen=True, slots=True)
class ConnectionReport:
    """The result: memories compared, connections written, and memories that still wait.

    `scale` is None if there is no scale yet; `note` then gives the reason. A waiting memory may have
    connections that are not known yet.
    """

    new: int = 0
    connections: int = 0
    waiting: int = 0
    note: str = ""
    scale: StoredScale | None = None


def connect(
    catalog: Catalog,
    store: Store,
    *,
    now: datetime,
    budget_s: float | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> ConnectionReport:
    """Compare the new memories with all others of their project.

    A run writes some thousand at a time, and a later run continues after a stop by the budget or a kill. A
    changed text is compared again, and loses the connections of its former text. With several `workers`,
    projects with many waiting memories are compared in other processes, while this one reads and writes.
    Raises BackendError if the active model is unavailable, BrokenProcessPool if a process ends early.
    """
    model = store.answering_model()
    scale = _current_scale(catalog, store, now=now)
    waiting = catalog.connections.count_uncompared(model)
    left = sum(waiting.values())
    if scale is None:
        note = f'fewer than {FEWEST} memories are too few to compare by "{model}": nothing is connected'
        return ConnectionReport(waiting=left, note=note if left else "")
    told = progress or Silent()
    told.begin("connecting", left)
    until = None if budget_s is None else time.monotonic() + budget_s
    done = written = 0
    with WorkerPool(workers if left >= MANY else 1) as processes:
        for compared, edges in _compare(catalog, store, waiting, scale.scale, processes, until=until):
            done += compared
            written += edges
            told.advance(compared)
            if until is not None and time.monotonic() > until:
                return ConnectionReport(done, written, left - done, "the time was used up", scale)
    return ConnectionReport(done, written, left - done, scale=scale)


def _compare(
    catalog: Catalog,
    store: VectorIndex,
    waiting: Mapping[str, int],
    scale: Scale,
    processes: WorkerPool,
    *,
    until: float | None,
) -> Iterator[tuple[int, int]]:
    """Compare the new memories of each project; yield the numbers of memories and connections per write."""
    sizes = catalog.connections.sizes()

    def is_handed_over(project: str) -> bool:
        size = sizes.get(project, 0)
        return processes.workers > 1 and size <= LARGEST and waiting[project] * FEW_SHARE > size

    for handed_over, some in groupby(waiting, key=is_handed_over):
        projects = (
            _of_project(
                catalog, store, project, scale, few=waiting[project] * FEW_SHARE <= sizes.get(project, 0)
            )
            for project in some
        )
        if handed_over:
            yield from _compare_in_parallel(projects, processes)
        else:
            for comparison in projects:
                yield from comparison.write_fresh(until=until)


def _compare_in_parallel(
    comparisons: Iterable["Comparison"], processes: WorkerPool
) -> Iterator[tuple[int, int]]:
    """Compare in other processes, while this one reads the next projects and writes the former ones."""
    from ragmem.services.connections.pair_comparison import run_job  # noqa: PLC0415 - numpy

    begun: deque[Comparison] = deque()

    def jobs() -> Iterator["Job"]:
        for comparison in comparisons:
            begun.append(comparison)
            yield comparison.job()

    for _, judged in processes.each(run_job, jobs()):
        yield from begun.popleft().write(judged)


def _of_project(
    catalog: Catalog, store: VectorIndex, project: str, scale: Scale, *, few: bool
) -> "Comparison":
    """Return a comparison of the new memories with the whole project; few ones only with near candidates."""
    from ragmem.services.connections.comparison import Comparison  # noqa: PLC0415 - numpy

    model = store.answering_model()
    if few:
        fresh = catalog.connections.waiting_members(project, model)
        near = _neighbours(catalog, store, project, [one.id for one in fresh])
        return _comparison(catalog, store, project, scale, near)
    every = catalog.connections.members(project, model)
    return Comparison(catalog, store, project, scale, every, all_of_project=True)


def _comparison(
    catalog: Catalog, store: VectorIndex, project: str, scale: Scale, ids: Iterable[str]
) -> "Comparison":
    from ragmem.services.connections.comparison import Comparison  # noqa: PLC0415

    members = catalog.connections.members(project, store.answering_model(), ids=dict.fromkeys(ids))
    return Comparison(catalog, store, project, scale, members, all_of_project=False)


def _neighbours(catalog: Catalog, store: VectorIndex, project: str, ids: Sequence[str]) -> list[str]:
    """Return these memories, and all candidates for a connection."""
    from ragmem.services.vectors.project_vectors import read_space  # noqa: PLC0415

    found = dict.fromkeys(ids)
    _, space = read_space(store, project, dict.fromkeys(ids, ""), all_of_project=False)
    for hits in store.nearest_to(space.matrix, limit=LOOKED_UP, project=project):
        found.update(dict.fromkeys(hit.memory_id for hit in hits))
    found.update(dict.fromkeys(catalog.connections.with_shared_names(project, ids)))
    return list(found)


def nearest(catalog: Catalog, store: Store, ids: Iterable[str]) -> dict[str, float]:
    """Return the strength of each memory's strongest link, compared with its whole project.

    It is 0 without a link. A memory without a vector or scale is absent: it must not count as isolated.
    """
    from ragmem.services.connections.comparison import strongest_links  # noqa: PLC0415 - numpy

    model = store.answering_model()
    kept = catalog.connections.scale(model)
    found: dict[str, float] = {}
    if kept is None:
        return found
    by_project: dict[str, list[str]] = {}
    for key, memory in catalog.memories.outlines(ids).items():
        by_project.setdefault(memory.project, []).append(key)
    for project, wanted in sorted(by_project.items()):
        found |= strongest_links(catalog, store, project, kept.scale, wanted)
    return found


_SAMPLED = 600
"""Sample size: memories per project, among which the nearest neighbours are determined."""

_PROJECTS = 20
"""Maximum projects of the sample, the largest."""

_PAIRS = 20_000
"""Random pairs of the sample, over all projects."""


def _current_scale(catalog: Catalog, store: VectorIndex, *, now: datetime) -> StoredScale | None:
    """Return the scale of the active model, measured if it is due; None if there is none yet.

    After a change all memories count as not compared, so that one scale applies to all. The same store always
    gives the same scale.
    """
    model = store.answering_model()
    sizes = catalog.connections.sizes()
    memories = sum(sizes.values())
    kept = catalog.connections.scale(model)
    if not memories or (kept is not None and not is_due(kept.scale, memories)):
        return kept
    random, near = _sample_cosines(catalog, store)
    scale = scale_from(random, near, memories=memories, known=known_scale(model))
    if scale is None:
        return kept
    anew = kept is not None and kept.scale.differs(scale)
    if kept is not None and not anew:
        # Existing connections stay; only the recorded size of the store is new.
        scale = replace(kept.scale, memories=memories)
    catalog.connections.keep_scale(model, scale, now=now, anew=anew)
    return StoredScale(scale, now)


def _sample_cosines(catalog: Catalog, store: VectorIndex) -> tuple[list[float], list[float]]:
    """Return cosines of random pairs within a project, and of nearest neighbours that are not copies.

    The sample is from the largest projects, each by its size. Raises BackendError.
    """
    import numpy as np  # noqa: PLC0415 - most commands compare nothing

    from ragmem.services.vectors.project_vectors import read_space  # noqa: PLC0415

    sizes = catalog.connections.sizes()
    largest = sorted(sizes, key=lambda project: (-sizes[project], project))[:_PROJECTS]
    total = sum(sizes[project] for project in largest)
    random: list[float] = []
    near: list[float] = []
    for project in largest:
        specs = dict.fromkeys(catalog.connections.sample(project, _SAMPLED), "")
        _, space = read_space(store, project, specs, all_of_project=False)
        if len(space.matrix) < 2:
            continue
        # The order of reading depends on the store, that of the numbers does not.
        products = space.matrix @ space.matrix.T
        pairs = np.sort(products[np.triu_indices(len(products), 1)])
        share = sizes[project] / total
        wanted = min(len(pairs), max(1, round(_PAIRS * share)))
        random += pairs[np.linspace(0, len(pairs) - 1, wanted).astype(np.intp)].tolist()
        np.fill_diagonal(products, -1.0)
        products[products >= COPY] = -1.0
        highest = np.sort(products.max(axis=1))
        highest = highest[highest > -1.0]
        wanted = min(len(highest), max(1, round(_SAMPLED * share)))
        if wanted:
            near += highest[np.linspace(0, len(highest) - 1, wanted).astype(np.intp)].tolist()
    return random, near
