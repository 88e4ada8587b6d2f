"""Find the strongest link of memories, compared with their whole project."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ragmem.domain.lifecycle.connections import Scale
from ragmem.ports import VectorIndex
from ragmem.services.connections.comparison import Comparison
from ragmem.services.connections.pair_comparison import AT_ONCE, CANDIDATES, LOWEST
from ragmem.services.vectors.near_vectors import Neighbours
from ragmem.services.vectors.neighbour_search import search
from ragmem.services.vectors.project_vectors import read_space
from ragmem.storage.home.catalog import Catalog


def strongest(
    catalog: Catalog, store: VectorIndex, project: str, scale: Scale, ids: Sequence[str]
) -> dict[str, float]:
    """Return the strength of the strongest link of memories with vectors, 0 if there is none.

    Words and names are read only of candidates. Raises BackendError.
    """
    members = catalog.connections.members(project, store.answering_model())
    known, space = read_space(store, project, {one.id: one.spec for one in members}, all_of_project=True)
    wanted = set(ids)
    asked = np.array([place for place, key in enumerate(known) if key in wanted], np.intp)
    if not len(asked):
        return {}
    every = list(search(space, asked, count=CANDIDATES, bar=-1.0, at_once=AT_ONCE, exact=True))
    some = wanted.union(catalog.connections.with_shared_names(project, ids))
    for part in every:
        some.update(known[place] for place in part.columns.tolist())
    few = [one for one in members if one.id in some]
    comparison = Comparison(catalog, store, project, scale, few, all_of_project=False)
    return comparison.strongest(_among(comparison.places, known, every, bar=scale.cosine(LOWEST)))


def _among(
    places: Mapping[str, int], known: Sequence[str], every: Sequence[Neighbours], *, bar: float
) -> Iterator[Neighbours]:
    """Yield neighbours by index instead of id, like the result of a search."""
    # Deleted memories are skipped.
    new = np.array([places.get(key, -1) for key in known], np.intp)
    asked = np.sort(np.concatenate([new[part.asked] for part in every]))
    asked = asked[asked >= 0]
    ones = np.concatenate([new[part.asked[part.places]] for part in every])
    others = np.concatenate([new[part.columns] for part in every])
    cosines = np.concatenate([part.cosines for part in every])
    there = np.flatnonzero((ones >= 0) & (others >= 0) & (cosines >= bar))
    there = there[np.argsort(ones[there], kind="stable")]
    ones, others, cosines = ones[there], others[there], cosines[there]
    for start in range(0, len(asked), AT_ONCE):
        rows = asked[start : start + AT_ONCE]
        part = slice(*np.searchsorted(ones, [rows[0], rows[-1] + 1]).tolist())
        yield Neighbours(rows, np.searchsorted(rows, ones[part]), others[part], cosines[part])
