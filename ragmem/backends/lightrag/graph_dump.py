"""Read the whole graph of a project, some rows at a time, and the chunks of its parts."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from ragmem.backends.lightrag.rows import evidence, names, reads, sources
from ragmem.backends.lightrag.rows.extractions import Chunks
from ragmem.backends.lightrag.rows.keys import SPACE
from ragmem.domain.model import Entity, Relation
from ragmem.storage.sql.sqlite import SQLiteDatabase

ROWS = 2_000
"""Rows per read: others may write in between, and a slow reader holds no lock."""


def node_rows(
    database: SQLiteDatabase, workspace: str, *, described: bool = True
) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Yield (name, LightRAG's attributes, degree) of the entities of a workspace, by name.

    Without `described` they have a type only.
    """
    last = ""
    chunks = Chunks(database.connection(), workspace)
    while True:
        with database.read() as connection:
            rows = connection.execute(
                f"SELECT {evidence.NODE} FROM store_nodes AS o WHERE space = {SPACE} AND present AND id > ?"
                " ORDER BY id LIMIT ?",
                (workspace, last, ROWS),
            ).fetchall()
            if described:
                made = list(evidence.nodes(connection, workspace, rows, chunks=chunks))
            else:
                made = list(evidence.undescribed(rows))
        yield from made
        if len(rows) < ROWS:
            return
        last = made[-1][0]


def edge_rows(
    database: SQLiteDatabase, workspace: str, *, described: bool = True
) -> Iterator[tuple[str, str, dict[str, Any], float]]:
    """Yield (source, target, LightRAG's attributes, weight) of the relations, by source and target.

    Without `described` they have no attributes.
    """
    last = ("", "")
    chunks = Chunks(database.connection(), workspace)
    while True:
        with database.read() as connection:
            rows = connection.execute(
                f"SELECT {evidence.EDGE} FROM store_nodes AS near CROSS JOIN store_edges AS o"
                " ON o.source = near.n AND o.present CROSS JOIN store_nodes AS far ON far.n = o.target"
                f" WHERE near.space = {SPACE} AND near.id >= ? AND (near.id, far.id) > (?, ?)"
                " ORDER BY near.id, far.id LIMIT ?",
                (workspace, last[0], *last, ROWS),
            ).fetchall()
            if described:
                made = list(evidence.edges(connection, workspace, rows, chunks=chunks))
            else:
                made = [(source, target, {}, weight) for _, source, target, weight, _ in rows]
        yield from made
        if len(rows) < ROWS:
            return
        last = (made[-1][0], made[-1][1])


def nodes(
    database: SQLiteDatabase, workspace: str, *, described: bool = True
) -> Iterator[tuple[Entity, int]]:
    """Yield the entities of a workspace with their degrees, by name."""
    for name, data, degree in node_rows(database, workspace, described=described):
        yield reads.entity(name, data), degree


def edges(database: SQLiteDatabase, workspace: str, *, described: bool = True) -> Iterator[Relation]:
    """Yield the relations of a workspace, by source and target."""
    for source, target, data, weight in edge_rows(database, workspace, described=described):
        yield reads.relation(source, target, weight, data)


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
