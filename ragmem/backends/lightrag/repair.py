"""Repair the store's tables: damaged memories are removed completely, so that they can be put again."""

import sqlite3
import time
from collections.abc import Iterable, Sequence

import orjson

from ragmem.backends.lightrag import invariants, sweep
from ragmem.backends.lightrag.deletion import delete_memories
from ragmem.backends.lightrag.invariants import kv_exists
from ragmem.backends.lightrag.rows import names, schema
from ragmem.backends.lightrag.vectors.segments import quantise
from ragmem.backends.lightrag.vectors.vector_index import VectorIndex
from ragmem.ports import Embedder
from ragmem.storage.activity.model_record import NEXT, ModelRecord, ModelRecords
from ragmem.storage.sql.batches import batches
from ragmem.storage.sql.schema_check import complete
from ragmem.storage.sql.sqlite import SQLiteDatabase

EMBEDDED_AT_ONCE = 256
"""Names of entities and relations in one call of the embedder and one transaction."""


_MENTIONED = """
  SELECT json_extract(k.data, '$.full_doc_id') FROM store_sources o
  JOIN store_kv k ON k.workspace = o.workspace AND k.namespace = 'text_chunks' AND k.id = o.chunk_id
"""

# Ids of memories that lack a part, or mention entities and relations that do not exist.
_DAMAGED: tuple[str, ...] = (
    *(
        f"SELECT o.id FROM store_documents o WHERE NOT {kv_exists(namespace, 'o.id')}"
        for namespace in ("full_docs", "full_entities", "full_relations")
    ),
    (
        "SELECT o.id FROM store_documents o, json_each(o.data, '$.chunks_list') c"
        f" WHERE NOT {kv_exists('text_chunks', 'c.value')}"
    ),
    (
        "SELECT o.id FROM store_documents o JOIN store_kv k ON k.workspace = o.workspace"
        " AND k.namespace = 'text_chunks' AND json_extract(k.data, '$.full_doc_id') = o.id"
        " WHERE k.id NOT IN (SELECT value FROM json_each(o.data, '$.chunks_list'))"
    ),
    (
        "SELECT json_extract(o.data, '$.full_doc_id') FROM store_kv o WHERE o.namespace = 'text_chunks'"
        " AND NOT EXISTS (SELECT 1 FROM store_vectors v WHERE v.workspace = o.workspace"
        " AND v.namespace = 'chunks' AND v.id = o.id AND v.model = :model"
        " AND v.subject = json_extract(o.data, '$.full_doc_id'))"
    ),
    (
        "SELECT json_extract(o.data, '$.full_doc_id')"
        " FROM store_kv o, json_each(o.data, '$.llm_cache_list') c"
        f" WHERE o.namespace = 'text_chunks' AND NOT {kv_exists('llm_response_cache', 'c.value')}"
    ),
    (f"{_MENTIONED} WHERE o.namespace = 'entity_chunks' AND NOT {invariants.NODE_EXISTS.format('o.key')}"),
    (f"{_MENTIONED} WHERE o.namespace = 'relation_chunks' AND NOT {invariants.EDGE_OF_KEY}"),
)


def repair(
    database: SQLiteDatabase, index: VectorIndex, embedder: Embedder, *, whole: bool
) -> dict[str, int]:
    """Remove damaged memories (with `whole`, all) and rewrite derived data; return counts.

    Removed memories are missing from `store_documents` afterwards. Raises BackendError, and changes nothing,
    if the embedder does not answer.
    """
    embedder.embed(["probe"], role="document")
    made = complete(database, schema.STORE)
    schema.create(database)
    # The rows of a table that is created again exist only in the catalog.
    whole = whole or any(what.startswith("table") for what in made)
    with database.write() as connection:
        if whole:
            (taken,) = connection.execute("SELECT count(*) FROM store_documents").fetchone()
            for table in schema.TABLES:
                connection.execute(f"DELETE FROM {table}")
            figures = {"memories": int(taken)}
        else:
            figures = _remove_damaged(database, connection, embedder)
    figures["vectors"] = _embed_missing(database, embedder)
    figures["file_rows"] = index.rebuild()
    return figures


