"""Bring accepted memories into the store: extract, embed, merge, and mark them indexed in one transaction."""

from collections.abc import Callable, Iterable, Sequence

from ragmem.catalog.batches import batches
from ragmem.catalog.catalog import Catalog
from ragmem.domain.extraction import extract
from ragmem.domain.model import Chunk, Memory, Record, State
from ragmem.ports import Store

BATCH = 48
"""Memories in one transaction: few enough that other writers wait for under a second."""


def record_of(memory: Memory, chunks: Sequence[Chunk]) -> Record:
    """Return what a store keeps of a memory; entities and relations are found by rule."""
    return Record(memory, tuple(chunks), tuple(extract(chunk) for chunk in chunks))


def index(
    catalog: Catalog,
    store: Store,
    records: Sequence[Record],
    *,
    finish: Callable[[], None] | None = None,
) -> None:
    """Put records into the store and mark their memories indexed, all or nothing."""
    ids = [record.memory.id for record in records]

    def done() -> None:
        catalog.memories.mark(ids, State.INDEXED)
        if finish is not None:
            finish()

    store.put(records, finish=done)


def index_pending(catalog: Catalog, store: Store, *, advance: Callable[[int], None] | None = None) -> int:
    """Index every memory that was accepted but not finished (a killed run left it so); return how many."""
    total = 0
    for batch in batches(catalog.memories.each(states=[State.PENDING]), BATCH):
        index(catalog, store, [record_of(memory, catalog.memories.chunks(memory)) for memory in batch])
        total += len(batch)
        if advance is not None:
            advance(len(batch))
    return total


def forget(
    catalog: Catalog, store: Store, ids: Iterable[str], *, finish: Callable[[], None] | None = None
) -> None:
    """Remove memories from the store and the catalog, all or nothing.

    `finish` runs inside the transaction, while the catalog still has them.
    """
    wanted = list(ids)

    def done() -> None:
        if finish is not None:
            finish()
        catalog.memories.remove(wanted)

    store.delete(wanted, finish=done)
