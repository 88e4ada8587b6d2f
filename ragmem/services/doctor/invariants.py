"""What holds of a sound memory at any moment, after a kill as well: one list for doctor and for tests."""

from collections.abc import Iterator

from ragmem.domain.model import Chunk, State
from ragmem.ports import Store
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance import invariants
from ragmem.storage.maintenance.invariants import sentence

MIN_OWN_SCORE = 0.98
"""Cosine at least between a chunk's text and its own vector: kept in 8 bits, and made by another engine."""

_SPARE = 16
"""Hits more than chunks of the same text, for others that are as near."""


def violations(catalog: Catalog, store: Store, *, deep: bool = False) -> list[str]:
    """Return all that is wrong, one line each; empty when the memory is sound.

    What waits to be finished is not wrong: a pending memory may be missing from the store, or be there as it
    was before. `deep` reads every page, compares every chunk with its text, and looks for each indexed chunk
    by that text, which takes an embedding each. Raises StoreDamagedError where nothing can be read.
    """
    found = invariants.violations(catalog, deep=deep)
    found += store.check(deep=deep)
    found += between(catalog, store)
    if deep:
        found += unfindable(catalog, store)
    return found


def between(catalog: Catalog, store: Store) -> list[str]:
    """Return where catalog and store do not speak of the same memories and chunks."""
    indexed = catalog.memories.ids(states=[State.INDEXED])
    pending = catalog.memories.ids(states=[State.PENDING])
    stored = store.memory_ids()
    found = []
    if lost := sorted(indexed - stored):
        found.append(sentence("indexed memories are not in the store", lost))
    if unowned := sorted(stored - indexed - pending):
        found.append(sentence("memories of the store are not indexed in the catalog", unowned))
    # A pending memory's chunks may still be those of its former text, so that nothing can be counted.
    if not found and not (pending & stored):
        expected = catalog.overview.chunks(State.INDEXED)
        counted = store.statistics()["chunks"]
        if counted != expected:
            found.append(f"the store has {counted} chunks, the indexed memories have {expected}")
    return found


def unfindable(catalog: Catalog, store: Store) -> list[str]:
    """Return the chunks of indexed memories that a search for their own text does not find.

    Raises BackendError where another model made the vectors.
    """
    same: dict[tuple[str, str], set[str]] = {}
    for project, chunk in _indexed_chunks(catalog):
        same.setdefault((project, chunk.searchable), set()).add(chunk.id)
    missed: list[str] = []
    for (project, text), ids in same.items():
        hits = store.search(text, limit=len(ids) + _SPARE, projects=[project])
        missed += ids - {hit.chunk_id for hit in hits if hit.score >= MIN_OWN_SCORE}
    return [sentence("chunks are not found by their own text", sorted(missed))] if missed else []


def _indexed_chunks(catalog: Catalog) -> Iterator[tuple[str, Chunk]]:
    for memory in catalog.memories.each(states=[State.INDEXED]):
        for chunk in catalog.memories.chunks(memory):
            yield memory.scope.project, chunk
