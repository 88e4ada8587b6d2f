"""What the texts of memories name, as rules or a language model found it; under the names that they use."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.extractions import By
from ragmem.domain.extraction import extract
from ragmem.domain.extraction_answer import Answer
from ragmem.domain.extraction_prompt import text_key
from ragmem.domain.extraction_union import unite
from ragmem.domain.model import Chunk, Extraction, Memory

Item = tuple[Memory, Sequence[Chunk]]

# A record is made again within the transaction that puts it.
by_rule = lru_cache(maxsize=2048)(extract)


def extracted(catalog: Catalog, items: Sequence[Item]) -> list[tuple[Extraction, ...]]:
    """Return the extractions of each memory's chunks.

    The language model's entities and relations are taken where the catalog chose them and has an answer that
    can be used and is not empty; rules find them otherwise.
    """
    choice = catalog.extractions.choice()
    if choice.by == "rules":
        return [tuple(by_rule(chunk) for chunk in chunks) for _, chunks in items]
    keys = {chunk.id: text_key(chunk) for _, chunks in items for chunk in chunks}
    answers = catalog.extractions.answers(choice.model, set(keys.values()))
    return [tuple(_of(chunk, choice.by, answers, keys) for chunk in chunks) for _, chunks in items]


def _of(chunk: Chunk, by: By, answers: Mapping[str, Answer], keys: Mapping[str, str]) -> Extraction:
    answer = answers.get(keys[chunk.id])
    if answer is None or not answer.entities:
        return by_rule(chunk)
    found = Extraction(chunk.id, answer.entities, answer.relations)
    return found if by == "llm" else unite(by_rule(chunk), found)
