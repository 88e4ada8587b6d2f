"""Removing rows that belong to no memory: what a bug, a restored backup or a foreign writer left behind."""

from collections.abc import Mapping

from ragmem.backends.lightrag import names
from ragmem.catalog.database import Database

_NO_DOCUMENT = (
    "NOT EXISTS (SELECT 1 FROM store_documents AS d WHERE d.workspace = {table}.workspace AND d.id = {key})"
)
_NO_SOURCE = (
    "NOT EXISTS (SELECT 1 FROM store_sources AS s WHERE s.workspace = {table}.workspace"
    " AND s.namespace = '{namespace}' AND s.key = {key})"
)

# In this order: rows of documents, then what they were the last evidence of, then vectors of what is gone.
_STEPS: tuple[tuple[str, str], ...] = (
    (
        "documents",
        "DELETE FROM store_kv WHERE namespace IN ('full_docs', 'full_entities', 'full_relations') AND "
        + _NO_DOCUMENT.format(table="store_kv", key="store_kv.id"),
    ),
    (
        "chunks",
        "DELETE FROM store_kv WHERE namespace = 'text_chunks' AND "
        + _NO_DOCUMENT.format(table="store_kv", key="json_extract(store_kv.data, '$.full_doc_id')"),
    ),
    (
        "cached",
        "DELETE FROM store_kv WHERE namespace = 'llm_response_cache'"
        " AND json_extract(data, '$.cache_type') = 'extract' AND NOT EXISTS (SELECT 1 FROM store_kv AS c"
        " WHERE c.workspace = store_kv.workspace AND c.namespace = 'text_chunks'"
        " AND c.id = json_extract(store_kv.data, '$.chunk_id'))",
    ),
    (
        "sources",
        "DELETE FROM store_sources WHERE NOT EXISTS (SELECT 1 FROM store_kv AS c"
        " WHERE c.workspace = store_sources.workspace AND c.namespace = 'text_chunks'"
        " AND c.id = store_sources.chunk_id)",
    ),
    (
        "relations",
        "DELETE FROM store_edges WHERE "
        + _NO_SOURCE.format(
            table="store_edges",
            namespace="relation_chunks",
            key=f"store_edges.source || '{names.SEPARATOR}' || store_edges.target",
        ),
    ),
    (
        "entities",
        "DELETE FROM store_nodes WHERE degree = 0 AND "
        + _NO_SOURCE.format(table="store_nodes", namespace="entity_chunks", key="store_nodes.id"),
    ),
    (
        "vectors",
        f"DELETE FROM store_vectors WHERE namespace = '{names.CHUNKS}' AND "
        + _NO_DOCUMENT.format(table="store_vectors", key="store_vectors.subject"),
    ),
    (
        "vectors",
        f"DELETE FROM store_vectors WHERE namespace = '{names.ENTITIES}' AND NOT EXISTS (SELECT 1"
        " FROM store_nodes AS n WHERE n.workspace = store_vectors.workspace AND n.id = store_vectors.subject)",
    ),
    (
        "vectors",
        f"DELETE FROM store_vectors WHERE namespace = '{names.RELATIONSHIPS}' AND NOT EXISTS (SELECT 1"
        " FROM store_edges AS e WHERE e.workspace = store_vectors.workspace"
        " AND e.source = min(store_vectors.subject, store_vectors.object)"
        " AND e.target = max(store_vectors.subject, store_vectors.object))",
    ),
)

NOTHING: Mapping[str, int] = dict.fromkeys([*(name for name, _ in _STEPS), "sidecar_rows"], 0)
"""The figures of a sweep that found nothing."""


class _UndoError(Exception):
    """Ends a dry run by rolling back."""


def sweep(database: Database, *, dry_run: bool) -> dict[str, int]:
    """Remove orphans and return how many of each sort; a dry run does the same and rolls back."""
    figures = {name: 0 for name, _ in _STEPS}
    try:
        with database.write() as connection:
            for name, statement in _STEPS:
                figures[name] += connection.execute(statement).rowcount
            if dry_run:
                raise _UndoError
    except _UndoError:
        pass
    return figures
