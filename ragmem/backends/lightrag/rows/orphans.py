"""What is left of a node or edge of the graph when some of the chunks that spoke of it are gone."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragmem.backends.lightrag.rows import names
from ragmem.backends.lightrag.rows.records import Found
from ragmem.domain.entities.resolution import WEAK

_Fields = dict[str, Any]

UNKNOWN = "UNKNOWN"
"""LightRAG's type of what only relations name."""

TYPES = "types"
"""The attribute of a node with type -> rows that have it; absent in nodes of earlier releases."""


def origin(chunks: Sequence[str], paths: Mapping[str, str]) -> _Fields:
    """Return the fields that name the chunks, oldest first, and the files that they came from."""
    files = dict.fromkeys(path for chunk in chunks if (path := paths.get(chunk, "")))
    return {"source_id": names.SEPARATOR.join(chunks), "file_path": names.SEPARATOR.join(files)}


def prevailing(types: Mapping[str, int]) -> str:
    """Return the type that most rows have; of equal ones any before concept, then the first by name.

    LightRAG takes the one that came first, which a rebuild need not repeat.
    """
    return min(types, key=lambda kind: (kind == UNKNOWN, -types[kind], kind == WEAK, kind), default=UNKNOWN)


def known_types(node: Mapping[str, Any]) -> dict[str, int]:
    """Return in how many rows a node has each type; in one, where nobody counted."""
    kind = node.get("entity_type", UNKNOWN)
    return node.get(TYPES) or ({} if kind == UNKNOWN else {kind: 1})


def types_of(name: str, chunks: Iterable[str], extractions: Mapping[str, Found]) -> dict[str, int]:
    """Return in how many rows of these chunks an entity has each type."""
    return dict(Counter(row["type"] for chunk in chunks for row in extractions[chunk].entities.get(name, ())))


def entity(name: str, chunks: Sequence[str], extractions: Mapping[str, Found]) -> _Fields:
    """Return type and description of an entity from the chunks that still speak of it, oldest first."""
    rows = [row for chunk in chunks for row in extractions[chunk].entities.get(name, ())]
    if rows:
        return {
            "entity_type": prevailing(Counter(row["type"] for row in rows)),
            "description": names.summarised(row["description"] for row in rows) or f"Entity {name}",
        }
    described = names.summarised(
        row["description"]
        for chunk in chunks
        for pair, relations in extractions[chunk].relations.items()
        if name in pair
        for row in relations
    )
    return {"description": described or f"Entity {name}"}


def weights(removed: Iterable[Found]) -> dict[tuple[str, str], float]:
    """Return how much of the weight of each relation came from these extractions."""
    found: dict[tuple[str, str], float] = {}
    for extraction in removed:
        for pair, rows in extraction.relations.items():
            for row in rows:
                found[pair] = found.get(pair, 0) + row["weight"]
    return found


def relation(
    pair: tuple[str, str],
    chunks: Sequence[str],
    extractions: Mapping[str, Found],
    *,
    weight: float,
    lost: float,
) -> _Fields:
    """Return weight, keywords and description of a relation (its ends in stored order).

    `weight` is what it was before the chunks went of which `lost` came.
    """
    rows = [row for chunk in chunks for row in extractions[chunk].relations.get(pair, ())]
    keywords = {word.strip() for row in rows for word in row["keywords"].split(",") if word.strip()}
    return {
        "weight": max(round(weight - lost, 6), float(len(chunks))),
        "keywords": ",".join(sorted(keywords)),
        "description": names.summarised(row["description"] for row in rows) or " ".join(pair),
    }
