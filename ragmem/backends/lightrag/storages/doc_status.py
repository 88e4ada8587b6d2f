"""LightRAG's document status storage on the shared database."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import orjson
from lightrag.base import (
    CURSOR_END,
    CURSOR_START,
    CursorAfter,
    CursorPosition,
    DocProcessingStatus,
    DocSchedulingRecord,
    DocStatus,
    DocStatusPage,
    DocStatusStorage,
    SourceAbsent,
    SourceConflict,
    SourceResolution,
    SourceUnique,
)

from ragmem.backends.lightrag.rows import views
from ragmem.backends.lightrag.rows.keys import SPACE
from ragmem.backends.lightrag.storages.home import home_of
from ragmem.storage.sql.batches import batches, marks

_Fields = dict[str, Any]
_UNKNOWN_PATH = "unknown_source"
_SORTABLE = {"created_at", "updated_at", "id", "file_path"}

_UPSERT = """
INSERT INTO store_statuses
  (workspace, id, status, created_at, updated_at, file_path, track_id, content_hash, is_duplicate,
   original_id, data)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (workspace, id) DO UPDATE SET
  status = excluded.status, created_at = excluded.created_at, updated_at = excluded.updated_at,
  file_path = excluded.file_path, track_id = excluded.track_id, content_hash = excluded.content_hash,
  is_duplicate = excluded.is_duplicate, original_id = excluded.original_id, data = excluded.data
