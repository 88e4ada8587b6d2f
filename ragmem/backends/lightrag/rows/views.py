"""LightRAG's rows of the documents that ragmem stored, made on request from the compact tables."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from ragmem.backends.lightrag.rows import chunk_nodes, extractions, names
from ragmem.backends.lightrag.rows.keys import SPACE, has_id, values_table
from ragmem.backends.lightrag.rows.texts import has_texts, text_of, written
from ragmem.backends.lightrag.rows.tokens import token_count
from ragmem.storage.sql.batches import batches, marks

_Fields = dict[str, Any]

FULL_DOCS, TEXT_CHUNKS, CACHE = "full_docs", "text_chunks", "llm_response_cache"
FULL_ENTITIES, FULL_RELATIONS = "full_entities", "full_relations"

PROCESSED = "processed"
"""LightRAG's status of a document that is complete."""


def read(
    connection: sqlite3.Connection, workspace: str, namespace: str, wanted: Iterable[str]
) -> dict[str, _Fields]:
    """Return key -> row of a key-value namespace: what LightRAG wrote, else what is made of documents."""
    keys = list(dict.fromkeys(wanted))
    found = written(connection, workspace, namespace, keys)
    if namespace in NAMESPACES:
        rest = [key for key in keys if key not in found]
        for key, row, created in _MAKERS[namespace](connection, workspace, rest):
            found[key] = {**row, "_id": key, "create_time": created, "update_time": created}
    return found


def _full_docs(
    connection: sqlite3.Connection, workspace: str, wanted: Iterable[str]
) -> Iterator[tuple[str, _Fields, int]]:
    texts = has_texts(connection)
    for part in batches(wanted):
        for key, created in _documents(connection, workspace, part, "o.id, o.created"):
            text = text_of(connection, key) if texts else None
            if text is not None:
                yield key, {"content": text, "file_path": names.file_token(key)}, created


def _documents(
    connection: sqlite3.Connection, workspace: str, ids: list[str], columns: str
) -> list[tuple[Any, ...]]:
    return connection.execute(
        f"SELECT {columns} FROM {values_table(ids)} CROSS JOIN store_documents AS o"
        f" ON o.id = column1 AND o.space = {SPACE}",
        (*ids, workspace),
    ).fetchall()


def _text_chunks(
    connection: sqlite3.Connection, workspace: str, wanted: Iterable[str]
) -> Iterator[tuple[str, _Fields, int]]:
    if not has_texts(connection):
        return
    texts: dict[str, str | None] = {}
    for part in batches(wanted):
        for key, position, memory, created, begin, end, named in connection.execute(
            "SELECT o.id, o.position, d.id, d.created, c.begin_at, c.end_at, d.extractions IS NOT NULL"
            f" FROM {values_table(part)}"
            f" CROSS JOIN store_chunks AS o ON {has_id('o', 'column1')} AND o.space = {SPACE}"
            " CROSS JOIN store_documents AS d ON d.n = o.document CROSS JOIN chunks AS c ON c.id = o.id",
            (*part, workspace),
        ).fetchall():
            if memory not in texts:
                texts[memory] = text_of(connection, memory)
            text = texts[memory]
            if text is not None:
                content = text[begin:end]
                yield (
                    key,
                    {
                        "content": content,
                        "llm_cache_list": [names.cache_id(key)] if named else [],
                        "tokens": token_count(content),
                        "chunk_order_index": position,
                        "full_doc_id": memory,
                        "file_path": names.file_token(memory),
                    },
                    created,
                )


def _cache(
    connection: sqlite3.Connection, workspace: str, wanted: Iterable[str]
) -> Iterator[tuple[str, _Fields, int]]:
    chunks = {chunk: key for key in wanted if (chunk := names.chunk_of_cache(key))}
    texts: dict[str, str | None] = {}
    readable = has_texts(connection)
    for part in batches(chunks):
        for chunk, position, memory, created, stored in connection.execute(
            f"SELECT o.id, o.position, d.id, d.created, d.extractions FROM {values_table(part)}"
            f" CROSS JOIN store_chunks AS o ON {has_id('o', 'column1')} AND o.space = {SPACE}"
            " CROSS JOIN store_documents AS d ON d.n = o.document WHERE d.extractions IS NOT NULL",
            (*part, workspace),
        ).fetchall():
            if memory not in texts:
                texts[memory] = text_of(connection, memory) if readable else None
            yield (
                chunks[chunk],
                {
                    "return": extractions.json_of(
                        extractions.decode(stored, texts[memory]).get(position, ([], []))
                    ),
                    "cache_type": "extract",
                    "chunk_id": chunk,
                    "file_path": names.file_token(memory),
                    "original_prompt": "",
                    "queryparam": None,
                },
                created,
            )


