"""Find durable memories near the latest work of a project, by stored vectors."""

from collections.abc import Sequence

from ragmem.domain.lifecycle.connections import CONNECTED, Scale, known_scale
from ragmem.domain.model import USER, Hit, Match, Memory
from ragmem.domain.model.lifecycle import PROTECTED_TYPES, EntryType, LifecycleState, entry_type
from ragmem.errors import BackendError
from ragmem.ports import Store
from ragmem.services.vectors.memory_vectors import mean_vectors
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.lifecycle_state import LifeRow
from ragmem.storage.lifecycle.recent import MemoryFilter, latest
from ragmem.storage.sql.rows import chunk_from

LATEST = 5
"""Number of latest memories that represent the last work."""

MOST = 10
"""Maximum memories, as in the published lifecycle (BRIEFING_MAX)."""

NEAR = CONNECTED
"""Minimum value on the store's scale of cosines.

That of the published lifecycle (BRIEFING_MIN_SIM, 0.5) is a cosine of another model.
"""

FADES = 0.95
"""Factor of the weight of neighbours for each step back in time."""

HITS = 60
"""Maximum neighbour chunks of each of the latest memories."""

AT_A_TIME = 4 * MOST
"""Memories that are read at once."""

# Procedures are called by their name; they represent neither work nor knowledge.
PROCEDURES = ("skills", "commands", "paidocs", "claudemds")
_TOLD = PROTECTED_TYPES | {EntryType.ERROR, EntryType.INSIGHT}


def memories_near_last_work(
    catalog: Catalog, store: Store, *, projects: Sequence[str] | None, curated: frozenset[str]
) -> list[Match]:
    """Return decisions, errors, insights and promoted memories near the latest ones, best first.

    At most MOST, none below NEAR, none of the latest themselves, none superseded. This embeds nothing and
    loads no model; a store without vectors gives nothing.
    """
    last = latest(
        catalog.database, MemoryFilter(other_than=PROCEDURES), projects=_own(projects), limit=LATEST
    )
    if not last:
        return []
    try:
        scale = scale_of(catalog, store.answering_model())
        hits = _nearest_hits(store, last) if scale else {}
    except BackendError:
        # A question reports it; here it only means that nothing is added.
        return []
    if scale is None:
        return []
    known = {memory.id for memory in last}
    near = sorted(
        (hit for key, hit in hits.items() if key not in known and scale.normalize(hit.score) >= NEAR),
        key=lambda hit: (-hit.score, hit.memory_id),
    )
    return _matches(catalog, near, curated)


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


def _matches(catalog: Catalog, near: Sequence[Hit], curated: frozenset[str]) -> list[Match]:
    chosen: list[tuple[Memory, Hit]] = []
    # Mostly the first few are enough, and each text must be read.
    for begin in range(0, len(near), AT_A_TIME):
        chosen += _durable(catalog, near[begin : begin + AT_A_TIME], curated)
        if len(chosen) >= MOST:
            break
    chosen = chosen[:MOST]
    rows = catalog.memories.chunks_by_id(hit.chunk_id for _, hit in chosen)
    return [
        Match(memory, chunk_from(memory, rows[hit.chunk_id][1]), hit.score, {"cosine": hit.score})
        for memory, hit in chosen
        if hit.chunk_id in rows
    ]


def _durable(catalog: Catalog, near: Sequence[Hit], curated: frozenset[str]) -> list[tuple[Memory, Hit]]:
    """Return the hits whose memories are valid and of a durable type."""
    ids = [hit.memory_id for hit in near]
    memories = catalog.memories.get(ids)
    lives = catalog.lives.of(ids)
    superseded = catalog.supersessions.in_force(ids)
    found = []
    for hit in near:
        memory = memories.get(hit.memory_id)
        if memory is None or memory.id in superseded or memory.source in PROCEDURES:
            continue
        row = lives.get(memory.id) or LifeRow(memory.id)
        life = row.life or (LifecycleState.PROVEN if memory.source in curated else LifecycleState.BUFFER)
        if row.pinned or life is not LifecycleState.BUFFER or memory.protected or entry_type(memory) in _TOLD:
            found.append((memory, hit))
    return found
