"""One vector for each memory: the normalized mean of those of its chunks."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ragmem.ports import VectorIndex
from ragmem.storage.home.catalog import Catalog

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAMPLED, PROJECTS = 300, 10
"""Memories of a project, and projects (the largest), that cosines are sampled from."""

PAIRS = 10
"""Random pairs for each memory that is sampled."""


def mean_vectors(
    store: VectorIndex, project: str, ids: Sequence[str]
) -> "tuple[list[str], NDArray[np.float32]] | None":
    """Return the memories that have vectors, in this order, and a unit vector for each.

    None where none has one. Raises BackendError where the active model is not available.
    """
    import numpy as np  # noqa: PLC0415 - a tenth of a second, which only vectors pay

    sums: dict[str, NDArray[np.float32]] = {}
    for block in store.vector_blocks(project, memory_ids=ids):
        for key, vector in zip(block.memory_ids, block.vectors, strict=True):
            sums[key] = sums[key] + vector if key in sums else vector
    lengths = {key: float(np.linalg.norm(total)) for key, total in sums.items()}
    known = [key for key in ids if lengths.get(key)]
    if not known:
        return None
    return known, np.asarray([sums[key] / lengths[key] for key in known], dtype=np.float32)


def sample_cosines(
    catalog: Catalog, store: VectorIndex, projects: Sequence[str] | None
) -> tuple[list[float], list[float]]:
    """Return cosines of random pairs of one project, and of memories with the nearest of their sample.

    Always the same ones for the same memories. Raises BackendError.
    """
    import numpy as np  # noqa: PLC0415

    random: list[float] = []
    nearest: list[float] = []
    sizes = _sizes(catalog, projects)
    for project in sorted(sizes, key=lambda key: (-sizes[key], key))[:PROJECTS]:
        found = mean_vectors(store, project, catalog.connections.sample(project, SAMPLED))
        if found is None or len(found[0]) < 2:
            continue
        products = found[1] @ found[1].T
        pairs = products[np.triu_indices(len(products), 1)]
        wanted = min(len(pairs), PAIRS * len(products))
        random += pairs[np.linspace(0, len(pairs) - 1, wanted).astype(np.intp)].tolist()
        np.fill_diagonal(products, -1.0)
        nearest += products.max(axis=1).tolist()
    return random, nearest


def _sizes(catalog: Catalog, projects: Sequence[str] | None) -> Mapping[str, int]:
    sizes = catalog.connections.sizes()
    return sizes if projects is None else {key: sizes[key] for key in sizes if key in projects}
