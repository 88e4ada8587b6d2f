"""The key-value rows that LightRAG itself wrote, as it wrote them."""

import sqlite3
from collections.abc import Iterable
from typing import Any

import orjson

from ragmem.storage.sql.batches import batches, marks


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
