"""The attributes that LightRAG keeps of entities and relations, made from the chunks that mention them."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from ragmem.backends.lightrag.rows import names, orphans
from ragmem.backends.lightrag.rows.extractions import Chunks
from ragmem.backends.lightrag.rows.keys import WEIGHT, read_types
from ragmem.backends.lightrag.rows.sources import ENTITY_CHUNKS, MAX_SOURCES, RELATION_CHUNKS, newest

_Fields = dict[str, Any]

NODE = "o.n, o.id, o.degree, o.types, o.data"
"""The columns of a node (the row `o`) that `nodes` takes."""

EDGE = f"o.n, near.id, far.id, o.weight / {WEIGHT}, o.data"
"""The columns of an edge (the row `o` between the rows `near` and `far`) that `edges` takes."""


def nodes(
    connection: sqlite3.Connection,
    workspace: str,
    rows: Sequence[tuple[Any, ...]],
    *,
    chunks: Chunks | None = None,
) -> Iterator[tuple[str, _Fields, int]]:
    """Yield (name, attributes, degree) of rows with the columns of NODE; `chunks` were read before."""
    mentioned = newest(connection, ENTITY_CHUNKS, [row[0] for row in rows], MAX_SOURCES)
    chunks = chunks or Chunks(connection, workspace)
    chunks.load(chunk for some in mentioned.values() for chunk in some)
    for number, name, degree, types, data in rows:
        by = [chunk for chunk in mentioned.get(number, ()) if chunks.ids.get(chunk)]
        if data is None:
            made = orphans.rebuild_entity(name, by, chunks.extractions)
            kind = orphans.most_frequent_type(read_types(types)) if types else made.get("entity_type")
            fields = {
                "entity_id": name,
                **made,
                "entity_type": kind or orphans.UNKNOWN,
                **_origin(by, chunks),
            }
            yield name, fields, degree
            continue
        written = orjson.loads(data)
        later = _later(written, by, chunks)
        if later:
            told = orphans.rebuild_entity(name, later, chunks.extractions)
            written = _extended(written, told["description"], by, chunks)
        yield name, written, degree


def edges(
    connection: sqlite3.Connection,
    workspace: str,
    rows: Sequence[tuple[Any, ...]],
    *,
    chunks: Chunks | None = None,
) -> Iterator[tuple[str, str, _Fields, float]]:
    """Yield (source, target, attributes, weight) of rows with the columns of EDGE; `chunks` as before."""
    related = newest(connection, RELATION_CHUNKS, [row[0] for row in rows], MAX_SOURCES)
    chunks = chunks or Chunks(connection, workspace)
    chunks.load(chunk for some in related.values() for chunk in some)
    for number, source, target, weight, data in rows:
        by = [chunk for chunk in related.get(number, ()) if chunks.ids.get(chunk)]
        pair = (source, target)
        if data is None:
            made = orphans.rebuild_relation(pair, by, chunks.extractions, weight=weight, lost=0.0)
            yield source, target, {**made, "weight": weight, **_origin(by, chunks)}, weight
            continue
        written = orjson.loads(data)
        later = _later(written, by, chunks)
        if later:
            told = orphans.rebuild_relation(pair, later, chunks.extractions, weight=weight, lost=0.0)
            written = _extended(written, told["description"], by, chunks)
        written["weight"] = weight
        yield source, target, written, weight


def undescribed(rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[str, _Fields, int]]:
    """Yield (name, attributes with a type and no description, degree) of rows with the columns of NODE."""
    for _, name, degree, types, data in rows:
        kind = orjson.loads(data).get("entity_type") if data else None
        yield name, {"entity_type": kind or orphans.most_frequent_type(read_types(types))}, degree


def _origin(by: Sequence[int], chunks: Chunks) -> _Fields:
    """Return the fields for the chunks, oldest first, and their files."""
    files = dict.fromkeys(path for chunk in by if (path := chunks.paths.get(chunk, "")))
    return {
        "source_id": names.SEPARATOR.join(chunks.ids[chunk] for chunk in by),
        "file_path": names.SEPARATOR.join(files),
        "created_at": min((chunks.created.get(chunk, 0) for chunk in by), default=0),
    }


def _later(written: _Fields, by: Sequence[int], chunks: Chunks) -> list[int]:
    """Return the chunks that were stored after LightRAG wrote the attributes."""
    listed = set(str(written.get("source_id", "")).split(names.SEPARATOR))
    last = max((place for place, chunk in enumerate(by) if chunks.ids[chunk] in listed), default=-1)
    return [chunk for chunk in by[last + 1 :] if chunk in chunks.created]


def _extended(written: _Fields, told: str, by: Sequence[int], chunks: Chunks) -> _Fields:
    """Return attributes that LightRAG wrote, with the description and origin of later chunks."""
    before = str(written.get("description", "")).split(names.SEPARATOR)
    described = names.join_descriptions(part for part in (*before, *told.split(names.SEPARATOR)) if part)
    origin = _origin(by, chunks)
    return {
        **written,
        "description": described,
        "source_id": origin["source_id"],
        "file_path": origin["file_path"],
    }
