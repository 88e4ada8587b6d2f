"""Bring accepted memories into the store: extract, embed, merge, and mark them indexed in one transaction."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from ragmem.domain.entities.resolution import names_in, resolve_names
from ragmem.domain.model import Chunk, Extraction, Memory, Record, State, Tier
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import StorageError, StoreBusyError
from ragmem.frozen import dataclass
from ragmem.heap import free_word_caches, trim_heap
from ragmem.ports import Store
from ragmem.ports.principal import acting_as
from ragmem.readers.failures import check, isolate_failures
from ragmem.services.ingestion.entities import (
    Item,
    cache_extractions,
    clear_extractions,
    extract_by_rule,
    extract_items,
    extract_names,
)
from ragmem.services.ingestion.entity_names import learn_names
from ragmem.services.processes.refusals import Refusal
from ragmem.services.processes.worker_pool import WorkerPool
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance.catalog_export import PAGE, Contents
from ragmem.storage.memories.memories import DEFERRED_SOURCES
from ragmem.storage.sql.batches import batches, text_batches

if TYPE_CHECKING:
    from concurrent.futures import Future

BATCH = 48
"""Memories in one transaction: few enough that other writers wait for under a second."""

BATCH_CHARACTERS = 80_000
"""Characters in one transaction, so that long documents do not hold the lock for seconds."""


PACKED_FROM = 50
"""Memories that a run must add before it is worth rewriting the words and the file."""


def is_larger_part(catalog: Catalog, memories: int) -> bool:
    """Return whether so many memories are the larger part of a home, and worth rewriting files for."""
    return memories >= PACKED_FROM and 2 * memories > sum(catalog.overview.count_by("state").values())


def pack(catalog: Catalog, indexed: int) -> None:
    """Rewrite the file of a home of which this run indexed the larger part, because its pages are not full.

    Where the disk is full, or another process reads or writes, the file stays as it is.
    """
    if is_larger_part(catalog, indexed):
        with suppress(StorageError, StoreBusyError):
            catalog.database.vacuum(patience=0.0)


def record_of(memory: Memory, chunks: Sequence[Chunk], redactor: Redactor) -> Record:
    """Return the record of a single memory for a store: extracted by rule, under the names it uses."""
    return Record(memory, tuple(chunks), extract_by_rule(memory, chunks, redactor=redactor))


@acting_as(None)  # the names of all members decide what a name's node is called
def records_of(catalog: Catalog, items: Sequence[Item]) -> list[Record]:
    """Return the records of memories for a store; they depend on the catalog only.

    Each entity has the name that the catalog gives its node. A summarized memory is not in the graph.
    """
    found = extract_items(catalog, items)
    found = [
        said if memory.tier is Tier.INGEST else tuple(Extraction(one.chunk_id, (), ()) for one in said)
        for (memory, _), said in zip(items, found, strict=True)
    ]
    mentioned: dict[str, set[str]] = {}
    for (memory, _), extractions in zip(items, found, strict=True):
        names = mentioned.setdefault(memory.scope.project, set())
        names.update(name for extraction in extractions for name in names_in(extraction))
    canonical = {project: catalog.names.canonical(project, names) for project, names in mentioned.items()}
    return [
        Record(
            memory,
            tuple(chunks),
            tuple(resolve_names(one, canonical[memory.scope.project]) for one in extractions),
        )
        for (memory, chunks), extractions in zip(items, found, strict=True)
    ]


def index(catalog: Catalog, store: Store, records: Sequence[Record]) -> None:
    """Put records into the store and mark their memories indexed, all or nothing.

    Concurrent changes since the records were made are respected: a memory that was removed, buffered or
    changed is not put, because the process that changed it indexes it. A memory with a new extraction by a
    language model, or a name with another node, stays pending.
    """
    # Of duplicates the last one counts, as in the catalog.
    wanted = list({record.memory.id: record for record in records}.values())

    def mark_indexed() -> None:
        catalog.memories.mark(_current(catalog, wanted), State.INDEXED)

    while True:
        try:
            store.put(wanted, finish=mark_indexed)
        except OutdatedError as error:
            wanted = [record for record in wanted if record.memory.id not in error.ids]
        else:
            return


class OutdatedError(Exception):
    """Memories were removed or changed since they were read; ends the transaction."""

    def __init__(self, ids: set[str]) -> None:
        super().__init__()
        self.ids = ids


def _current(catalog: Catalog, records: Sequence[Record]) -> set[str]:
    """Return the memories whose records match the catalog; raises OutdatedError."""
    ids = [record.memory.id for record in records]
    contents = Contents(catalog.database)
    now = {item[0].id: item for page in batches(ids, PAGE) for item in contents.of(page)}
    outdated = {record.memory.id for record in records if not _has_text_of(record, now.get(record.memory.id))}
    current = set(ids) - outdated
    made = {one.memory.id: one for one in records_of(catalog, [now[each] for each in current])}
    told_more = {
        record.memory.id
        for record in records
        if record.memory.id in current and record.extractions != made[record.memory.id].extractions
    }
    current -= told_more
    # Another process has indexed them meanwhile, with more than this.
    outdated |= {each for each in told_more if now[each][0].state is State.INDEXED}
    if outdated:
        raise OutdatedError(outdated)
    return current


def _has_text_of(record: Record, item: Item | None) -> bool:
    """Return whether a record has the text and chunks of a memory that belongs into the store."""
    if item is None:
        return False
    memory, chunks = item
    return (
        memory.state is not State.BUFFERED
        and memory.scope.project == record.memory.scope.project
        and memory.indexed_text == record.memory.indexed_text
        and tuple(chunks) == tuple(record.chunks)
    )


@acting_as(None)
def index_by_id(catalog: Catalog, store: Store, ids: Sequence[str]) -> None:
    """Index the pending ones among some memories, as the catalog has them now."""
    waiting = [item for item in Contents(catalog.database).of(ids) if item[0].state is State.PENDING]
    if waiting:
        learn_names(catalog, waiting)
        index(catalog, store, records_of(catalog, waiting))


@acting_as(None)
def index_pending(
    catalog: Catalog,
    store: Store,
    *,
    most: int | None = None,
    size: int = BATCH,
    advance: Callable[[int], None] | None = None,
    without: Sequence[str] = (),
    leaving: Collection[str] = (),
    processes: WorkerPool | None = None,
    refusals: list[Refusal] | None = None,
) -> int:
    """Index all pending memories, or `most` of them, `size` in a transaction; return their number.

    The most valuable come first, then the latest; sources in `without` and ids in `leaving` are skipped.
    Memories are pending after a seed that read texts, after a killed run, if a model was unavailable, or if a
    name that they mention has another node now. Other `processes` read texts ahead. Memories that the model
    or the store rejects stay pending and stop no other; `refusals` gets each of them once. Raises
    BackendError where no vectors can be made; what was indexed before stays.
    """
    total = 0
    rejected: dict[str, str] = {}
    before: list[str] | None = None

    def pending_ids() -> list[str]:
        found = catalog.memories.pending_ids(most=most, without=without)
        return [identifier for identifier in found if identifier not in leaving]

    while before is None or catalog.names.mark_pending(BATCH) or pending_ids() != before:
        before = pending_ids()
        untried = [identifier for identifier in before if identifier not in rejected]
        # In the order of reading, and before any is put: a later name would have others put again.
        for items in _batches(catalog, catalog.names.unlearnt(untried), size, processes):
            isolate_failures(items, lambda some: learn_names(catalog, some))
        if len(untried) >= PACKED_FROM:
            free_word_caches()
        waiting = _batches(catalog, untried, size, processes)
        for count, refused in _index_ahead(catalog, store, waiting) if untried else ():
            rejected |= refused
            total += count - len(refused)
            if advance is not None:
                advance(count)
        if most is not None:
            break
    clear_extractions()
    if total >= PACKED_FROM:
        # What follows needs memory, too, and half of the heap is free in pieces.
        trim_heap()
    if refusals is not None:
        known = catalog.memories.get(rejected)
        refusals += [
            Refusal.of(known[key], reason, is_stored=True) for key, reason in rejected.items() if key in known
        ]
    return total


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The records of a batch while a second thread embeds them."""

    size: int
    records: list[Record]
    refused: dict[str, str]
    future: "Future[None]"

    def index(self, catalog: Catalog, store: Store) -> tuple[int, dict[str, str]]:
        """Index the records; return the size of the batch and id -> reason of the rejected memories."""
        error = self.future.exception()
        if isinstance(error, Exception):
            # This was only the preparation: indexing reports again what is wrong with a text.
            check(error)
        failed = isolate_failures(self.records, lambda some: index(catalog, store, some))
        return self.size, self.refused | {record.memory.id: reason for record, reason in failed}


