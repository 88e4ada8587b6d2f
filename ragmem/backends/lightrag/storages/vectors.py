"""LightRAG's vector storage on the shared database."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from lightrag.base import BaseVectorStorage
from numpy.typing import NDArray

from ragmem.backends.lightrag.rows import names, vectors, views
from ragmem.backends.lightrag.storages.home import home_of
from ragmem.backends.lightrag.vectors import name_vectors
from ragmem.backends.lightrag.vectors.segments import quantise, restore
from ragmem.errors import StoreBusyError

_Fields = dict[str, Any]


@final
@dataclass
class RagmemVectorStorage(BaseVectorStorage):  # type: ignore[misc]
    """The vectors of one namespace of one workspace.

    Changes wait until `index_done_callback`, which embeds missing vectors in one call. Rows hold only the
    owner of a vector: content and path of a chunk are joined from its own row, so nothing here goes stale.
    """

    def __post_init__(self) -> None:
        self._validate_embedding_func()
        self._home = home_of(self.global_config)
        self._database = self._home.database
        options = self.global_config.get("vector_db_storage_cls_kwargs") or {}
        self.cosine_better_than_threshold = float(options.get("cosine_better_than_threshold", 0.2))
        self._model = (self._home.embedder or self._home.models.embedder).model_id
        # None marks a removal. LightRAG removes a relation and adds it again at each merge: in between the
        # row (and its vector) must not be lost.
        self._pending: dict[str, _Fields | None] = {}

    async def upsert(self, data: dict[str, _Fields]) -> None:
        """Add rows; a stored entity or relation keeps its vector."""
        self._pending.update(data)

    async def delete(self, ids: list[str]) -> None:
        """Remove rows; unknown ids are ignored."""
        self._pending.update(dict.fromkeys(ids))

    async def delete_entity(self, entity_name: str) -> None:
        """Remove the vector of an entity."""
        await self.delete([names.entity_id(entity_name)])

    async def delete_entity_relation(self, entity_name: str) -> None:
        """Remove the vectors of all relations of an entity."""
        with self._database.read() as connection:
            rows = connection.execute(
                # Reads all of the workspace's relations: an index for this rare call would cost each insert.
                f"SELECT DISTINCT id FROM {vectors.OF_NAMES}"
                " WHERE workspace = ?1 AND namespace = ?2 AND (subject = ?3 OR object = ?3)",
                (self.workspace, self.namespace, entity_name),
            ).fetchall()
        await self.delete([key for (key,) in rows])
        for key, fields in list(self._pending.items()):
            if fields is not None and entity_name in (fields.get("src_id"), fields.get("tgt_id")):
                self._pending[key] = None

    async def drop_pending_index_ops(self) -> None:
        """Discard pending changes."""
        self._pending.clear()

    async def index_done_callback(self) -> None:
        """Write pending changes; after a failure they stay pending."""
        if not self._pending:
            return
        with self._database.write() as connection:
            removed = [key for key, fields in self._pending.items() if fields is None]
            vectors.delete(connection, self.workspace, self.namespace, removed)
            added = {key: fields for key, fields in self._pending.items() if fields is not None}
            if self.namespace != names.CHUNKS:
                for key in self._owners(added):
                    del added[key]
            await self._insert(added)
        self._pending.clear()

    def _owners(self, keys: Iterable[str]) -> dict[str, tuple[str, str, int]]:
        """Return key -> subject, object, moment of those that have a vector of the storage's model."""
        with self._database.read() as connection:
            return vectors.owners(connection, self.workspace, self.namespace, self._model, keys)

    async def _insert(self, added: dict[str, _Fields]) -> None:
        if not added:
            return
        texts = [self._text(fields) for fields in added.values()]
        made: NDArray[np.float32] = await self.embedding_func(texts, context="document")
        now = int(time.time())
        rows = []
        for (key, fields), vector in zip(added.items(), made, strict=True):
            subject, other = self._subject(fields)
            rows.append(
                (self.workspace, self.namespace, key, subject, other, self._model, *quantise(vector), now)
            )
        with self._database.write() as connection:
            vectors.insert(connection, rows)

    def _subject(self, fields: _Fields) -> tuple[str, str]:
        if self.namespace == names.ENTITIES:
            return str(fields["entity_name"]), ""
        if self.namespace == names.RELATIONSHIPS:
            return str(fields["src_id"]), str(fields["tgt_id"])
        return str(fields.get("full_doc_id", "")), ""

    def _text(self, fields: _Fields) -> str:
        content = str(fields.get("content", ""))
        subject, other = self._subject(fields)
        if self.namespace == names.ENTITIES:
            return names.entity_text(subject)
        if self.namespace == names.RELATIONSHIPS:
            # The content reads "keywords TAB source NEWLINE target NEWLINE description".
            return names.relation_text(subject, other, content.partition("\t")[0])
        return content

    def _fields(self, subject: str, other: str) -> _Fields:
        if self.namespace == names.ENTITIES:
            return {"entity_name": subject}
        if self.namespace == names.RELATIONSHIPS:
            return {"src_id": subject, "tgt_id": other}
        return {"full_doc_id": subject}

    async def query(self, query: str, top_k: int, query_embedding: Any = None) -> list[_Fields]:
        """Return the nearest rows above the threshold with id, distance (the cosine) and created_at."""
        if self.namespace != names.CHUNKS:
            self._make_names()
        if query_embedding is None:
            query_embedding = (await self.embedding_func([query], context="query"))[0]
        vector = np.asarray(query_embedding, np.float32)
        vector = vector / max(float(np.linalg.norm(vector)), 1e-12)
        hits = self._home.index.search(
            self.namespace,
            self._model,
            vector,
            limit=top_k,
            workspaces=[self.workspace],
            minimum=self.cosine_better_than_threshold,
        )
        rows: list[_Fields] = [
            {
                **self._fields(hit.subject, hit.object),
                "id": hit.id,
                "distance": hit.score,
                "created_at": hit.created,
            }
            for hit in hits
        ]
        return self._with_content(rows)

    def _make_names(self) -> None:
        """Make the vectors of names that are missing; while others write, a question uses those it has."""
        key = (self.workspace, self.namespace, self._model)
        state = name_vectors.state(self._database)
        if self._home.named.get(key) == state:
            return
        embedder = self._home.embedder or self._home.models.embedder
        try:
            name_vectors.make(self._database, embedder, self.workspace, self.namespace)
        except StoreBusyError:
            return
        self._home.named[key] = state

    def _with_content(self, rows: list[_Fields]) -> list[_Fields]:
        if self.namespace != names.CHUNKS:
            return rows
        with self._database.read() as connection:
            chunks = views.read(connection, self.workspace, views.TEXT_CHUNKS, [row["id"] for row in rows])
        for row in rows:
            chunk = chunks.get(row["id"])
            if chunk is not None:
                row.update(content=chunk["content"], file_path=chunk.get("file_path", "unknown_source"))
        return rows

    async def get_by_id(self, id: str) -> _Fields | None:  # noqa: A002 - LightRAG's name
        """Return the row without its vector, or None."""
        return (await self.get_by_ids([id]))[0]

    async def get_by_ids(self, ids: list[str]) -> list[_Fields | None]:
        """Return the rows in the order of the ids, None for each that is absent."""
        found: dict[str, _Fields] = {
            key: {**self._fields(subject, other), "id": key, "created_at": created}
            for key, (subject, other, created) in self._owners(ids).items()
        }
        self._with_content(list(found.values()))
        for key in ids:
            if key in self._pending:
                fields = self._pending[key]
                found.pop(key, None)
                if fields is not None:
                    kept = {name: fields[name] for name in self.meta_fields if name in fields}
                    found[key] = {**kept, "id": key, "created_at": int(time.time())}
        return [found.get(key) for key in ids]

    async def get_vectors_by_ids(self, ids: list[str]) -> dict[str, list[float]]:
        """Return the vectors of stored rows, without pending changes."""
        with self._database.read() as connection:
            found = vectors.select(connection, self.workspace, self.namespace, self._model, ids)
        return {key: restore(scale, codes).tolist() for key, (scale, codes) in found.items()}

    async def finalize(self) -> None:
        """Write pending changes."""
        await self.index_done_callback()

    async def drop(self) -> dict[str, str]:
        """Remove all rows of the namespace."""
        self._pending.clear()
        with self._database.write() as connection:
            vectors.drop(connection, self.workspace, self.namespace)
        return {"status": "success", "message": "data dropped"}
