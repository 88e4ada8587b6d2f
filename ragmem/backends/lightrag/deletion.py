"""Remove memories from the tables: rows that came only from them go, shared ones are rebuilt.

LightRAG's own deletion parses the extraction of every chunk that shares an entity (0.2 s and more for hubs).
This does the same from the newest MAX_SOURCES chunks, which a node or edge names anyway.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from ragmem.backends.lightrag.rows import graph_sql, names, orphans, sources
from ragmem.backends.lightrag.rows.records import ExtractionRows, read_extraction
from ragmem.backends.lightrag.rows.sources import MAX_SOURCES
from ragmem.storage.sql.batches import batches, marks

_Fields = dict[str, Any]


def delete_memories(connection: sqlite3.Connection, memory_ids: Iterable[str]) -> int:
    """Remove these memories within the caller's transaction and return how many there were."""
    documents: dict[str, dict[str, list[str]]] = {}
    for part in batches(memory_ids):
        for workspace, memory_id, data in connection.execute(
            f"SELECT workspace, id, data FROM store_documents WHERE id IN ({marks(part)})", part
        ):
            documents.setdefault(workspace, {})[memory_id] = orjson.loads(data).get("chunks_list") or []
    for workspace, chunks_of in documents.items():
        _Removal(connection, workspace).remove(chunks_of)
    return sum(map(len, documents.values()))


