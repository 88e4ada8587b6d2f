"""Rebuild nodes and edges of the graph after some of their chunks were deleted."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ragmem.backends.lightrag.rows import names
from ragmem.backends.lightrag.rows.records import ExtractionRows
from ragmem.domain.entities.resolution import WEAK

_Fields = dict[str, Any]
_Key = TypeVar("_Key", str, int)
"""The id of a chunk, or its number."""

UNKNOWN = "UNKNOWN"
"""LightRAG's type of entities that only relations name."""


def source_fields(chunks: Sequence[str], paths: Mapping[str, str]) -> _Fields:
    """Return the fields for the chunks, oldest first, and their files."""
    files = dict.fromkeys(path for chunk in chunks if (path := paths.get(chunk, "")))
    return {"source_id": names.SEPARATOR.join(chunks), "file_path": names.SEPARATOR.join(files)}


def most_frequent_type(types: Mapping[str, int]) -> str:
    """Return the most frequent type; on a tie any before concept, then the first by name.

    LightRAG takes the first type that it met, which a rebuild could not reproduce.
    """
    return min(types, key=lambda kind: (kind == UNKNOWN, -types[kind], kind == WEAK, kind), default=UNKNOWN)


def rebuild_entity(name: str, chunks: Sequence[_Key], extractions: Mapping[_Key, ExtractionRows]) -> _Fields:
    """Return type and description of an entity from its remaining chunks, oldest first."""
    rows = [row for chunk in chunks for row in extractions[chunk].entities.get(name, ())]
    if rows:
        return {
            "entity_type": most_frequent_type(Counter(row["type"] for row in rows)),
            "description": names.join_descriptions(row["description"] for row in rows) or f"Entity {name}",
        }
    described = names.join_descriptions(
        row["description"]
        for chunk in chunks
        for pair, relations in extractions[chunk].relations.items()
        if name in pair
        for row in relations
    )
    return {"description": described or f"Entity {name}"}


def weights(removed: Iterable[ExtractionRows]) -> dict[tuple[str, str], float]:
    """Return the weight of each relation that came from these extractions."""
    found: dict[tuple[str, str], float] = {}
    for extraction in removed:
        for pair, rows in extraction.relations.items():
            for row in rows:
                found[pair] = found.get(pair, 0) + row["weight"]
    return found


def rebuild_relation(
    pair: tuple[str, str],
    chunks: Sequence[_Key],
    extractions: Mapping[_Key, ExtractionRows],
    *,
    weight: float,
    lost: float,
) -> _Fields:
    """Return weight, keywords and description of a relation (its ends in stored order).

    `weight` is the former weight, `lost` the part of it from the deleted chunks.
    """
    rows = [row for chunk in chunks for row in extractions[chunk].relations.get(pair, ())]
    keywords = {word.strip() for row in rows for word in row["keywords"].split(",") if word.strip()}
    return {
        "weight": max(round(weight - lost, 6), float(len(chunks))),
        "keywords": ",".join(sorted(keywords)),
        "description": names.join_descriptions(row["description"] for row in rows) or " ".join(pair),
    }
