"""Measure the scale of cosines in a store; see domain/lifecycle/connections.py."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from ragmem.domain.lifecycle.connections import COPY, is_due, known_scale, scale_from
from ragmem.ports import VectorIndex
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.connections import StoredScale

SAMPLED = 600
"""Sample size: memories per project, among which the nearest neighbours are determined."""

PROJECTS = 20
"""Maximum projects of the sample, the largest."""

PAIRS = 20_000
"""Random pairs of the sample, over all projects."""


def current_scale(catalog: Catalog, store: VectorIndex, *, now: datetime) -> StoredScale | None:
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
    random, near = sample_cosines(catalog, store)
    scale = scale_from(random, near, memories=memories, known=known_scale(model))
    if scale is None:
        return kept
    anew = kept is not None and kept.scale.differs(scale)
    if kept is not None and not anew:
        # Existing connections stay; only the recorded size of the store is new.
        scale = replace(kept.scale, memories=memories)
    catalog.connections.keep_scale(model, scale, now=now, anew=anew)
    return StoredScale(scale, now)


def sample_cosines(
    catalog: Catalog, store: VectorIndex, projects: Sequence[str] | None = None
) -> tuple[list[float], list[float]]:
    """Return cosines of random pairs within a project, and of nearest neighbours that are not copies.

    The sample is from the largest of these projects (None: of all), each by its size. Raises BackendError.
    """
    import numpy as np  # noqa: PLC0415 - most commands compare nothing

    from ragmem.services.vectors.project_vectors import read_space  # noqa: PLC0415

    sizes = catalog.connections.sizes()
    if projects is not None:
        sizes = {project: sizes[project] for project in projects if project in sizes}
    largest = sorted(sizes, key=lambda project: (-sizes[project], project))[:PROJECTS]
    total = sum(sizes[project] for project in largest)
    random: list[float] = []
    near: list[float] = []
    for project in largest:
        specs = dict.fromkeys(catalog.connections.sample(project, SAMPLED), "")
        _, space = read_space(store, project, specs, all_of_project=False)
        if len(space.matrix) < 2:
            continue
        # The order of reading depends on the store, that of the numbers does not.
        products = space.matrix @ space.matrix.T
        pairs = np.sort(products[np.triu_indices(len(products), 1)])
        share = sizes[project] / total
        wanted = min(len(pairs), max(1, round(PAIRS * share)))
        random += pairs[np.linspace(0, len(pairs) - 1, wanted).astype(np.intp)].tolist()
        np.fill_diagonal(products, -1.0)
        products[products >= COPY] = -1.0
        highest = np.sort(products.max(axis=1))
        highest = highest[highest > -1.0]
        wanted = min(len(highest), max(1, round(SAMPLED * share)))
        if wanted:
            near += highest[np.linspace(0, len(highest) - 1, wanted).astype(np.intp)].tolist()
    return random, near
