"""Bring accepted memories into the store: extract, embed, merge, and mark them indexed in one transaction."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from ragmem.catalog.batches import batches
from ragmem.catalog.catalog import Catalog
from ragmem.catalog.contents import PAGE, Contents
from ragmem.catalog.extractions import RULES, By
from ragmem.domain.extraction import extract
from ragmem.domain.extraction_answer import Answer
from ragmem.domain.extraction_prompt import text_key
from ragmem.domain.extraction_union import unite
from ragmem.domain.model import Chunk, Extraction, Memory, Record, State
from ragmem.ports import Store

BATCH = 48
"""Memories in one transaction: few enough that other writers wait for under a second."""


Item = tuple[Memory, Sequence[Chunk]]

# A record is made again within the transaction that puts it, where a language model has a say.
_by_rule = lru_cache(maxsize=2048)(extract)


def record_of(memory: Memory, chunks: Sequence[Chunk]) -> Record:
    """Return what a store keeps of a memory whose entities and relations are found by rule alone."""
    return Record(memory, tuple(chunks), tuple(_by_rule(chunk) for chunk in chunks))


def records_of(catalog: Catalog, items: Sequence[Item]) -> list[Record]:
    """Return what a store keeps of memories: what the catalog says of them, and nothing else, decides.

    The language model's entities and relations are taken where the catalog chose them and has an answer that
    can be used and is not empty; rules find them otherwise.
    """
    choice = catalog.extractions.choice()
    if choice.by == "rules":
        return [record_of(memory, chunks) for memory, chunks in items]
    keys = {chunk.id: text_key(chunk) for _, chunks in items for chunk in chunks}
    answers = catalog.extractions.answers(choice.model, set(keys.values()))
    return [
        Record(memory, tuple(chunks), tuple(_extraction(chunk, choice.by, answers, keys) for chunk in chunks))
        for memory, chunks in items
    ]


def _extraction(chunk: Chunk, by: By, answers: Mapping[str, Answer], keys: Mapping[str, str]) -> Extraction:
    answer = answers.get(keys[chunk.id])
    if answer is None or not answer.entities:
        return _by_rule(chunk)
    found = Extraction(chunk.id, answer.entities, answer.relations)
    return found if by == "llm" else unite(_by_rule(chunk), found)


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
    told more by now goes on waiting.
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
    if catalog.extractions.choice() != RULES:
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
        index(catalog, store, records_of(catalog, waiting))


def index_pending(
    catalog: Catalog,
    store: Store,
    *,
    most: int | None = None,
    advance: Callable[[int], None] | None = None,
) -> int:
    """Index every memory that was accepted but not finished, or so many; return how many.

    A killed run left them so, or a model that could not be had.
    """
    total = 0
    for batch in batches(islice(catalog.memories.each(states=[State.PENDING]), most), BATCH):
        put_again(catalog, store, [memory.id for memory in batch])
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
