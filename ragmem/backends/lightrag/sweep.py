"""Remove rows that belong to no memory, left by a bug, a restored backup or another writer."""

import sqlite3
from collections.abc import Mapping, Sequence

from ragmem.backends.lightrag.rows import names
from ragmem.storage.sql.migrations import table_exists
from ragmem.storage.sql.sqlite import SQLiteDatabase

_NO_DOCUMENT = """
  NOT EXISTS (SELECT 1 FROM store_documents AS d WHERE d.workspace = o.workspace AND d.id = {})
"""
_NO_CHUNK = """
  NOT EXISTS (
    SELECT 1 FROM store_kv AS c WHERE c.workspace = o.workspace AND c.namespace = 'text_chunks' AND c.id = {}
  )
"""
_NO_SOURCE = """
  NOT EXISTS (
    SELECT 1 FROM store_sources AS s WHERE s.workspace = o.workspace AND s.namespace = {} AND s.key = {}
  )
"""

# In this order: rows of documents, then entities and relations without evidence, then their vectors.
_STEPS: tuple[tuple[str, str, str], ...] = (
    (
        "documents",
        "store_kv",
        "namespace IN ('full_docs', 'full_entities', 'full_relations') AND " + _NO_DOCUMENT.format("o.id"),
    ),
    (
        "chunks",
        "store_kv",
        "namespace = 'text_chunks' AND " + _NO_DOCUMENT.format("json_extract(o.data, '$.full_doc_id')"),
    ),
    (
        "cached",
        "store_kv",
        "namespace = 'llm_response_cache' AND json_extract(o.data, '$.cache_type') = 'extract' AND "
        + _NO_CHUNK.format("json_extract(o.data, '$.chunk_id')"),
    ),
    ("sources", "store_sources", _NO_CHUNK.format("o.chunk_id")),
    (
        "relations",
        "store_edges",
        _NO_SOURCE.format("'relation_chunks'", f"o.source || '{names.SEPARATOR}' || o.target"),
    ),
    ("entities", "store_nodes", "o.degree = 0 AND " + _NO_SOURCE.format("'entity_chunks'", "o.id")),
    ("vectors", "store_vectors", "o.namespace = 'chunks' AND " + _NO_CHUNK.format("o.id")),
    (
        "vectors",
        "store_vectors",
        """
        o.namespace = 'entities' AND NOT EXISTS (
          SELECT 1 FROM store_nodes AS n WHERE n.workspace = o.workspace AND n.id = o.subject
        )
        """,
    ),
    (
        "vectors",
        "store_vectors",
        """
        o.namespace = 'relationships' AND NOT EXISTS (
          SELECT 1 FROM store_edges AS e WHERE e.workspace = o.workspace
          AND e.source = min(o.subject, o.object) AND e.target = max(o.subject, o.object)
        )
        """,
    ),
)

NOTHING: Mapping[str, int] = dict.fromkeys([*(name for name, _, _ in _STEPS), "sidecar_rows"], 0)
"""The counts of a sweep that found nothing."""


# Vectors of an abandoned model, or of the former one after an interrupted change. A text without a vector of
# the answering model is damage, which a repair handles.
_OTHER_MODELS = (
    "vectors",
    "store_vectors",
    """
    o.model NOT IN (
      SELECT json_extract(value, '$.model') FROM main.meta WHERE key IN ('active_model', 'next_model')
    )
    AND EXISTS (
      SELECT 1 FROM main.store_vectors AS v WHERE v.workspace = o.workspace AND v.namespace = o.namespace
      AND v.id = o.id
      AND v.model = (SELECT json_extract(value, '$.model') FROM main.meta WHERE key = 'active_model')
    )
    """,
)

_TABLES = tuple(dict.fromkeys(table for _, table, _ in _STEPS))

# The rows by table that a dry run has "removed", and the number of relations that each entity has lost.
_MARKS = (
    'CREATE TEMP TABLE swept_rows ("table" TEXT, row INTEGER, PRIMARY KEY ("table", row)) WITHOUT ROWID',
    "CREATE TEMP TABLE swept_ends (workspace TEXT, id TEXT, count INTEGER, PRIMARY KEY (workspace, id))",
)

_LEFT = """
CREATE TEMP VIEW {table} AS SELECT o.rowid AS row, {columns} FROM main.{table} AS o
WHERE NOT EXISTS (SELECT 1 FROM temp.swept_rows AS m WHERE m."table" = '{table}' AND m.row = o.rowid)
"""

_COLUMNS = {
    # The triggers of store_edges would have counted down.
    "store_nodes": """
    o.workspace, o.id, o.degree - coalesce(
      (SELECT m.count FROM temp.swept_ends AS m WHERE m.workspace = o.workspace AND m.id = o.id), 0
    ) AS degree
    """,
}

_ENDS = """
INSERT INTO temp.swept_ends
SELECT workspace, id, count(*) FROM (
  SELECT e.workspace, e.source AS id FROM temp.swept_rows m JOIN main.store_edges e ON e.rowid = m.row
  WHERE m."table" = 'store_edges'
  UNION ALL
  SELECT e.workspace, e.target FROM temp.swept_rows m JOIN main.store_edges e ON e.rowid = m.row
  WHERE m."table" = 'store_edges' AND e.target <> e.source
) GROUP BY workspace, id
"""


def sweep(database: SQLiteDatabase, *, dry_run: bool) -> dict[str, int]:
    """Remove orphans and return their number by kind; a dry run writes nothing and returns the same counts.

    The database file does not shrink: later rows reuse the free pages. After removing a random half of the
    memories, a fifth of the pages is free. VACUUM would write the whole file again, into memory and a log of
    the same size, while every writer waits; incremental_vacuum needs a file format that slows each insert.
    """
    if dry_run:
        with database.read() as connection:
            return _count(connection, _steps(database, connection))
    figures = {name: 0 for name, _, _ in _STEPS}
    with database.write() as connection:
        for name, table, condition in _steps(database, connection):
            figures[name] += connection.execute(f"DELETE FROM {table} AS o WHERE {condition}").rowcount
    return figures


def _steps(database: SQLiteDatabase, connection: sqlite3.Connection) -> tuple[tuple[str, str, str], ...]:
    return (*_STEPS, _OTHER_MODELS) if table_exists(database, connection, "meta") else _STEPS


def _count(connection: sqlite3.Connection, steps: Sequence[tuple[str, str, str]]) -> dict[str, int]:
    """Return the counts of a sweep; temporary views without the marked rows replace the tables.

    They belong to the connection, so this works with a read-only file.
    """
    figures = {name: 0 for name, _, _ in _STEPS}
    connection.execute("SAVEPOINT sweep")
    try:
        for statement in _MARKS:
            connection.execute(statement)
        for table in _TABLES:
            connection.execute(_LEFT.format(table=table, columns=_COLUMNS.get(table, "o.*")))
        for name, table, condition in steps:
            figures[name] += connection.execute(
                f"INSERT INTO temp.swept_rows SELECT '{table}', o.row FROM {table} AS o WHERE {condition}"
            ).rowcount
            if name == "relations":
                connection.execute(_ENDS)
    finally:
        connection.execute("ROLLBACK TO sweep")
        connection.execute("RELEASE sweep")
    return figures
