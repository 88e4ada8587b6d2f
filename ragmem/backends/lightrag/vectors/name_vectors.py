"""Vectors of the names of entities and relations, made when one of LightRAG's modes is first asked."""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from typing import Any

from ragmem.backends.lightrag.rows import graph_sql, names, vectors
from ragmem.backends.lightrag.rows.keys import SPACE, has_name
from ragmem.backends.lightrag.vectors.segments import quantise
from ragmem.ports import Embedder
from ragmem.storage.sql.batches import batches
from ragmem.storage.sql.sqlite import SQLiteDatabase

EMBEDDED_AT_ONCE = 256
"""Names in one call of the embedder and one transaction."""

ALL_UP_TO = 1_000
"""Most entities (or relations) of a workspace that all get a vector; of more, only those that two chunks
share, which are a third and lead to more than one text."""

_MISSING_NODES = f"""
SELECT o.id FROM store_nodes AS o WHERE o.space = {SPACE} AND o.present
AND NOT EXISTS (
  SELECT 1 FROM store_name_vectors AS v
  WHERE v.workspace = ? AND v.namespace = 'entities' AND v.id = ragmem_entity_id(o.id) AND v.model = ?
)
AND (? OR o.data IS NOT NULL OR (SELECT count(*) FROM (
  SELECT 1 FROM store_mentions AS m WHERE m.node = o.n LIMIT 2)) = 2)
ORDER BY o.degree DESC, o.id
"""

_MISSING_EDGES = f"""
SELECT near.id, far.id FROM store_nodes AS near CROSS JOIN store_edges AS o ON o.source = near.n
CROSS JOIN store_nodes AS far ON far.n = o.target
WHERE near.space = {SPACE} AND o.present
AND NOT EXISTS (
  SELECT 1 FROM store_name_vectors AS v WHERE v.workspace = ? AND v.namespace = 'relationships'
  AND v.id = ragmem_relation_id(near.id, far.id) AND v.model = ?
)
AND (? OR o.data IS NOT NULL OR (SELECT count(*) FROM (
  SELECT 1 FROM store_evidence AS m WHERE m.edge = o.n LIMIT 2)) = 2)
ORDER BY near.id, far.id
"""

_COUNT = {
    names.ENTITIES: f"SELECT count(*) FROM store_nodes WHERE space = {SPACE} AND present",
    names.RELATIONSHIPS: (
        "SELECT count(*) FROM store_nodes AS near JOIN store_edges AS o ON o.source = near.n"
        f" WHERE near.space = {SPACE} AND o.present"
    ),
}

_NODE = (
    f"(SELECT o.n FROM (SELECT {SPACE} AS space, ? AS name) AS wanted CROSS JOIN store_nodes AS o"
    f" ON o.space = wanted.space AND {has_name('o', 'wanted.name')} AND o.present)"
)

_THERE = {
    names.ENTITIES: f"SELECT 1 WHERE {_NODE} IS NOT NULL",
    names.RELATIONSHIPS: f"SELECT 1 FROM store_edges WHERE source = {_NODE} AND target = {_NODE} AND present",
}

_Row = tuple[str, str, str, str]
"""Id of the vector, subject, object, text."""


def make(database: SQLiteDatabase, embedder: Embedder, workspace: str, namespace: str) -> int:
    """Embed the names that have no vector of this model; return their number. It can be resumed.

    Raises BackendError like the embedder. A home that cannot be written stays as it is.
    """
    if database.read_only:
        return 0
    missing = list(_missing(database, embedder.model_id, workspace, namespace))
    # Texts of about one length are embedded together fastest.
    missing.sort(key=lambda row: len(row[3]))
    for part in batches(missing, EMBEDDED_AT_ONCE):
        _store(database, embedder, workspace, namespace, part)
    return len(missing)


def state(database: SQLiteDatabase) -> tuple[int, ...]:
    """Return a value that changes with each put; while it is unchanged, no further name lacks a vector."""
    with database.read() as connection:
        return tuple(
            connection.execute(f"SELECT coalesce({end}(n), 0) FROM {table}").fetchone()[0]
            for table in ("store_chunks", "store_nodes", "store_edges")
            for end in ("min", "max")
        )


def _missing(database: SQLiteDatabase, model: str, workspace: str, namespace: str) -> Iterator[_Row]:
    with database.read() as connection:
        connection.create_function("ragmem_entity_id", 1, names.entity_id, deterministic=True)
        connection.create_function("ragmem_relation_id", 2, names.relation_id, deterministic=True)
        (count,) = connection.execute(_COUNT[namespace], (workspace,)).fetchone()
        query = _MISSING_NODES if namespace == names.ENTITIES else _MISSING_EDGES
        rows: list[tuple[Any, ...]] = connection.execute(
            query, (workspace, workspace, model, count <= ALL_UP_TO)
        ).fetchall()
        if namespace == names.ENTITIES:
            for (name,) in rows:
                yield names.entity_id(name), name, "", names.entity_text(name)
            return
        for pair, data in graph_sql.edges(connection, workspace, rows):
            text = names.relation_text(*pair, str(data.get("keywords", "")))
            yield names.relation_id(*pair), *pair, text


def _store(
    database: SQLiteDatabase, embedder: Embedder, workspace: str, namespace: str, rows: Sequence[_Row]
) -> None:
    made = embedder.embed([text for *_, text in rows], role="document")
    now = int(time.time())
    with database.write() as connection:
        vectors.insert(
            connection,
            [
                (workspace, namespace, *row[:3], embedder.model_id, *quantise(vector), now)
                for row, vector in zip(rows, made, strict=True)
                # Its memory may have been deleted meanwhile.
                if _is_there(connection, workspace, namespace, row)
            ],
            replace=False,
        )


def _is_there(connection: sqlite3.Connection, workspace: str, namespace: str, row: _Row) -> bool:
    named = [name for name in row[1:3] if name]
    values = [value for name in named for value in (workspace, name)]
    return connection.execute(_THERE[namespace], values).fetchone() is not None
