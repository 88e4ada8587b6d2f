"""Find the memories near the latest work of a project, by stored vectors."""

from collections.abc import Sequence

from ragmem.domain.lifecycle.connections import CONNECTED, Scale, known_scale
from ragmem.domain.model import USER, Hit, Memory
from ragmem.errors import BackendError
from ragmem.ports import Store
from ragmem.services.vectors.memory_vectors import mean_vectors
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.recent import MemoryFilter, latest

LATEST = 5
"""Number of latest memories that represent the last work."""

NEAR = CONNECTED
"""Minimum value on the store's scale of cosines.

That of the published lifecycle (BRIEFING_MIN_SIM, 0.5) is a cosine of another model.
"""

FADES = 0.95
"""Factor of the weight of neighbours for each step back in time."""

HITS = 60
"""Maximum neighbour chunks of each of the latest memories."""

# Procedures are called by their name; they represent neither work nor knowledge.
PROCEDURES = (
    *("skills", "commands", "agents", "projectcommands", "paidocs"),
    *("claudemds", "instructions"),
)

PLANS = frozenset({"prds", "plans", "specs"})
"""Sources of tasks, which are no facts once they are done; only what they decide is told."""


def nearness_to_last_work(
    catalog: Catalog, store: Store, *, projects: Sequence[str] | None
) -> dict[str, float]:
    """Return id -> cosine of the memories near the latest ones of these projects, without those themselves.

    This embeds nothing and loads no model; a store without vectors gives nothing.
    """
    last = latest(
        catalog.database, MemoryFilter(other_than=PROCEDURES), projects=_own(projects), limit=LATEST
    )
    if not last:
        return {}
    try:
        scale = scale_of(catalog, store.answering_model())
        hits = _nearest_hits(store, last) if scale else {}
    except BackendError:
        # A question reports it; here it only means that nothing comes first.
        return {}
    known = {memory.id for memory in last}
    return {
        key: hit.score
        for key, hit in hits.items()
        if scale is not None and key not in known and scale.normalize(hit.score) >= NEAR
    }


def scale_of(catalog: Catalog, model: str) -> Scale | None:
    """Return the scale of cosines in this store; None if it is unknown."""
    kept = catalog.connections.scale(model)
    return kept.scale if kept else known_scale(model)


def _own(projects: Sequence[str] | None) -> Sequence[str] | None:
    """Return the projects without the user's own, if there are others."""
    if projects is None:
        return None
    return [project for project in projects if project != USER] or projects


def _nearest_hits(store: Store, last: Sequence[Memory]) -> dict[str, Hit]:
    """Return memory -> its best chunk, for the neighbours of the latest memories, the last of these first."""
    found: dict[str, Hit] = {}
    for project in dict.fromkeys(memory.scope.project for memory in last):
        middles = mean_vectors(
            store, project, [memory.id for memory in last if memory.scope.project == project]
        )
        if middles is None:
            continue
        for place in dict.fromkeys((project, USER)):
            for age, hits in enumerate(store.nearest_to(middles[1], limit=HITS, project=place)):
                for hit in hits:
                    score = hit.score * FADES**age
                    if hit.memory_id not in found or score > found[hit.memory_id].score:
                        found[hit.memory_id] = Hit(hit.chunk_id, hit.memory_id, hit.rank, score)
    return found
