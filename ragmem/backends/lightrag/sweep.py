"""Remove rows that belong to no memory, left by a bug, a restored backup or another writer."""

import sqlite3
from collections.abc import Mapping, Sequence

from ragmem.backends.lightrag.rows.keys import has_name
from ragmem.storage.sql.migrations import table_exists
from ragmem.storage.sql.sqlite import SQLiteDatabase

_NO_STATUS = """
  NOT EXISTS (SELECT 1 FROM store_statuses AS d WHERE d.workspace = o.workspace AND d.id = {0})
  AND NOT EXISTS (
    SELECT 1 FROM store_documents AS d JOIN store_spaces AS s ON s.n = d.space
    WHERE d.id = {0} AND s.name = o.workspace
  )
"""
_NO_CHUNK = """
  NOT EXISTS (
    SELECT 1 FROM store_chunks AS c JOIN store_spaces AS s ON s.n = c.space
    WHERE substr(c.id, -6) = substr({0}, -6) AND c.id = {0} AND s.name = o.workspace
  )
"""
_LOST_CHUNK = """
  CASE WHEN {0}.document IS NULL THEN {0}.id <> '' AND NOT EXISTS (
    SELECT 1 FROM store_kv AS k JOIN store_spaces AS s ON s.name = k.workspace
    WHERE s.n = {0}.space AND k.namespace = 'text_chunks' AND k.id = {0}.id
  ) ELSE NOT EXISTS (SELECT 1 FROM store_documents AS d WHERE d.n = {0}.document) END
"""
_NO_MENTION = "NOT EXISTS (SELECT 1 FROM store_mentions AS m WHERE m.{} = o.{})"
_NO_EVIDENCE = "NOT EXISTS (SELECT 1 FROM store_evidence AS m WHERE m.{} = o.{})"

# In this order: rows of documents, then entities and relations without evidence, then the vectors of these.
_STEPS: tuple[tuple[str, str, str], ...] = (
    (
        "documents",
        "store_kv",
        "namespace IN ('full_docs', 'full_entities', 'full_relations') AND " + _NO_STATUS.format("o.id"),
    ),
    (
        "chunks",
        "store_kv",
        "namespace = 'text_chunks' AND " + _NO_STATUS.format("json_extract(o.data, '$.full_doc_id')"),
    ),
    # Before the chunks, with which their vectors go.
    (
        "vectors",
        "store_chunk_vectors",
        (
            "NOT EXISTS (SELECT 1 FROM store_chunks AS c"
            f" WHERE c.n = o.chunk AND NOT ({_LOST_CHUNK.format('c')}))"
            " OR NOT EXISTS (SELECT 1 FROM store_vector_models AS m WHERE m.n = o.model)"
        ),
    ),
    ("chunks", "store_chunks", _LOST_CHUNK.format("o")),
    (
        "cached",
        "store_kv",
        "namespace = 'llm_response_cache' AND json_extract(o.data, '$.cache_type') = 'extract' AND "
        + _NO_CHUNK.format("json_extract(o.data, '$.chunk_id')"),
    ),
    (
        "sources",
        "store_mentions",
        (
            "NOT EXISTS (SELECT 1 FROM store_chunks AS c WHERE c.n = o.chunk)"
            " OR NOT EXISTS (SELECT 1 FROM store_nodes AS n WHERE n.n = o.node)"
        ),
    ),
    (
        "sources",
        "store_evidence",
        (
            "NOT EXISTS (SELECT 1 FROM store_chunks AS c WHERE c.n = o.chunk)"
            " OR NOT EXISTS (SELECT 1 FROM store_edges AS e WHERE e.n = o.edge)"
        ),
    ),
    ("relations", "store_edges", _NO_EVIDENCE.format("edge", "n")),
    (
        "entities",
        "store_nodes",
        "NOT EXISTS (SELECT 1 FROM store_edges AS e WHERE e.source = o.n)"
        " AND NOT EXISTS (SELECT 1 FROM store_edges AS e WHERE e.target = o.n) AND "
        + _NO_MENTION.format("node", "n"),
    ),
    (
        "vectors",
        "store_name_vectors",
        f"""
        o.namespace = 'entities' AND NOT EXISTS (
          SELECT 1 FROM store_nodes AS n JOIN store_spaces AS s ON s.n = n.space
          WHERE s.name = o.workspace AND {has_name("n", "o.subject")}
        )
        """,
    ),
    (
        "vectors",
        "store_name_vectors",
        f"""
        o.namespace = 'relationships' AND NOT EXISTS (
          SELECT 1 FROM store_nodes AS a JOIN store_spaces AS s ON s.n = a.space
          JOIN store_edges AS e ON e.source = a.n JOIN store_nodes AS b ON b.n = e.target
          WHERE s.name = o.workspace AND {has_name("a", "min(o.subject, o.object)")}
          AND b.id = max(o.subject, o.object)
        )
        """,
    ),
)

