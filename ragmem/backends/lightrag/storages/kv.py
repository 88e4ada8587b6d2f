"""LightRAG's key-value storage on the shared database."""

import time
from dataclasses import dataclass
from typing import Any, ClassVar, final

import orjson
from lightrag.base import BaseKVStorage

from ragmem.backends.lightrag.rows import keys, sources, views
from ragmem.backends.lightrag.storages.home import home_of

_STAMPS = ("_id", "create_time", "update_time")


@final
@dataclass
class RagmemKVStorage(BaseKVStorage):  # type: ignore[misc]
    """One namespace of one workspace; each write is durable with the transaction around it."""

    supports_strict_point_reads: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.final_namespace = self.namespace
        self._database = home_of(self.global_config).database
        self._tracks_sources = self.namespace in sources.NAMESPACES

    async def index_done_callback(self) -> None:
        """Do nothing: writes go to the database at once."""

    async def get_by_id(self, id: str) -> dict[str, Any] | None:  # noqa: A002 - LightRAG's name
        """Return the row, or None."""
        return (await self.get_by_ids([id]))[0]

    async def get_by_id_strict(self, id: str) -> dict[str, Any] | None:  # noqa: A002 - LightRAG's name
        """Return the row; None means that it is surely absent."""
        return await self.get_by_id(id)

    async def get_by_ids(self, ids: list[str]) -> list[dict[str, Any] | None]:
        """Return the rows in the order of the ids, None for each that is absent."""
        with self._database.read() as connection:
            if self._tracks_sources:
                chunks = sources.newest_chunks_of(
                    connection, self.workspace, self.namespace, ids, sources.WINDOW
                )
                return [sources.tracking_row(key, chunks[key]) if key in chunks else None for key in ids]
            found = views.read(connection, self.workspace, self.namespace, ids)
        return [found.get(key) for key in ids]

    async def filter_keys(self, keys: set[str]) -> set[str]:
        """Return the keys that are not stored."""
        with self._database.read() as connection:
            if self._tracks_sources:
                stored = set(sources.newest_chunks_of(connection, self.workspace, self.namespace, keys, 1))
            else:
                stored = set(views.read(connection, self.workspace, self.namespace, keys))
            return set(keys) - stored

    async def upsert(self, data: dict[str, dict[str, Any]]) -> None:
        """Write the rows; LightRAG expects the time stamps to be set in its own dicts."""
        if self._tracks_sources:
            self._replace_sources(data)
            return
        now = int(time.time())
        rows = []
        # In order of the keys, so that neighbouring rows of the index are written together.
        for key, row in sorted(data.items()):
            if self.namespace == views.TEXT_CHUNKS:
                row.setdefault("llm_cache_list", [])
            row["_id"] = key
            row.setdefault("create_time", now)
            row["update_time"] = now
            stored = {name: value for name, value in row.items() if name not in _STAMPS}
            rows.append((self.workspace, self.namespace, key, orjson.dumps(stored).decode(), now, now))
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO store_kv VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (workspace, namespace, id)"
                " DO UPDATE SET data = excluded.data, updated = excluded.updated",
                rows,
            )
            if self.namespace == views.TEXT_CHUNKS:
                keys.make_chunks(connection, self.workspace, data)

    def _replace_sources(self, data: dict[str, dict[str, Any]]) -> None:
        wanted = {key: row.get("chunk_ids") or [] for key, row in data.items()}
        with self._database.write() as connection:
            sources.replace(connection, self.workspace, self.namespace, wanted)

    async def delete(self, ids: list[str]) -> None:
        """Remove the rows; unknown ids are ignored."""
        with self._database.write() as connection:
            if self._tracks_sources:
                sources.delete_keys(connection, self.workspace, self.namespace, ids)
                return
            connection.executemany(
                "DELETE FROM store_kv WHERE workspace = ? AND namespace = ? AND id = ?",
                [(self.workspace, self.namespace, key) for key in ids],
            )
            if self.namespace == views.TEXT_CHUNKS:
                # LightRAG knows only the newest part of a hub's sources, so it cannot remove the older ones.
                sources.forget_chunks(connection, self.workspace, ids)

    async def is_empty(self) -> bool:
        """Return whether the namespace has no row."""
        with self._database.read() as connection:
            if self._tracks_sources:
                return sources.is_empty(connection, self.workspace, self.namespace)
            row = connection.execute(
                "SELECT 1 FROM store_kv WHERE workspace = ? AND namespace = ? LIMIT 1",
                (self.workspace, self.namespace),
            ).fetchone()
            if row is None and self.namespace in views.NAMESPACES:
                row = connection.execute(
                    f"SELECT 1 FROM store_documents WHERE space = {keys.SPACE} LIMIT 1", (self.workspace,)
                ).fetchone()
        return row is None

    async def drop(self) -> dict[str, str]:
        """Remove all rows of the namespace; rows that are made of documents go when their status goes."""
        with self._database.write() as connection:
            if self._tracks_sources:
                sources.drop(connection, self.workspace, self.namespace)
            connection.execute(
                "DELETE FROM store_kv WHERE workspace = ? AND namespace = ?", (self.workspace, self.namespace)
            )
        return {"status": "success", "message": "data dropped"}
