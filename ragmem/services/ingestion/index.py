"""Bring accepted memories into the store: extract, embed, merge, and mark them indexed in one transaction."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial

from ragmem.domain.entities.resolution import names_in, resolve_names
from ragmem.domain.model import Chunk, Extraction, Memory, Record, State
from ragmem.domain.secrets.redaction import Redactor
from ragmem.ports import Store
from ragmem.services.ingestion.entities import Item, extract_by_rule, extract_items, keep
from ragmem.services.ingestion.entity_names import learn_names
from ragmem.services.ingestion.prefetch import extract_names
from ragmem.services.processes.refusals import Refusal, each
from ragmem.services.processes.worker_pool import WorkerPool
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance.catalog_export import PAGE, Contents
from ragmem.storage.sql.batches import batches

LATER = ("transcripts",)
"""Sources of which thousands may wait: nobody who wants something else is to wait for their vectors."""

BATCH = 48
"""Memories in one transaction: few enough that other writers wait for under a second."""


def record_of(memory: Memory, chunks: Sequence[Chunk], redactor: Redactor) -> Record:
    """Return what a store keeps of a memory that is by itself: by rule alone, under the names it uses."""
    return Record(memory, tuple(chunks), extract_by_rule(memory, chunks, redactor=redactor))


def records_of(catalog: Catalog, items: Sequence[Item]) -> list[Record]:
    """Return what a store keeps of memories: what the catalog says of them, and nothing else, decides.

    Each thing has the name that the catalog gives its node.
    """
    found = extract_items(catalog, items)
    mentioned: dict[str, set[str]] = {}
    for (memory, _), extractions in zip(items, found, strict=True):
        names = mentioned.setdefault(memory.scope.project, set())
        names.update(name for extraction in extractions for name in names_in(extraction))
    canonical = {project: catalog.names.canonical(project, names) for project, names in mentioned.items()}
    return [
        Record(memory, tuple(chunks), _name_chunks(extractions, canonical[memory.scope.project]))
        for (memory, chunks), extractions in zip(items, found, strict=True)
    ]


def _name_chunks(extractions: Sequence[Extraction], canonical: dict[str, str]) -> tuple[Extraction, ...]:
    return tuple(resolve_names(extraction, canonical) for extraction in extractions)


def index(
    catalog: Catalog,
    store: Store,
    records: Sequence[Record],
    *,
    finish: Callable[[], None] | None = None,
) -> None:
    """Put records into the store and mark their memories indexed, all or nothing.

    What another process changed since the records were made is seen to: a memory that has left the catalog,
    faded or changed is not put, for whoever changed it did so, or will; and one of which a language model
    told more by now, or a name of which has another node, goes on waiting.
    """
    # Of one that was handed in twice the last counts, as in the catalog.
    wanted = list({record.memory.id: record for record in records}.values())

    def done() -> None:
        catalog.memories.mark(_current(catalog, wanted), State.INDEXED)
        if finish is not None:
            finish()

    while True:
        try:
            store.put(wanted, finish=done)
        except _OutdatedError as error:
            wanted = [record for record in wanted if record.memory.id not in error.ids]
        else:
            return


class _OutdatedError(Exception):
    """Memories left the catalog or changed while their records were made; ends the transaction."""

    def __init__(self, ids: set[str]) -> None:
        super().__init__()
        self.ids = ids


def _current(catalog: Catalog, records: Sequence[Record]) -> set[str]:
    """Return the memories whose records say what the catalog says now; raises _OutdatedError."""
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
    # What another process has put meanwhile says more than this.
    outdated |= {each for each in told_more if now[each][0].state is State.INDEXED}
    if outdated:
        raise _OutdatedError(outdated)
    return current


def _has_text_of(record: Record, item: Item | None) -> bool:
    """Tell whether a record has the text and chunks of the memory in the catalog, and that is for a store."""
    if item is None:
        return False
    memory, chunks = item
    return (
        memory.state is not State.BUFFERED
        and memory.scope.project == record.memory.scope.project
        and memory.indexed_text == record.memory.indexed_text
        and tuple(chunks) == tuple(record.chunks)
    )


def put_again(catalog: Catalog, store: Store, ids: Sequence[str]) -> None:
    """Index those of some memories that wait, as the catalog has them now."""
    waiting = [item for item in Contents(catalog.database).of(ids) if item[0].state is State.PENDING]
    if waiting:
        learn_names(catalog, waiting)
        index(catalog, store, records_of(catalog, waiting))


def index_pending(
    catalog: Catalog,
    store: Store,
    *,
    most: int | None = None,
    advance: Callable[[int], None] | None = None,
    without: Sequence[str] = (),
    leaving: Collection[str] = (),
    processes: WorkerPool | None = None,
    refusals: list[Refusal] | None = None,
) -> int:
    """Index every memory that was accepted but not finished, or so many; return how many.

    What is worth most comes first, of that the latest; what comes of the sources `without` waits on, and so
    do the ids `leaving`. A killed run left them so, or a model that could not be had; or a name that they
    mention has another node by now, perhaps because of one of them. Other `processes` read texts ahead. One
    that the model or the store rejects waits on and stops no other; `refusals` gets each of them once.
    """
    total = 0
    rejected: dict[str, str] = {}
    before: list[str] | None = None

    def waiting() -> list[str]:
        found = catalog.memories.waiting(most=most, without=without)
        return [identifier for identifier in found if identifier not in leaving]

    while before is None or catalog.names.let_wait(BATCH) or waiting() != before:
        before = waiting()
        untried = [identifier for identifier in before if identifier not in rejected]
        for batch in _read_ahead(catalog, untried, processes):
            refused = dict(each(batch, lambda ids: put_again(catalog, store, ids)))
            rejected |= refused
            total += len(batch) - len(refused)
            if advance is not None:
                advance(len(batch))
        if most is not None:
            break
    if refusals is not None:
        known = catalog.memories.get(rejected)
        refusals += [
            Refusal.of(known[key], reason, is_stored=True) for key, reason in rejected.items() if key in known
        ]
    return total


def _read_ahead(catalog: Catalog, ids: Sequence[str], processes: WorkerPool | None) -> Iterator[list[str]]:
    """Yield the ids in batches; what rules find in their texts is known then, where others can look."""
    if processes is None:
        yield from batches(ids, BATCH)
        return
    contents = Contents(catalog.database)
    items = (list(contents.of(batch)) for batch in batches(ids, BATCH))
    for some, named in processes.each(partial(extract_names, redactor=catalog.redactor), items):
        keep(dict(named))
        yield [memory.id for memory, _ in some]


def waiting_on(catalog: Catalog) -> set[str]:
    """Return the ids of those that nobody who wants something else is to wait for; they were put later."""
    return set(catalog.memories.waiting()).difference(catalog.memories.waiting(without=LATER))


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
        catalog.names.forget(wanted)
        catalog.memories.remove(wanted)

    store.delete(wanted, finish=done)