NOTHING: Mapping[str, int] = dict.fromkeys([*(name for name, _, _ in _STEPS), "sidecar_rows"], 0)
"""The counts of a sweep that found nothing."""


# Vectors of an abandoned model, or of the former one after an interrupted change. A text without a vector of
# the answering model is damage, which a repair handles.
_RECORDED = "SELECT json_extract(value, '$.model') FROM main.meta WHERE key IN"
_OTHER_MODELS = (
    (
        "vectors",
        "store_chunk_vectors",
        f"""
        o.model NOT IN (
          SELECT n FROM main.store_vector_models WHERE name IN ({_RECORDED} ('active_model', 'next_model'))
        )
        AND EXISTS (
          SELECT 1 FROM main.store_chunk_vectors AS v WHERE v.chunk = o.chunk
          AND v.model = (SELECT n FROM main.store_vector_models WHERE name IN ({_RECORDED} ('active_model')))
        )
        """,
    ),
    (
        "vectors",
        "store_name_vectors",
        f"""
        o.model NOT IN ({_RECORDED} ('active_model', 'next_model'))
        AND EXISTS (
          SELECT 1 FROM main.store_name_vectors AS v WHERE v.workspace = o.workspace
          AND v.namespace = o.namespace AND v.id = o.id AND v.model IN ({_RECORDED} ('active_model'))
        )
        """,
    ),
)

_TABLES = tuple(dict.fromkeys(table for _, table, _ in _STEPS))

# The rows by table that a dry run has "removed".
_MARKS = 'CREATE TEMP TABLE swept_rows ("table" TEXT, row INTEGER, PRIMARY KEY ("table", row)) WITHOUT ROWID'

_ROW = {"store_mentions": "(o.chunk << 32) | o.node", "store_evidence": "(o.chunk << 32) | o.edge"}
"""The number of a row in a table without row ids."""

_LEFT = """
CREATE TEMP VIEW {table} AS SELECT {row} AS row, o.* FROM main.{table} AS o
WHERE NOT EXISTS (SELECT 1 FROM temp.swept_rows AS m WHERE m."table" = '{table}' AND m.row = {row})
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
    return (*_STEPS, *_OTHER_MODELS) if table_exists(database, connection, "meta") else _STEPS


def _count(connection: sqlite3.Connection, steps: Sequence[tuple[str, str, str]]) -> dict[str, int]:
    """Return the counts of a sweep; temporary views without the marked rows replace the tables.

    They belong to the connection, so this works with a read-only file.
    """
    figures = {name: 0 for name, _, _ in _STEPS}
    connection.execute("SAVEPOINT sweep")
    try:
        connection.execute(_MARKS)
        for table in _TABLES:
            connection.execute(_LEFT.format(table=table, row=_ROW.get(table, "o.rowid")))
        for name, table, condition in steps:
            figures[name] += connection.execute(
                f"INSERT INTO temp.swept_rows SELECT '{table}', o.row FROM {table} AS o WHERE {condition}"
            ).rowcount
    finally:
        connection.execute("ROLLBACK TO sweep")
        connection.execute("RELEASE sweep")
    return figures
