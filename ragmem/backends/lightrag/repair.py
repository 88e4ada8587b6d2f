"""Repair the store's tables: damaged memories are removed completely, so that they can be put again."""

import sqlite3

from ragmem.backends.lightrag import invariants, sweep
from ragmem.backends.lightrag.deletion import delete_memories
from ragmem.backends.lightrag.rows import chunk_nodes, schema, vectors, views
from ragmem.backends.lightrag.vectors.vector_index import VectorIndex
from ragmem.ports import Embedder
from ragmem.storage.activity.model_record import NEXT, ModelRecord, ModelRecords
from ragmem.storage.sql.schema_check import complete
from ragmem.storage.sql.sqlite import SQLiteDatabase

# Ids of memories that lack a part, or mention entities and relations that do not exist.
_DAMAGED: tuple[str, ...] = (
    (
        "SELECT d.id FROM store_chunks o JOIN store_documents d ON d.n = o.document"
        f" WHERE {invariants.NO_VECTOR}"
    ),
    (
        "SELECT d.id FROM store_mentions o JOIN store_chunks c ON c.n = o.chunk"
        " JOIN store_documents d ON d.n = c.document WHERE NOT EXISTS"
        " (SELECT 1 FROM store_nodes n WHERE n.n = o.node AND n.present)"
    ),
    (
        "SELECT d.id FROM store_evidence o JOIN store_chunks c ON c.n = o.chunk"
        " JOIN store_documents d ON d.n = c.document WHERE NOT EXISTS"
        " (SELECT 1 FROM store_edges e WHERE e.n = o.edge AND e.present)"
    ),
    (
        f"SELECT d.id FROM store_nodes o JOIN store_mentions m ON m.node = o.n AND {invariants.HAS_TWIN}"
        " JOIN store_chunks c ON c.n = m.chunk JOIN store_documents d ON d.n = c.document"
    ),
)


def repair(
    database: SQLiteDatabase, index: VectorIndex, embedder: Embedder, *, whole: bool
) -> dict[str, int]:
    """Remove damaged memories (with `whole`, all) and rewrite derived data; return counts.

    Removed memories are missing from the store afterwards. Raises BackendError, and changes nothing,
    if the embedder does not answer.
    """
    embedder.embed(["probe"], role="document")
    made = complete(database, schema.STORE)
    schema.create(database)
    # The rows of a table that is created again exist only in the catalog.
    whole = whole or any(what.startswith("table") for what in made)
    with database.write() as connection:
        if whole:
            (taken,) = connection.execute(f"SELECT count(*) FROM {views.STATUSES}").fetchone()
            for table in schema.TABLES:
                connection.execute(f"DELETE FROM {table}")
            figures = {"memories": int(taken)}
        else:
            figures = _remove_damaged(database, connection, embedder)
    figures["file_rows"] = index.rebuild()
    return figures


def _remove_damaged(
    database: SQLiteDatabase, connection: sqlite3.Connection, embedder: Embedder
) -> dict[str, int]:
    # Vectors for a change of model in progress are kept, because they may have cost money.
    coming = ModelRecords(database).read(NEXT) or ModelRecord(embedder.model_id)
    unfit = sum(
        connection.execute(
            f"DELETE FROM {table} WHERE {model} NOT IN (:model, :coming) OR length(vector) <>"
            f" CASE {model} WHEN :model THEN :dimensions ELSE :coming_dimensions END",
            {
                "model": embedder.model_id,
                "dimensions": embedder.dimensions,
                "coming": coming.model,
                "coming_dimensions": coming.dimensions,
            },
        ).rowcount
        for table, model in (
            # A number without a model is of none.
            (
                vectors.OF_CHUNKS,
                "coalesce((SELECT m.name FROM store_vector_models AS m WHERE m.n = model), '')",
            ),
            (vectors.OF_NAMES, "model"),
        )
    )
    connection.execute(f"DELETE FROM store_edges AS o WHERE {invariants.LOST_END}")
    chunk_nodes.list_nodes(connection)
    taken = delete_memories(connection, sorted(_find_damaged(connection, embedder.model_id)))
    swept = sweep.sweep(database, dry_run=False)
    connection.execute(f"UPDATE store_nodes AS o SET degree = {invariants.DEGREE}")
    return {"memories": taken, "unfit_vectors": unfit, "orphans": sum(swept.values())}


def _find_damaged(connection: sqlite3.Connection, model: str) -> set[str]:
    found = {str(key) for query in _DAMAGED for (key,) in connection.execute(query, {"model": model})}
    return found | invariants.wrongly_mentioned(connection)
