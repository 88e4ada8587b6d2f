"""The invariants of a sound memory, which also hold after a kill; for doctor and for tests."""

from collections.abc import Iterator

from ragmem.domain.model import Chunk, State
from ragmem.ports import Store
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance import invariants
from ragmem.storage.maintenance.invariants import sentence

MIN_OWN_SCORE = 0.98
"""Minimum cosine of a chunk's text and its vector, which has 8 bits and may come from another engine."""

_SPARE = 16
"""Additional hits, for other chunks that are as near."""


def violations(catalog: Catalog, store: Store, *, deep: bool = False) -> list[str]:
    """Return all violations, one line each; empty for a sound memory.

    Pending work is not a violation: a pending memory may be missing in the store, or have its former state
    there. `deep` reads every page, compares every chunk with its text, and searches for each indexed chunk by
    its text, which takes an embedding each. Raises StoreDamagedError if nothing can be read.
    """
    found = invariants.violations(catalog, deep=deep)
    found += store.check(deep=deep)
    found += find_differences(catalog, store)
    if deep:
        found += find_unfindable(catalog, store)
    return found


def find_differences(catalog: Catalog, store: Store) -> list[str]:
    """Return the differences in memories and chunks between catalog and store."""
    indexed = catalog.memories.ids(states=[State.INDEXED])
    pending = catalog.memories.ids(states=[State.PENDING])
    stored = store.memory_ids()
    found = []
    if lost := sorted(indexed - stored):
        found.append(sentence("indexed memories are not in the store", lost))
    if unowned := sorted(stored - indexed - pending):
        found.append(sentence("memories in the store are not indexed in the catalog", unowned))
    # With pending memories the numbers are not comparable: their chunks may be those of a former text.
    if not found and not (pending & stored):
        expected = catalog.overview.chunks(State.INDEXED)
        counted = store.statistics()["chunks"]
        if counted != expected:
            found.append(f"the store has {counted} chunks, the indexed memories have {expected}")
    return found


def find_unfindable(catalog: Catalog, store: Store) -> list[str]:
    """Return the chunks of indexed memories that a search for their own text does not find.

    Raises BackendError if another model made the vectors.
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
