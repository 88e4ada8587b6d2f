"""Removing rows that belong to no memory: what a bug, a restored backup or a foreign writer left behind."""

from collections.abc import Mapping

from ragmem.backends.lightrag import names
from ragmem.catalog.sqlite import SQLiteDatabase

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

# In this order: rows of documents, then what they were the last evidence of, then vectors of what is gone.
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
"""The figures of a sweep that found nothing."""


class _UndoError(Exception):
    """Ends a dry run by rolling back."""


def sweep(database: SQLiteDatabase, *, dry_run: bool) -> dict[str, int]:
    """Remove orphans and return how many of each sort; a dry run does the same and rolls back."""
    figures = {name: 0 for name, _, _ in _STEPS}
    try:
        with database.write() as connection:
            for name, table, condition in _STEPS:
                figures[name] += connection.execute(f"DELETE FROM {table} AS o WHERE {condition}").rowcount
            if dry_run:
                raise _UndoError
    except _UndoError:
        pass
    return figures