"""


def _values(statuses: Iterable[DocStatus]) -> list[str]:
    return [status.value for status in statuses]


def _full(fields: _Fields) -> DocProcessingStatus:
    known = {"metadata": {}, "error_msg": None, **fields}
    known.pop("content", None)
    known["file_path"] = known.get("file_path") or "no-file-path"
    return DocProcessingStatus.from_stored(known)


@final
@dataclass
class RagmemDocStatusStorage(DocStatusStorage):  # type: ignore[misc]
    """The status of each document of one workspace; each write is durable with the transaction around it.

    Every read is complete or raises, so `strict` only matters for rows that cannot be decoded.
    """

    supports_strict_point_reads: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._database = home_of(self.global_config).database

    async def index_done_callback(self) -> None:
        """Do nothing: writes go to the database at once."""

    def _select(self, condition: str, values: Sequence[object] = ()) -> list[tuple[str, _Fields]]:
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT id, data FROM {views.STATUSES} WHERE workspace = ? {condition}",
                (self.workspace, *values),
            ).fetchall()
            return [
                (
                    key,
                    views.status(connection, self.workspace, key) if data is None else orjson.loads(data),
                )
                for key, data in rows
            ]

    def _by_ids(self, ids: Iterable[str]) -> dict[str, _Fields]:
        found: dict[str, _Fields] = {}
        for part in batches(ids):
            found.update(self._select(f"AND id IN ({marks(part)})", part))
        return found

    def _full_rows(
        self, rows: Iterable[tuple[str, _Fields]], *, strict: bool
    ) -> dict[str, DocProcessingStatus]:
        found = {}
        for key, fields in rows:
            try:
                found[key] = _full(fields)
            except (KeyError, TypeError, ValueError):
                if strict:
                    raise
        return found

    async def get_by_id(self, id: str) -> _Fields | None:  # noqa: A002 - LightRAG's name
        """Return the row, or None."""
        return self._by_ids([id]).get(id)

    async def get_by_id_strict(self, id: str) -> _Fields | None:  # noqa: A002 - LightRAG's name
        """Return the row; None means that it is surely absent."""
        return self._by_ids([id]).get(id)

    async def get_by_ids(self, ids: list[str]) -> list[_Fields | None]:
        """Return the rows in the order of the ids, None for each that is absent."""
        found = self._by_ids(ids)
        return [found.get(key) for key in ids]

    async def filter_keys(self, keys: set[str]) -> set[str]:
        """Return the keys that are not stored."""
        return set(keys) - set(self._by_ids(keys))

    async def upsert(self, data: dict[str, _Fields]) -> None:
        """Write the rows."""
        rows = []
        for key, fields in data.items():
            fields.setdefault("chunks_list", [])
            metadata = fields.get("metadata") or {}
            rows.append(
                (
                    self.workspace,
                    key,
                    DocStatus(fields["status"]).value,
                    str(fields.get("created_at") or ""),
                    str(fields.get("updated_at") or ""),
                    str(fields.get("file_path") or ""),
                    str(fields.get("track_id") or ""),
                    str(fields.get("content_hash") or ""),
                    int(bool(metadata.get("is_duplicate"))),
                    str(metadata.get("original_doc_id") or ""),
                    orjson.dumps(fields).decode(),
                )
            )
        with self._database.write() as connection:
            connection.executemany(_UPSERT, rows)

    async def update_doc_status_fields(
        self, doc_id: str, fields: _Fields, *, missing_ok: bool = False
    ) -> None:
        """Change some fields of a row, read and written in one transaction."""
        with self._database.write():
            await super().update_doc_status_fields(doc_id, fields, missing_ok=missing_ok)

    async def delete(self, ids: list[str]) -> None:
        """Remove the rows; unknown ids are ignored."""
        with self._database.write() as connection:
            connection.executemany(
                "DELETE FROM store_statuses WHERE workspace = ? AND id = ?",
                [(self.workspace, key) for key in ids],
            )
            views.forget_documents(connection, self.workspace, ids)

    async def is_empty(self) -> bool:
        """Return whether there is no document."""
        return not self._select("LIMIT 1")

    async def drop(self) -> dict[str, str]:
        """Remove all rows of this workspace."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM store_statuses WHERE workspace = ?", (self.workspace,))
            every = connection.execute(
                f"SELECT id FROM store_documents WHERE space = {SPACE}", (self.workspace,)
            ).fetchall()
            views.forget_documents(connection, self.workspace, [key for (key,) in every])
        return {"status": "success", "message": "data dropped"}

    async def get_status_counts(self) -> dict[str, int]:
        """Return the number of documents in each status."""
        counts = {status.value: 0 for status in DocStatus}
        with self._database.read() as connection:
            counts.update(
                connection.execute(
                    f"SELECT status, count(*) FROM {views.STATUSES} WHERE workspace = ? GROUP BY status",
                    (self.workspace,),
                ).fetchall()
            )
        return counts

    async def get_all_status_counts(self) -> dict[str, int]:
        """Return the number of documents in each status, and of all."""
        counts = await self.get_status_counts()
        counts["all"] = sum(counts.values())
        return counts

    async def count_docs_by_statuses(self, statuses: list[DocStatus], *, strict: bool = True) -> int:  # noqa: ARG002
        """Return the number of documents in any of the statuses."""
        counts = await self.get_status_counts()
        return sum(counts[value] for value in set(_values(statuses)))

    async def get_docs_by_statuses(
        self,
        statuses: list[DocStatus],
        strict: bool = False,  # noqa: FBT001, FBT002 - LightRAG's signature
    ) -> dict[str, DocProcessingStatus]:
        """Return all documents in any of the statuses."""
        values = _values(statuses)
        return self._full_rows(self._select(f"AND status IN ({marks(values)})", values), strict=strict)

    async def get_docs_by_track_id(self, track_id: str) -> dict[str, DocProcessingStatus]:
        """Return all documents that were inserted under this track id."""
        return self._full_rows(self._select("AND track_id = ?", [track_id]), strict=False)

    async def get_docs_paginated(  # noqa: PLR0917 - LightRAG's signature
        self,
        status_filter: DocStatus | None = None,
        status_filters: list[DocStatus] | None = None,
        page: int = 1,
        page_size: int = 50,
        sort_field: str = "updated_at",
        sort_direction: str = "desc",
    ) -> tuple[list[tuple[str, DocProcessingStatus]], int]:
        """Return one page of documents and the number of all."""
        wanted = sorted(self.resolve_status_filter_values(status_filter, status_filters) or ())
        condition = f"AND status IN ({marks(wanted)})" if wanted else ""
        field = sort_field if sort_field in _SORTABLE else "updated_at"
        direction = "ASC" if sort_direction.lower() == "asc" else "DESC"
        size = min(200, max(10, page_size))
        with self._database.read() as connection:
            (total,) = connection.execute(
                f"SELECT count(*) FROM {views.STATUSES} WHERE workspace = ? {condition}",
                (self.workspace, *wanted),
            ).fetchone()
        rows = self._select(
            f"{condition} ORDER BY {field} {direction}, id LIMIT ? OFFSET ?",
            [*wanted, size, (max(1, page) - 1) * size],
        )
        return list(self._full_rows(rows, strict=False).items()), total

    async def get_doc_by_file_path(self, file_path: str) -> _Fields | None:
        """Return a document of this path, or None."""
        rows = self._select("AND file_path = ? ORDER BY created_at, id LIMIT 1", [file_path])
        return rows[0][1] if rows else None

    async def get_doc_by_file_basename(self, basename: str) -> tuple[str, _Fields] | None:
        """Return the first document of this name that is not a duplicate, or None."""
        rows = self._primary(basename, limit=1)
        return rows[0] if rows else None

    async def get_doc_by_content_hash(
        self, content_hash: str, *, exclude_doc_id: str | None = None
    ) -> tuple[str, _Fields] | None:
        """Return the first document of this content.

        Left out are `exclude_doc_id` and the duplicates that point to it.
        """
        if not content_hash:
            return None
        excluded = exclude_doc_id or ""
        rows = self._select(
            "AND content_hash = ? AND id <> ? AND NOT (is_duplicate AND original_id = ? AND ? <> '')"
            " ORDER BY created_at, id LIMIT 1",
            [content_hash, excluded, excluded, excluded],
        )
        return rows[0] if rows else None

    async def get_docs_by_statuses_page(
        self,
        statuses: list[DocStatus],
        *,
        limit: int,
        position: CursorPosition = CURSOR_START,
        strict: bool = False,
    ) -> DocStatusPage:
        """Return one page of the documents in any of the statuses, in order of creation."""
        if not statuses or position is CURSOR_END:
            return DocStatusPage(docs={}, next_position=CURSOR_END)
        after = json.loads(position.opaque) if isinstance(position, CursorAfter) else ["", ""]
        values = _values(statuses)
        rows = self._select(
            f"AND status IN ({marks(values)}) AND (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?",
            [*values, *after, limit],
        )
        docs: dict[str, DocSchedulingRecord] = {}
        for key, fields in rows:
            try:
                docs[key] = self._scheduling_record_from_raw(key, fields)
            except (KeyError, TypeError, ValueError):
                if strict:
                    raise
        if len(rows) < limit:
            return DocStatusPage(docs=docs, next_position=CURSOR_END)
        key, fields = rows[-1]
        return DocStatusPage(
            docs=docs, next_position=CursorAfter(json.dumps([str(fields.get("created_at") or ""), key]))
        )

    async def get_docs_by_ids(
        self,
        doc_ids: Sequence[str],
        *,
        strict: bool = False,  # noqa: ARG002 - always complete
    ) -> dict[str, DocSchedulingRecord]:
        """Return the scheduling records of those documents that exist."""
        return {
            key: self._scheduling_record_from_raw(key, fields)
            for key, fields in self._by_ids(doc_ids).items()
        }

    async def get_full_docs_by_ids(
        self, doc_ids: Sequence[str], *, strict: bool = False
    ) -> dict[str, DocProcessingStatus]:
        """Return the whole records of those documents that exist."""
        return self._full_rows(self._by_ids(doc_ids).items(), strict=strict)

    async def resolve_doc_source_strict(self, canonical_source_key: str) -> SourceResolution:
        """Return whether no, one or several documents have this name; duplicates do not count."""
        rows = self._primary(canonical_source_key, limit=2)
        if not rows:
            return SourceAbsent()
        if len(rows) > 1:
            return SourceConflict(candidate_count=None, sample_doc_ids=tuple(key for key, _ in rows))
        key, fields = rows[0]
        return SourceUnique(doc_id=key, doc=self._scheduling_record_from_raw(key, fields))

    def _primary(self, basename: str, *, limit: int) -> list[tuple[str, _Fields]]:
        if not basename or basename == _UNKNOWN_PATH:
            return []
        return self._select(
            "AND file_path = ? AND is_duplicate = 0 ORDER BY created_at, id LIMIT ?", [basename, limit]
        )