def _anchors(
    read: Callable[[Mapping[int, Any]], _Fields],
) -> Callable[[sqlite3.Connection, str, Iterable[str]], Iterator[tuple[str, _Fields, int]]]:
    def made(
        connection: sqlite3.Connection, workspace: str, wanted: Iterable[str]
    ) -> Iterator[tuple[str, _Fields, int]]:
        for part in batches(wanted):
            for key, created, stored in _documents(
                connection, workspace, part, "o.id, o.created, o.extractions"
            ):
                yield key, read(extractions.decode(stored)), created

    return made


def _entity_anchors(found: Mapping[int, Any]) -> _Fields:
    named = {row["name"] for entities, _ in found.values() for row in entities}
    named |= {
        row[end] for _, relations in found.values() for row in relations for end in ("source", "target")
    }
    return {"entity_names": sorted(named), "count": len(named)}


def _relation_anchors(found: Mapping[int, Any]) -> _Fields:
    pairs = sorted(
        {
            tuple(sorted((row["source"], row["target"])))
            for _, relations in found.values()
            for row in relations
        }
    )
    return {"relation_pairs": [list(pair) for pair in pairs], "count": len(pairs)}


_MAKERS: Mapping[
    str, Callable[[sqlite3.Connection, str, Iterable[str]], Iterator[tuple[str, _Fields, int]]]
] = {
    FULL_DOCS: _full_docs,
    TEXT_CHUNKS: _text_chunks,
    CACHE: _cache,
    FULL_ENTITIES: _anchors(_entity_anchors),
    FULL_RELATIONS: _anchors(_relation_anchors),
}

NAMESPACES = frozenset(_MAKERS)
"""The namespaces of key-value rows that are made."""

_MOMENT = "strftime('%Y-%m-%dT%H:%M:%S+00:00', d.created, 'unixepoch')"

STATUSES = f"""
(
  SELECT workspace, id, status, created_at, updated_at, file_path, track_id, content_hash, is_duplicate,
    original_id, data FROM store_statuses
  UNION ALL
  SELECT s.name, d.id, '{PROCESSED}', {_MOMENT}, {_MOMENT}, 'm-' || d.id, '', d.fingerprint, 0, '', NULL
  FROM store_documents AS d JOIN store_spaces AS s ON s.n = d.space
  WHERE NOT EXISTS (SELECT 1 FROM store_statuses AS f WHERE f.workspace = s.name AND f.id = d.id)
)
"""
"""LightRAG's status rows as a table expression; `data` is NULL for those that `status` makes."""


def status(connection: sqlite3.Connection, workspace: str, memory: str) -> _Fields:
    """Return LightRAG's status of a stored document. Raises KeyError where there is none."""
    row = connection.execute(
        f"SELECT n, fingerprint, texts, created FROM store_documents WHERE id = ? AND space = {SPACE}",
        (memory, workspace),
    ).fetchone()
    if row is None:
        raise KeyError(memory)
    number, fingerprint, texts, created = row
    chunks = [
        chunk
        for (chunk,) in connection.execute(
            "SELECT id FROM store_chunks WHERE document = ? ORDER BY position", (number,)
        )
    ]
    text = (text_of(connection, memory) if has_texts(connection) else None) or ""
    moment = datetime.fromtimestamp(created, UTC).isoformat()
    return {
        "status": PROCESSED,
        "content_summary": text[:100],
        "content_length": len(text),
        "created_at": moment,
        "updated_at": moment,
        "file_path": names.file_token(memory),
        "track_id": "",
        "content_hash": fingerprint,
        "chunks_count": len(chunks),
        "chunks_list": chunks,
        # LightRAG's own deletion refuses a document without this state.
        "metadata": {"kg_write_state": "graph_mutation_started", "texts": texts},
    }


def forget_documents(connection: sqlite3.Connection, workspace: str, ids: Iterable[str]) -> None:
    """Remove documents with their chunks and mentions, but neither entities nor relations."""
    for part in batches(ids):
        numbers = [row[0] for row in _documents(connection, workspace, part, "o.n")]
        chunks = connection.execute(
            f"SELECT n FROM store_chunks WHERE document IN ({marks(numbers)})", numbers
        )
        chunk_nodes.forget(connection, [chunk for (chunk,) in chunks])
        connection.execute(f"DELETE FROM store_chunks WHERE document IN ({marks(numbers)})", numbers)
        connection.execute(f"DELETE FROM store_documents WHERE n IN ({marks(numbers)})", numbers)
