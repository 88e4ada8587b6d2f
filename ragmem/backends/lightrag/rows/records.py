"""A record as the rows that LightRAG keeps of a document, and back."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import orjson

from ragmem.backends.lightrag.rows import names
from ragmem.domain.model import Extraction, Record, digest
from ragmem.frozen import dataclass

_Fields = dict[str, Any]
Nodes = dict[str, list[_Fields]]
Edges = dict[tuple[str, str], list[_Fields]]


@dataclass(frozen=True, slots=True)
class ExtractionRows:
    """The rows of a cached extraction: entities by name, relations by ordered pair."""

    entities: dict[str, list[_Fields]]
    relations: dict[tuple[str, str], list[_Fields]]


def fingerprint(record: Record, model: str) -> str:
    """Return a hash of a record's stored content; a record with an equal one is unchanged."""
    memory = record.memory
    parts = [model, memory.scope.project, memory.indexed_text, memory.event_time.isoformat()]
    for chunk in record.chunks:
        parts += [chunk.id, chunk.searchable]
    for extraction in record.extractions:
        parts += [extraction.chunk_id, cached_extraction(extraction)]
    return digest("record", *parts)


def texts_of(record: Record) -> str:
    """Return a hash of the embedded texts of a record's chunks, whose ids do not cover the heading."""
    return digest("texts", *(part for chunk in record.chunks for part in (chunk.id, chunk.searchable)))


# A put needs the rows of an extraction about eight times: for its fingerprint, its vectors, its merge.
_remembered = lru_cache(maxsize=256)


@_remembered
def _entity_rows(extraction: Extraction) -> tuple[_Fields, ...]:
    rows = []
    for entity in extraction.entities:
        name = names.clean_name(entity.name)
        if name:
            rows.append(
                {
                    "name": name,
                    "type": entity.type or "UNKNOWN",
                    "description": _clean(entity.description) or name,
                }
            )
    return tuple(rows)


@_remembered
def _relation_rows(extraction: Extraction) -> tuple[_Fields, ...]:
    rows = []
    for relation in extraction.relations:
        source, target = names.clean_name(relation.source), names.clean_name(relation.target)
        if source and target and source != target:
            rows.append(
                {
                    "source": source,
                    "target": target,
                    "keywords": _clean(relation.keywords),
                    "description": _clean(relation.description) or f"{source} {relation.keywords} {target}",
                    "weight": relation.weight,
                }
            )
    return tuple(rows)


def _clean(text: str) -> str:
    """Return a text that LightRAG's merge leaves unchanged: without its separator, stripped."""
    return text.replace(names.SEPARATOR, " ").strip()


@_remembered
def cached_extraction(extraction: Extraction) -> str:
    """Return an extraction as JSON, for rebuilding after a deletion; LightRAG reads it as well."""
    return orjson.dumps(
        {"entities": _entity_rows(extraction), "relationships": _relation_rows(extraction)}
    ).decode()


def rows_of_extraction(extraction: Extraction) -> tuple[list[_Fields], list[_Fields]]:
    """Return the rows of an extraction's entities and relations, names and descriptions cleaned."""
    return list(_entity_rows(extraction)), list(_relation_rows(extraction))


def read_extraction(cached: str) -> ExtractionRows:
    """Parse a cached extraction; of an answer of a language model, what has not this form is left out."""
    found = ExtractionRows({}, {})
    try:
        content = orjson.loads(cached)
    except orjson.JSONDecodeError:
        return found
    if not isinstance(content, dict):
        return found
    for row in _rows_with(content.get("entities"), "name"):
        found.entities.setdefault(row["name"], []).append({"type": "UNKNOWN", "description": "", **row})
    for row in _rows_with(content.get("relationships"), "source", "target"):
        one, other = sorted((row["source"], row["target"]))
        whole = {"keywords": "", "description": "", "weight": 1.0, **row}
        found.relations.setdefault((one, other), []).append(whole)
    return found


def _rows_with(rows: object, *fields: str) -> list[_Fields]:
    return [
        row
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict) and all(isinstance(row.get(field), str) for field in fields)
    ]


def merge_input(record: Record) -> list[tuple[Nodes, Edges]]:
    """Return (nodes, edges) of each chunk for LightRAG's merge; newer events sort last."""
    path = names.file_token(record.memory.id)
    moment = int(record.memory.event_time.timestamp())
    result = []
    for extraction in record.extractions:
        origin = {"source_id": extraction.chunk_id, "file_path": path, "timestamp": moment}
        nodes: Nodes = {}
        for row in _entity_rows(extraction):
            nodes.setdefault(row["name"], []).append(
                {
                    "entity_name": row["name"],
                    "entity_type": row["type"],
                    "description": row["description"],
                    **origin,
                }
            )
        edges: Edges = {}
        for row in _relation_rows(extraction):
            edges.setdefault((row["source"], row["target"]), []).append(
                {
                    "src_id": row["source"],
                    "tgt_id": row["target"],
                    "weight": row["weight"],
                    "description": row["description"],
                    "keywords": row["keywords"],
                    **origin,
                }
            )
        result.append((nodes, edges))
    return result


def candidates(record: Record) -> tuple[list[str], list[list[str]]]:
    """Return all entity names and relation pairs of a record: LightRAG's anchors for recovery."""
    entities: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    for extraction in record.extractions:
        entities.update(row["name"] for row in _entity_rows(extraction))
        for row in _relation_rows(extraction):
            one, other = sorted((row["source"], row["target"]))
            pairs.add((one, other))
            entities.update((one, other))
    return sorted(entities), [list(pair) for pair in sorted(pairs)]


def chunk_texts(records: Iterable[Record]) -> dict[tuple[str, str, str], str]:
    """Return the texts of the records' chunks to embed, by workspace, namespace and id."""
    return {
        (record.memory.scope.project, names.CHUNKS, chunk.id): chunk.searchable
        for record in records
        for chunk in record.chunks
    }


def vector_texts(records: Iterable[Record]) -> dict[tuple[str, str, str], str]:
    """Return the texts to embed for the records, by workspace, namespace and id."""
    texts: dict[tuple[str, str, str], str] = {}
    for record in records:
        space = record.memory.scope.project
        for chunk in record.chunks:
            texts[space, names.CHUNKS, chunk.id] = chunk.searchable
        for extraction in record.extractions:
            for row in _entity_rows(extraction):
                texts.setdefault(
                    (space, names.ENTITIES, names.entity_id(row["name"])),
                    names.entity_text(row["name"]),
                )
            for row in _relation_rows(extraction):
                source, target = row["source"], row["target"]
                for name in (source, target):
                    texts.setdefault((space, names.ENTITIES, names.entity_id(name)), names.entity_text(name))
                texts.setdefault(
                    (space, names.RELATIONSHIPS, names.relation_id(source, target)),
                    names.relation_text(source, target, row["keywords"]),
                )
    return texts
