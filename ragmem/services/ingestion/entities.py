"""The entities and relations in the texts of memories, extracted by rules or by models."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragmem.domain.entities.extraction import extract
from ragmem.domain.entities.extraction_answer import Answer, unite
from ragmem.domain.entities.extraction_prompt import text_key
from ragmem.domain.entities.recognized_names import add_recognized
from ragmem.domain.entities.user_statements import extractions_of, user_statements_of
from ragmem.domain.model import Chunk, Extraction, Memory
from ragmem.domain.secrets.redaction import Redactor, Secret, cover
from ragmem.storage.activity.extractions import RULES, By
from ragmem.storage.home.catalog import Catalog

Item = tuple[Memory, Sequence[Chunk]]

CACHE_SIZE = 8192
"""Number of cached extractions, some 2 kB each: names are learnt first, then records are built twice."""

_cache: dict[int, Extraction] = {}
"""Hash of a chunk -> what was extracted. With the chunks themselves, a seed would keep the texts of all."""


def cache_extractions(found: Mapping[Chunk, Extraction]) -> None:
    """Cache the extractions by rule of chunks without secrets."""
    if len(_cache) + len(found) > CACHE_SIZE:
        _cache.clear()
    _cache.update((hash(chunk), one) for chunk, one in found.items())


def clear_extractions() -> None:
    """Free the cached extractions."""
    _cache.clear()


def _extract(chunk: Chunk) -> Extraction:
    found = _cache.get(hash(chunk))
    if found is None:
        found = extract(chunk)
        cache_extractions({chunk: found})
    return found


def extract_by_rule(memory: Memory, chunks: Sequence[Chunk], redactor: Redactor) -> tuple[Extraction, ...]:
    """Return the extractions by rule of a memory's chunks, without secrets and private parts.

    A memory that states something about the graph gives only that.
    """
    if (stated := user_statements_of(memory)) is not None:
        return extractions_of(stated, chunks)
    return tuple(map(_extract, redact_chunks(memory, chunks, redactor=redactor)))


def extract_names(items: Sequence[Item], redactor: Redactor) -> list[tuple[Chunk, Extraction]]:
    """Return the extractions by rule from the texts of memories, for other processes to cache."""
    return [
        (one, extract(one))
        for memory, chunks in items
        if user_statements_of(memory) is None
        for one in redact_chunks(memory, chunks, redactor=redactor)
    ]


def extract_items(catalog: Catalog, items: Sequence[Item]) -> list[tuple[Extraction, ...]]:
    """Return the extractions of each memory's chunks.

    They are the language model's if the catalog chose it and has a usable, non-empty answer, else by rule,
    with the entities of a model for these.
    """
    choice = catalog.extractions.choice()
    if choice == RULES:
        return [extract_by_rule(memory, chunks, redactor=catalog.redactor) for memory, chunks in items]
    keys = {
        chunk.id: text_key(chunk)
        for memory, chunks in items
        if user_statements_of(memory) is None
        for chunk in redact_chunks(memory, chunks, redactor=catalog.redactor)
    }
    answers = catalog.extractions.answers(choice.model, set(keys.values())) if choice.model else {}
    named = catalog.extractions.answers(choice.ner, set(keys.values())) if choice.ner else {}
    return [
        tuple(
            _of(
                _with(ruled, named.get(keys.get(chunk.id, ""))),
                choice.by,
                answers.get(keys.get(chunk.id, "")),
            )
            for ruled, chunk in zip(
                extract_by_rule(memory, chunks, redactor=catalog.redactor), chunks, strict=True
            )
        )
        for memory, chunks in items
    ]


def _with(ruled: Extraction, named: Answer | None) -> Extraction:
    return ruled if named is None else add_recognized(ruled, named.entities)


def _of(ruled: Extraction, by: By, answer: Answer | None) -> Extraction:
    if answer is None or not answer.entities:
        return ruled
    found = Extraction(ruled.chunk_id, answer.entities, answer.relations)
    return found if by == "llm" else unite(ruled, found)


_BETWEEN = " > "


def redact_chunks(memory: Memory, chunks: Sequence[Chunk], redactor: Redactor) -> tuple[Chunk, ...]:
    """Return a memory's chunks with each secret replaced, even if it spans several of them.

    A heading within a secret is removed from the headings of a chunk.
    """
    whole = memory.indexed_text
    secrets = redactor.find(whole)
    return tuple(_redact_chunk(whole, chunk, secrets) for chunk in chunks) if secrets else tuple(chunks)


def _redact_chunk(whole: str, chunk: Chunk, secrets: Sequence[Secret]) -> Chunk:
    headings = [
        heading
        for heading in chunk.heading.split(_BETWEEN)
        if not any(heading in whole[secret.start : secret.end] for secret in secrets)
    ]
    text = cover(whole, secrets, chunk.start, chunk.end)
    return replace(chunk, text=text, heading=_BETWEEN.join(headings))
