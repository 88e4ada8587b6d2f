"""What the texts of memories name, as rules or a language model found it; under the names that they use."""

from collections.abc import Mapping, Sequence

from ragmem.domain.entities.extraction import extract
from ragmem.domain.entities.extraction_answer import Answer
from ragmem.domain.entities.extraction_prompt import text_key
from ragmem.domain.entities.extraction_union import unite
from ragmem.domain.entities.user_statements import extractions_of, user_statements_of
from ragmem.domain.model import Chunk, Extraction, Memory
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.ingestion.indexable_text import redact_chunks
from ragmem.storage.activity.extractions import By
from ragmem.storage.home.catalog import Catalog

Item = tuple[Memory, Sequence[Chunk]]

KEPT = 2048
"""Extractions that are kept: a record is made again within the transaction that puts it."""

_kept: dict[Chunk, Extraction] = {}


def keep(found: Mapping[Chunk, Extraction]) -> None:
    """Keep what rules found in chunks without secrets, for when it is asked for."""
    if len(_kept) + len(found) > KEPT:
        _kept.clear()
    _kept.update(found)


def _extract(chunk: Chunk) -> Extraction:
    found = _kept.get(chunk)
    if found is None:
        found = extract(chunk)
        keep({chunk: found})
    return found


def extract_by_rule(memory: Memory, chunks: Sequence[Chunk], redactor: Redactor) -> tuple[Extraction, ...]:
    """Return what rules find in a memory's chunks; what a secret holds, or a private part, names nothing.

    A memory that states something of the graph names that, and nothing else.
    """
    if (stated := user_statements_of(memory)) is not None:
        return extractions_of(stated, chunks)
    return tuple(map(_extract, redact_chunks(memory, chunks, redactor=redactor)))


def extract_items(catalog: Catalog, items: Sequence[Item]) -> list[tuple[Extraction, ...]]:
    """Return the extractions of each memory's chunks.

    The language model's entities and relations are taken where the catalog chose them and has an answer that
    can be used and is not empty; rules find them otherwise.
    """
    choice = catalog.extractions.choice()
    if choice.by == "rules":
        return [extract_by_rule(memory, chunks, redactor=catalog.redactor) for memory, chunks in items]
    keys = {
        chunk.id: text_key(chunk)
        for memory, chunks in items
        if user_statements_of(memory) is None
        for chunk in redact_chunks(memory, chunks, redactor=catalog.redactor)
    }
    answers = catalog.extractions.answers(choice.model, set(keys.values()))
    return [
        tuple(
            _of(ruled, choice.by, answers.get(keys.get(chunk.id, "")))
            for ruled, chunk in zip(
                extract_by_rule(memory, chunks, redactor=catalog.redactor), chunks, strict=True
            )
        )
        for memory, chunks in items
    ]


def _of(ruled: Extraction, by: By, answer: Answer | None) -> Extraction:
    if answer is None or not answer.entities:
        return ruled
    found = Extraction(ruled.chunk_id, answer.entities, answer.relations)
    return found if by == "llm" else unite(ruled, found)