class _Removal:
    """One deletion in one workspace."""

    def __init__(self, connection: sqlite3.Connection, workspace: str) -> None:
        self._connection = connection
        self._workspace = workspace
        self._extractions: dict[str, ExtractionRows] = {}
        self._paths: dict[str, str] = {}

    def remove(self, chunks_of: dict[str, list[str]]) -> None:
        """Remove the memories {id: chunk ids}."""
        chunks = [chunk for of_memory in chunks_of.values() for chunk in of_memory]
        touched = sources.keys_of_chunks(self._connection, self._workspace, chunks)
        self._load(chunks)
        lost = orphans.weights(self._extractions[chunk] for chunk in chunks)
        sources.forget_chunks(self._connection, self._workspace, chunks)
        self._delete_rows(chunks_of, chunks)
        # Relations first: an entity without own descriptions falls back to those of its relations.
        for key in sorted(key for namespace, key in touched if namespace == sources.RELATION_CHUNKS):
            self._shrink_relation(key, lost)
        for key in sorted(key for namespace, key in touched if namespace == sources.ENTITY_CHUNKS):
            self._shrink_entity(key)

    def _delete_rows(self, chunks_of: dict[str, list[str]], chunks: list[str]) -> None:
        memories = list(chunks_of)
        self._delete_kv("llm_response_cache", self._cached_keys(chunks))
        self._delete_kv("text_chunks", chunks)
        for namespace in ("full_docs", "full_entities", "full_relations"):
            self._delete_kv(namespace, memories)
        # One by one: with a long list, SQLite reads the vectors of all chunks instead.
        self._connection.executemany(
            f"DELETE FROM store_vectors WHERE workspace = ? AND namespace = '{names.CHUNKS}' AND subject = ?",
            [(self._workspace, memory) for memory in memories],
        )
        for part in batches(memories):
            self._connection.execute(
                f"DELETE FROM store_documents WHERE workspace = ? AND id IN ({marks(part)})",
                (self._workspace, *part),
            )

    def _kv(self, namespace: str, keys: Iterable[str]) -> dict[str, _Fields]:
        return {
            key: orjson.loads(data)
            for part in batches(keys)
            for key, data in self._connection.execute(
                "SELECT id, data FROM store_kv"
                f" WHERE workspace = ? AND namespace = ? AND id IN ({marks(part)})",
                (self._workspace, namespace, *part),
            )
        }

    def _delete_kv(self, namespace: str, keys: Iterable[str]) -> None:
        for part in batches(keys):
            self._connection.execute(
                f"DELETE FROM store_kv WHERE workspace = ? AND namespace = ? AND id IN ({marks(part)})",
                (self._workspace, namespace, *part),
            )

    def _cached_keys(self, chunks: list[str]) -> set[str]:
        """Return the keys of all cached answers about the chunks (an LLM may have given several)."""
        keys = {names.cache_id(chunk) for chunk in chunks}
        for row in self._kv("text_chunks", chunks).values():
            keys.update(row.get("llm_cache_list") or ())
        return keys

    def _load(self, chunks: Iterable[str]) -> None:
        """Read the cached extractions and paths of chunks, unless they were read before."""
        missing = {
            chunk: names.cache_id(chunk) for chunk in dict.fromkeys(chunks) if chunk not in self._extractions
        }
        cached = self._kv("llm_response_cache", missing.values())
        for chunk, key in missing.items():
            row = cached.get(key)
            self._extractions[chunk] = read_extraction(row["return"] if row else "{}")
            self._paths[chunk] = str(row.get("file_path", "")) if row else ""

    def _remaining_chunks(self, namespace: str, key: str, *, with_placeholder: bool = False) -> list[str]:
        chunks = sources.newest_chunks(self._connection, self._workspace, namespace, key, MAX_SOURCES)
        self._load(chunks)
        return chunks if with_placeholder else [chunk for chunk in chunks if chunk]

    def _shrink_relation(self, key: str, lost: Mapping[tuple[str, str], float]) -> None:
        pair = tuple(key.split(names.SEPARATOR, 1))
        source, target = pair[0], pair[-1]
        stored = dict(graph_sql.edges(self._connection, self._workspace, [(source, target)])).get(
            (source, target)
        )
        chunks = self._remaining_chunks(sources.RELATION_CHUNKS, key)
        if not chunks or stored is None:
            graph_sql.remove_edges(self._connection, self._workspace, [(source, target)])
            sources.delete_keys(self._connection, self._workspace, sources.RELATION_CHUNKS, [key])
            self._delete_vector(names.RELATIONSHIPS, names.relation_id(source, target))
            return
        stored.update(
            orphans.rebuild_relation(
                (source, target),
                chunks,
                self._extractions,
                weight=float(stored.get("weight", 1.0)),
                lost=lost.get((source, target), 0.0),
            ),
            **orphans.source_fields(chunks, self._paths),
        )
        self._connection.execute(
            "UPDATE store_edges SET weight = ?, data = ? WHERE workspace = ? AND source = ? AND target = ?",
            (stored["weight"], orjson.dumps(stored).decode(), self._workspace, source, target),
        )

    def _shrink_entity(self, name: str) -> None:
        chunks = self._remaining_chunks(sources.ENTITY_CHUNKS, name)
        stored = {
            key: data for key, data, _ in graph_sql.nodes(self._connection, self._workspace, [name])
        }.get(name)
        if not chunks or stored is None:
            self._remove_entity(name)
            return
        stored.update(
            orphans.rebuild_entity(name, chunks, self._extractions),
            **orphans.source_fields(chunks, self._paths),
        )
        stored[orphans.TYPES] = orphans.types_of(name, chunks, self._extractions)
        self._connection.execute(
            "UPDATE store_nodes SET data = ? WHERE workspace = ? AND id = ?",
            (orjson.dumps(stored).decode(), self._workspace, name),
        )

    def _remove_entity(self, name: str) -> None:
        for other in graph_sql.adjacent(self._connection, self._workspace, [name]).get(name, ()):
            self._delete_vector(names.RELATIONSHIPS, names.relation_id(name, other))
            sources.delete_keys(
                self._connection, self._workspace, sources.RELATION_CHUNKS, [names.relation_key(name, other)]
            )
        graph_sql.remove_nodes(self._connection, self._workspace, [name])
        sources.delete_keys(self._connection, self._workspace, sources.ENTITY_CHUNKS, [name])
        self._delete_vector(names.ENTITIES, names.entity_id(name))

    def _delete_vector(self, namespace: str, key: str) -> None:
        self._connection.execute(
            "DELETE FROM store_vectors WHERE workspace = ? AND namespace = ? AND id = ?",
            (self._workspace, namespace, key),
        )
