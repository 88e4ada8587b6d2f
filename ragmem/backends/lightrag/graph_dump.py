"""Read the whole graph of a project, some rows at a time, and the chunks of its parts."""

import sqlite3
from collections.abc import Iterator, Sequence

import orjson

from ragmem.backends.lightrag.rows import names, reads, sources
from ragmem.domain.model import Entity, Relation
from ragmem.storage.sql.sqlite import SQLiteDatabase

ROWS = 2_000
"""Rows per read: others may write in between, and a slow reader holds no lock."""


def nodes(database: SQLiteDatabase, workspace: str) -> Iterator[tuple[Entity, int]]:
    """Yield the entities of a workspace with their degrees, by name."""
    last = ""
    while True:
        with database.read() as connection:
            rows = connection.execute(
                "SELECT id, data, degree FROM store_nodes WHERE workspace = ? AND id > ? ORDER BY id LIMIT ?",
                (workspace, last, ROWS),
            ).fetchall()
        for name, data, degree in rows:
            yield reads.entity(name, orjson.loads(data)), degree
        if len(rows) < ROWS:
            return
        last = rows[-1][0]


def edges(database: SQLiteDatabase, workspace: str) -> Iterator[Relation]:
    """Yield the relations of a workspace, by source and target."""
    last = ("", "")
    while True:
        with database.read() as connection:
            rows = connection.execute(
                "SELECT source, target, weight, data FROM store_edges"
                " WHERE workspace = ? AND (source, target) > (?, ?) ORDER BY source, target LIMIT ?",
                (workspace, *last, ROWS),
            ).fetchall()
        for source, target, weight, data in rows:
            yield reads.relation(source, target, weight, orjson.loads(data))
        if len(rows) < ROWS:
            return
        last = (rows[-1][0], rows[-1][1])


def chunks_naming(
    connection: sqlite3.Connection, workspace: str, entities: Sequence[str], *, most: int
) -> dict[str, list[str]]:
    """Return entity -> the chunks that name it, newest first."""
    found = sources.newest_chunks_of(connection, workspace, sources.ENTITY_CHUNKS, entities, most)
    return {entity: _latest(chunks) for entity, chunks in found.items()}


def chunks_relating(
    connection: sqlite3.Connection, workspace: str, pairs: Sequence[tuple[str, str]], *, most: int
) -> dict[tuple[str, str], list[str]]:
    """Return pair -> the chunks that relate these entities, newest first."""
    keys = {pair: names.relation_key(*pair) for pair in pairs}
    found = sources.newest_chunks_of(connection, workspace, sources.RELATION_CHUNKS, keys.values(), most)
    return {pair: _latest(found[key]) for pair, key in keys.items() if key in found}


def _latest(chunks: list[str]) -> list[str]:
    """Return the chunks newest first, without the placeholder of an empty list."""
    return [chunk for chunk in reversed(chunks) if chunk]
