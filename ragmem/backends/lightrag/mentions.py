"""The entities that chunks name, and the other chunks that name them."""

import sqlite3
from collections.abc import Sequence

from ragmem.backends.lightrag.rows import sources
from ragmem.backends.lightrag.rows.graph_sql import values_table
from ragmem.storage.sql.batches import batches


def mentions(
    connection: sqlite3.Connection, workspace: str, chunk_ids: Sequence[str], *, most: int
) -> dict[str, dict[str, list[str]]]:
    """Return chunk -> entity -> the chunks that name it, without entities that more than `most` name.

    Reads at most `most` chunks of a hub.
    """
    named: dict[str, list[str]] = {}
    for part in batches(dict.fromkeys(chunk_ids)):
        for chunk, entity in connection.execute(
            f"SELECT chunk_id, key FROM {values_table(part)} CROSS JOIN store_sources"
            " ON workspace = ? AND chunk_id = column1 AND namespace = ?",
            (*part, workspace, sources.ENTITY_CHUNKS),
        ):
            named.setdefault(chunk, []).append(entity)
    every = dict.fromkeys(entity for entities in named.values() for entity in entities)
    rare = [
        entity
        for part in batches(every)
        # Counted in the index alone, so that no chunks of a hub are read.
        for entity, count in connection.execute(
            "SELECT column1, (SELECT count(*) FROM (SELECT 1 FROM store_sources"
            f" WHERE workspace = ? AND namespace = ? AND key = column1 LIMIT ?)) FROM {values_table(part)}",
            (workspace, sources.ENTITY_CHUNKS, most + 1, *part),
        )
        if count <= most
    ]
    naming = sources.newest_chunks_of(connection, workspace, sources.ENTITY_CHUNKS, rare, most)
    return {
        chunk: {entity: naming[entity] for entity in sorted(entities) if entity in naming}
        for chunk, entities in named.items()
    }