def _remove_damaged(
    database: SQLiteDatabase, connection: sqlite3.Connection, embedder: Embedder
) -> dict[str, int]:
    # Vectors for a change of model in progress are kept, because they may have cost money.
    coming = ModelRecords(database).read(NEXT) or ModelRecord(embedder.model_id)
    unfit = connection.execute(
        "DELETE FROM store_vectors WHERE model NOT IN (:model, :coming) OR length(vector) <>"
        " CASE model WHEN :model THEN :dimensions ELSE :coming_dimensions END",
        {
            "model": embedder.model_id,
            "dimensions": embedder.dimensions,
            "coming": coming.model,
            "coming_dimensions": coming.dimensions,
        },
    ).rowcount
    connection.execute(f"DELETE FROM store_edges AS o WHERE {invariants.LOST_END}")
    taken = delete_memories(connection, sorted(_find_damaged(connection, embedder.model_id)))
    swept = sweep.sweep(database, dry_run=False)
    connection.execute(f"UPDATE store_nodes AS o SET degree = {invariants.DEGREE}")
    return {"memories": taken, "unfit_vectors": unfit, "orphans": sum(swept.values())}


def _find_damaged(connection: sqlite3.Connection, model: str) -> set[str]:
    found = {str(key) for query in _DAMAGED for (key,) in connection.execute(query, {"model": model})}
    chunks = set(
        connection.execute("SELECT workspace, id FROM store_kv WHERE namespace = 'text_chunks'").fetchall()
    )
    for table, namespace, key in (
        ("store_nodes", "entity_chunks", "id"),
        ("store_edges", "relation_chunks", f"source || '{names.SEPARATOR}' || target"),
    ):
        for workspace, name, data in connection.execute(f"SELECT workspace, {key}, data FROM {table}"):
            evidence = str(orjson.loads(data).get("source_id", "")).split(names.SEPARATOR)
            if any(chunk and (workspace, chunk) not in chunks for chunk in evidence):
                found.update(
                    memory
                    for (memory,) in connection.execute(
                        f"{_MENTIONED} WHERE o.workspace = ? AND o.namespace = ? AND o.key = ?",
                        (workspace, namespace, name),
                    )
                )
    return found


def _embed_missing(database: SQLiteDatabase, embedder: Embedder) -> int:
    """Embed entities and relations without a vector; return their number. It can be resumed."""
    with database.read() as connection:
        missing = [
            (workspace, names.ENTITIES, names.entity_id(name), name, "", names.entity_text(name))
            for workspace, name in connection.execute(
                "SELECT workspace, id FROM store_nodes WHERE (workspace, id) NOT IN"
                " (SELECT workspace, subject FROM store_vectors WHERE namespace = 'entities' AND model = ?)",
                (embedder.model_id,),
            )
        ] + [
            (
                workspace,
                names.RELATIONSHIPS,
                names.relation_id(source, target),
                source,
                target,
                names.relation_text(source, target, str(orjson.loads(data).get("keywords", ""))),
            )
            for workspace, source, target, data in connection.execute(
                "SELECT workspace, source, target, data FROM store_edges WHERE (workspace, source, target)"
                " NOT IN (SELECT workspace, min(subject, object), max(subject, object) FROM store_vectors"
                " WHERE namespace = 'relationships' AND model = ?)",
                (embedder.model_id,),
            )
        ]
    for part in batches(missing, EMBEDDED_AT_ONCE):
        _store(database, embedder, part)
    return len(missing)


def _store(
    database: SQLiteDatabase, embedder: Embedder, rows: Sequence[tuple[str, str, str, str, str, str]]
) -> None:
    vectors = embedder.embed([text for *_, text in rows], role="document")
    now = int(time.time())
    values: Iterable[tuple[object, ...]] = (
        (*row[:5], embedder.model_id, *quantise(vector), now)
        for row, vector in zip(rows, vectors, strict=True)
    )
    with database.write() as connection:
        connection.executemany(
            "INSERT OR IGNORE INTO store_vectors"
            " (workspace, namespace, id, subject, object, model, scale, vector, created)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        )
