"""Which chunks an entity or relation came from: LightRAG's tracking rows, kept as one row per mention."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from ragmem.catalog.batches import batches, marks

ENTITY_CHUNKS = "entity_chunks"
RELATION_CHUNKS = "relation_chunks"
NAMESPACES = (ENTITY_CHUNKS, RELATION_CHUNKS)

MAX_SOURCES = 32
"""Chunks and files that a node or edge names. A query reads some of the newest ones; without a bound each
insert would rewrite a list as long as the number of memories that mention the entity."""

MAX_DESCRIPTIONS = 7
"""Descriptions that a node or edge keeps, newest last; one more makes LightRAG ask for a summary."""

WINDOW = MAX_SOURCES
"""The newest mentions that LightRAG gets to see. It splits and copies the list some twenty times per insert
(10 us for each name in it), so with the whole list an insert would cost more with each memory that mentions
the same entity. Our own deletion works on all rows; only LightRAG's would take an entity away whose newest
mentions all come from the document that goes."""

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


def tracking_row(
    connection: sqlite3.Connection, workspace: str, namespace: str, key: str
) -> dict[str, Any] | None:
    """Return LightRAG's row {chunk_ids, count}, or None where the key is unknown."""
    chunks = newest_chunks(connection, workspace, namespace, key, WINDOW)
    if not chunks:
        return None
    known = [chunk for chunk in chunks if chunk != _NONE]
    return {"chunk_ids": known, "count": len(known), "_id": key, "create_time": 0, "update_time": 0}


def replace_tracking_row(
    connection: sqlite3.Connection, workspace: str, namespace: str, key: str, chunk_ids: Sequence[str]
) -> None:
    """Make the visible part of the list equal to `chunk_ids`; what is older than the window stays."""
    before = newest_chunks(connection, workspace, namespace, key, WINDOW)
    after = [chunk for chunk in chunk_ids if chunk] or [_NONE]
    wanted, had = set(after), set(before)
    connection.executemany(
        "DELETE FROM store_sources WHERE workspace = ? AND namespace = ? AND key = ? AND chunk_id = ?",
        [(workspace, namespace, key, chunk) for chunk in before if chunk not in wanted],
    )
    connection.executemany(
        "INSERT OR IGNORE INTO store_sources (workspace, namespace, key, chunk_id) VALUES (?, ?, ?, ?)",
        [(workspace, namespace, key, chunk) for chunk in after if chunk not in had],
    )


def known_keys(
    connection: sqlite3.Connection, workspace: str, namespace: str, keys: Sequence[str]
) -> set[str]:
    """Return those of the keys (at most a batch) that have a row."""
    rows = connection.execute(
        "SELECT DISTINCT key FROM store_sources"
        f" WHERE workspace = ? AND namespace = ? AND key IN ({marks(keys)})",
        (workspace, namespace, *keys),
    )
    return {key for (key,) in rows}


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