def _index_ahead(
    catalog: Catalog, store: Store, given: Iterable[Sequence[Item]]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Index each batch while the next one is embedded; yield its size and its rejected memories."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - mostly nothing waits

    ahead: _Prepared | None = None
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="embed") as pool:
        for items in given:
            records: list[Record] = []

            def make(some: Sequence[Item], records: list[Record] = records) -> None:
                learn_names(catalog, some)
                records += records_of(catalog, some)

            refused = {item[0].id: reason for item, reason in isolate_failures(items, make)}
            prepared = _Prepared(len(items), records, refused, pool.submit(store.prepare, records))
            if ahead is not None:
                yield ahead.index(catalog, store)
                trim_heap()
            ahead = prepared
        if ahead is not None:
            yield ahead.index(catalog, store)


def _batches(
    catalog: Catalog, ids: Sequence[str], size: int, processes: WorkerPool | None
) -> Iterator[Sequence[Item]]:
    """Yield the pending ones of these memories in batches, with cached extractions if there are processes."""
    if processes is None:
        yield from _read_batches(catalog, ids, size)
        return
    work = partial(extract_names, redactor=catalog.redactor)
    for items, named in processes.each(work, _read_batches(catalog, ids, size)):
        cache_extractions(dict(named))
        yield items


def _read_batches(catalog: Catalog, ids: Sequence[str], size: int) -> Iterator[list[Item]]:
    """Yield the pending ones of these memories, at most `size` and some BATCH_CHARACTERS at a time."""
    contents = Contents(catalog.database)
    pages = (list(contents.of(page)) for page in batches(ids, min(size, BATCH)))
    pending = (item for page in pages for item in page if item[0].state is State.PENDING)
    return text_batches(
        pending, lambda item: len(item[0].indexed_text), most=size, characters=BATCH_CHARACTERS
    )


def deferred_ids(catalog: Catalog) -> set[str]:
    """Return the ids of pending memories that other operations do not wait for."""
    awaited = () if catalog.memories.has_backlog() else catalog.memories.pending_ids(without=DEFERRED_SOURCES)
    return set(catalog.memories.pending_ids()).difference(awaited)


def forget(
    catalog: Catalog, store: Store, ids: Iterable[str], *, finish: Callable[[], None] | None = None
) -> None:
    """Remove memories from the store and the catalog, all or nothing.

    `finish` runs inside the transaction, while the catalog still has them.
    """
    wanted = list(ids)

    def remove() -> None:
        if finish is not None:
            finish()
        catalog.names.forget(wanted)
        catalog.memories.remove(wanted)

    store.delete(wanted, finish=remove)
