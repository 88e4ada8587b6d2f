"""Find the texts that a language model has not seen, and delete the extractions of deleted texts."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.entities.extraction_prompt import is_worth_extraction, text_key
from ragmem.domain.model import Chunk, Memory, State
from ragmem.services.ingestion.classify import chunks_of
from ragmem.services.ingestion.entities import redact_chunks
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.maintenance.catalog_export import PAGE, Contents
from ragmem.storage.sql.batches import batches


@dataclass(slots=True)
class Texts:
    """The texts of indexed memories that a model has not seen, the newest first, by their keys.

    `memories` lists the memories of each of these `chunks`, because a text may occur twice. `waiting` counts
    the texts without an answer, `known` those with one. `seen` has the content hash of every memory checked.
    """

    chunks: dict[str, Chunk] = field(default_factory=dict)
    memories: dict[str, list[str]] = field(default_factory=dict)
    waiting: int = 0
    known: int = 0
    seen: dict[str, str] = field(default_factory=dict)


def find_texts(catalog: Catalog, model: str, *, most: int = 0) -> Texts:
    """Return at most `most` texts, long enough, that a model (name and prompt) has not seen."""
    asked = catalog.extractions.answered_texts(model)
    texts = Texts()
    known: set[str] = set()
    waiting: set[str] = set()
    for memory, chunks in indexed_memories(catalog):
        texts.seen[memory.id] = memory.content_hash
        for chunk in filter(is_worth_extraction, chunks):
            key = text_key(chunk)
            if key in asked:
                known.add(key)
                continue
            waiting.add(key)
            if key not in texts.chunks:
                if len(texts.chunks) >= most:
                    continue
                texts.chunks[key] = chunk
            owners = texts.memories.setdefault(key, [])
            if memory.id not in owners:
                owners.append(memory.id)
    texts.known, texts.waiting = len(known), len(waiting)
    return texts


def find_newly_indexed(catalog: Catalog, texts: Texts) -> list[str]:
    """Return memories with these texts that were indexed since, perhaps without the answers."""
    return [
        memory.id
        for memory, chunks in indexed_memories(catalog)
        if texts.seen.get(memory.id) != memory.content_hash
        and any(text_key(chunk) in texts.chunks for chunk in chunks)
    ]


def indexed_memories(catalog: Catalog) -> Iterator[tuple[Memory, tuple[Chunk, ...]]]:
    """Yield the indexed memories with their chunks, without secrets; the newest first."""
    contents = Contents(catalog.database)
    outlines = catalog.memories.outlines(catalog.memories.ids(states=[State.INDEXED])).values()
    newest_first = sorted(outlines, key=lambda one: (one.event_time, one.id), reverse=True)
    for page in batches((one.id for one in newest_first), PAGE):
        yield from (
            (memory, redact_chunks(memory, chunks, redactor=catalog.redactor))
            for memory, chunks in contents.of(page)
        )


def forget_unused(catalog: Catalog, sizes: ChunkingSettings) -> int:
    """Delete model extractions of texts that no memory or archived memory has; return their number.

    Otherwise a forgotten text would live on in its extraction.
    """
    unused = catalog.extractions.texts()
    if not unused:
        return 0
    contents = Contents(catalog.database)
    for page in batches(sorted(catalog.memories.ids()), PAGE):
        for item in contents.of(page):
            unused.difference_update(map(text_key, redact_chunks(*item, catalog.redactor)))
    if unused:
        for archived in catalog.archive.each():
            chunks = redact_chunks(
                archived.memory,
                chunks_of(archived.memory, sizes, redactor=catalog.redactor),
                redactor=catalog.redactor,
            )
            unused.difference_update(map(text_key, chunks))
    if unused:
        catalog.extractions.forget(unused)
    return len(unused)
