"""The chunks that an entity or relation came from: LightRAG's tracking rows, one row per mention."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from ragmem.backends.lightrag.rows.graph_sql import values_table
from ragmem.storage.sql.batches import batches, marks

ENTITY_CHUNKS = "entity_chunks"
RELATION_CHUNKS = "relation_chunks"
NAMESPACES = (ENTITY_CHUNKS, RELATION_CHUNKS)

MAX_SOURCES = 32
"""Most chunks and files that a node or edge names. A query reads some of the newest ones; without a limit
each insert would rewrite a list of all memories that mention the entity."""

WINDOW = MAX_SOURCES
"""The newest mentions that LightRAG gets. It splits and copies the list some twenty times per insert (10 us
for each name in it), so with the whole list an insert would cost more with each memory that mentions the same
entity. Our own deletion works on all rows; only LightRAG's would remove an entity whose newest mentions all
come from the deleted document."""

_NONE = ""
"""The chunk id of an empty list; LightRAG tells an empty list from an unknown one (its issue 3609)."""


def newest_chunks(
    connection: sqlite3.Connection, workspace: str, namespace: str, key: str, limit: int
) -> list[str]:
    """Return the newest chunk ids of an entity or relation, oldest first."""
    rows = connection.execute(
        "SELECT chunk_id FROM store_sources WHERE workspace = ? AND namespace = ? AND key = ?"
        " ORDER BY seq DESC LIMIT ?",
        (workspace, namespace, key, limit),
    ).fetchall()
    return [chunk for (chunk,) in reversed(rows)]


def newest_chunks_of(
    connection: sqlite3.Connection, workspace: str, namespace: str, keys: Iterable[str], limit: int
) -> dict[str, list[str]]:
    """Return the newest chunk ids of those entities or relations that have any, oldest first."""
    found: dict[str, list[str]] = {}
    for part in batches(dict.fromkeys(keys)):
        for key, chunk in connection.execute(
            # One search of the index for each key, which reads `limit` rows however many there are.
            f"SELECT wanted.column1, source.chunk_id FROM {values_table(part)} AS wanted"
            " CROSS JOIN store_sources AS source WHERE source.seq IN (SELECT seq FROM store_sources"
            " WHERE workspace = ? AND namespace = ? AND key = wanted.column1 ORDER BY seq DESC LIMIT ?)"
            " ORDER BY source.seq",
            (*part, workspace, namespace, limit),
        ):
            found.setdefault(key, []).append(chunk)
    return found


def tracking_row(key: str, chunks: Iterable[str]) -> dict[str, Any]:
    """Return LightRAG's row {chunk_ids, count} of a key."""
    known = [chunk for chunk in chunks if chunk != _NONE]
    return {"chunk_ids": known, "count": len(known), "_id": key, "create_time": 0, "update_time": 0}


def replace(
    connection: sqlite3.Connection,
    workspace: str,
    namespace: str,
    changes: Iterable[tuple[str, Sequence[str], Sequence[str]]],
) -> None:
    """Replace the newest parts of the lists; items older than the window stay.

    A change is (key, newest part before, newest part after).
    """
    removed: list[tuple[str, str, str, str]] = []
    added: list[tuple[str, str, str, str]] = []
    for key, before, wanted in changes:
        after = [chunk for chunk in wanted if chunk] or [_NONE]
        kept, had = set(after), set(before)
        removed += [(workspace, namespace, key, chunk) for chunk in before if chunk not in kept]
        added += [(workspace, namespace, key, chunk) for chunk in after if chunk not in had]
    connection.executemany(
        "DELETE FROM store_sources WHERE workspace = ? AND namespace = ? AND key = ? AND chunk_id = ?",
        removed,
    )
    connection.executemany(
        "INSERT OR IGNORE INTO store_sources (workspace, namespace, key, chunk_id) VALUES (?, ?, ?, ?)",
        added,
    )


def existing_keys(
    connection: sqlite3.Connection, workspace: str, namespace: str, keys: Iterable[str]
) -> set[str]:
    """Return those of the keys that have a row."""
    return set(newest_chunks_of(connection, workspace, namespace, keys, 1))


def keys_of_chunks(
    connection: sqlite3.Connection, workspace: str, chunk_ids: Iterable[str]
) -> set[tuple[str, str]]:
    """Return (namespace, key) of all entities and relations that these chunks mention."""
    found: set[tuple[str, str]] = set()
    for part in batches(chunk_ids):
        found.update(
            connection.execute(
                "SELECT namespace, key FROM store_sources"
                f" WHERE workspace = ? AND chunk_id IN ({marks(part)})",
                (workspace, *part),
            )
        )
    return found


def delete_keys(connection: sqlite3.Connection, workspace: str, namespace: str, keys: Iterable[str]) -> None:
    """Remove all mentions of these entities or relations."""
    connection.executemany(
        "DELETE FROM store_sources WHERE workspace = ? AND namespace = ? AND key = ?",
        [(workspace, namespace, key) for key in keys],
    )


def forget_chunks(connection: sqlite3.Connection, workspace: str, chunk_ids: Iterable[str]) -> None:
    """Remove all mentions by these chunks."""
    for part in batches(chunk_ids):
        connection.execute(
            f"DELETE FROM store_sources WHERE workspace = ? AND chunk_id IN ({marks(part)})",
            (workspace, *part),
        )
