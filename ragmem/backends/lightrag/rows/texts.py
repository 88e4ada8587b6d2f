"""The texts of memories in the catalog, and the key-value rows that LightRAG itself wrote."""

import sqlite3
from collections.abc import Iterable
from typing import Any

import orjson

from ragmem.storage.sql.batches import batches, marks


def has_texts(connection: sqlite3.Connection) -> bool:
    """Return whether the database has the catalog's texts."""
    return (
        connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'chunks'").fetchone()
        is not None
    )


def text_of(connection: sqlite3.Connection, memory: str) -> str | None:
    """Return the text of a memory from the catalog's tables, which must be there; None for an unknown one."""
    row = connection.execute(
        "SELECT CASE summary WHEN '' THEN text ELSE summary END FROM memories WHERE id = ?", (memory,)
    ).fetchone()
    return None if row is None else str(row[0])


def written(
    connection: sqlite3.Connection, workspace: str, namespace: str, keys: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Return key -> row of those keys that exist, with LightRAG's stamps (seconds since 1970)."""
    return {
        key: {**orjson.loads(data), "_id": key, "create_time": created, "update_time": updated}
        for part in batches(keys)
        for key, data, created, updated in connection.execute(
            "SELECT id, data, created, updated FROM store_kv"
            f" WHERE workspace = ? AND namespace = ? AND id IN ({marks(part)})",
            (workspace, namespace, *part),
        )
    }
