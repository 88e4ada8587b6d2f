"""Read the whole graph of a project, some entities at a time, and the chunks of its parts.

Others may write in between, and a slow reader holds no lock.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from ragmem.backends.lightrag.rows import evidence, names, reads, sources
from ragmem.backends.lightrag.rows.extractions import Chunks
from ragmem.backends.lightrag.rows.keys import SPACE, values_table
from ragmem.domain.model import Entity, Relation
from ragmem.storage.sql.batches import batches
from ragmem.storage.sql.sqlite import SQLiteDatabase


def node_rows(
    database: SQLiteDatabase, workspace: str, *, described: bool = True
) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Yield (name, LightRAG's attributes, degree) of the entities of a workspace, by name.

    Without `described` they have a type only.
    """
    chunks = Chunks(database.connection(), workspace)
    for numbers in _numbers(database, workspace):
        with database.read() as connection:
            rows = connection.execute(
                f"SELECT {evidence.NODE} FROM {values_table(numbers)} CROSS JOIN store_nodes AS o"
                " ON o.n = column1 AND o.present ORDER BY o.id",
                numbers,
            ).fetchall()
            if described:
                made = list(evidence.nodes(connection, workspace, rows, chunks=chunks))
            else:
                made = list(evidence.undescribed(rows))
        yield from made


def _numbers(database: SQLiteDatabase, workspace: str) -> Iterator[list[int]]:
    """Yield the numbers of all entities of a workspace, in the order of their names."""
    with database.read() as connection:
        rows = connection.execute(
            f"SELECT n FROM store_nodes WHERE space = {SPACE} ORDER BY id", (workspace,)
        ).fetchall()
    return batches(number for (number,) in rows)


def edge_rows(
    database: SQLiteDatabase, workspace: str, *, described: bool = True
) -> Iterator[tuple[str, str, dict[str, Any], float]]:
    """Yield (source, target, LightRAG's attributes, weight) of the relations, by source and target.

    Without `described` they have no attributes.
    """
    chunks = Chunks(database.connection(), workspace)
    for numbers in _numbers(database, workspace):
        with database.read() as connection:
            rows = connection.execute(
                f"SELECT {evidence.EDGE} FROM {values_table(numbers)} CROSS JOIN store_nodes AS near"
                " ON near.n = column1 CROSS JOIN store_edges AS o ON o.source = near.n AND o.present"
                " CROSS JOIN store_nodes AS far ON far.n = o.target ORDER BY near.id, far.id",
                numbers,
            ).fetchall()
            if described:
                made = list(evidence.edges(connection, workspace, rows, chunks=chunks))
            else:
                made = [(source, target, {}, weight) for _, source, target, weight, _ in rows]
        yield from made


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
