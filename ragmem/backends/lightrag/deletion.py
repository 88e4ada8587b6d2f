"""Remove memories from the tables: rows that came only from them go, shared ones lose their part."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from ragmem.backends.lightrag.rows import chunk_nodes, keys, names, orphans, sources, vectors, views
from ragmem.backends.lightrag.rows.extractions import Chunks, decode
from ragmem.backends.lightrag.rows.sources import MAX_SOURCES
from ragmem.backends.lightrag.rows.texts import written
from ragmem.errors import StoreDamagedError
from ragmem.storage.sql.batches import batches, marks


def delete_memories(connection: sqlite3.Connection, memory_ids: Iterable[str]) -> int:
    """Remove these memories within the caller's transaction and return how many there were."""
    ours: dict[str, list[str]] = {}
    foreign: dict[str, dict[str, list[str]]] = {}
    for part in batches(memory_ids):
        for workspace, memory in connection.execute(
            "SELECT s.name, d.id FROM store_documents AS d JOIN store_spaces AS s ON s.n = d.space"
            f" WHERE d.id IN ({marks(part)})",
            part,
        ):
            ours.setdefault(workspace, []).append(memory)
        for workspace, memory, data in connection.execute(
            f"SELECT workspace, id, data FROM store_statuses WHERE id IN ({marks(part)})", part
        ):
            foreign.setdefault(workspace, {})[memory] = orjson.loads(data).get("chunks_list") or []
    for workspace in dict.fromkeys([*ours, *foreign]):
        _Removal(connection, workspace).remove(ours.get(workspace, []), foreign.get(workspace, {}))
    return sum(
        len({*ours.get(workspace, ()), *foreign.get(workspace, ())}) for workspace in {*ours, *foreign}
    )


class _Removal:
    """One deletion in one workspace."""

    def __init__(self, connection: sqlite3.Connection, workspace: str) -> None:
        self._connection = connection
        self._workspace = workspace

    def remove(self, ours: Sequence[str], foreign: dict[str, list[str]]) -> None:
        """Remove documents that ragmem stored, and those {id: chunk ids} that LightRAG stored."""
        listed = [chunk for chunks in foreign.values() for chunk in chunks]
        numbers = list(keys.chunk_numbers(self._connection, self._workspace, listed).values())
        for some in batches(ours):
            numbers += [
                number
                for (number,) in self._connection.execute(
                    "SELECT c.n FROM store_documents AS d JOIN store_chunks AS c ON c.document = d.n"
                    f" WHERE d.id IN ({marks(some)}) AND d.space = {keys.SPACE}",
                    (*some, self._workspace),
                )
            ]
        types = self._lost_types(ours)
        nodes, weights = chunk_nodes.forget(self._connection, numbers)
        lost = {edge: weight / keys.WEIGHT for edge, weight in weights.items()}
        for edge, weight in self._lost_by_foreign(numbers, listed).items():
            lost[edge] = lost.get(edge, 0.0) + weight
        self._delete_rows([*ours, *foreign], numbers, listed)
        self._shrink_edges(lost)
        self._shrink_nodes(nodes, types)

    def _lost_types(self, ours: Sequence[str]) -> dict[str, Counter[str]]:
        """Return name -> type -> the number of mentions that go, as negative numbers."""
        lost: dict[str, Counter[str]] = {}
        for part in batches(ours):
            for (stored,) in self._connection.execute(
                "SELECT extractions FROM store_documents"
                f" WHERE id IN ({marks(part)}) AND space = {keys.SPACE}",
                (*part, self._workspace),
            ):
                try:
                    found = decode(stored)
                except StoreDamagedError:
                    continue  # damaged: what it named is lost anyway
                for entities, _ in found.values():
                    for row in entities:
                        lost.setdefault(row["name"], Counter())[row["type"]] -= 1
        return lost

    def _lost_by_foreign(self, numbers: Sequence[int], listed: Sequence[str]) -> dict[int, float]:
        """Return the weights of relations that chunks of LightRAG's own brought, from what it cached."""
        if not listed:
            return {}
        chunks = Chunks(self._connection, self._workspace)
        chunks.load(numbers)
        foreign = set(listed)
        weights = orphans.weights(
            chunks.extractions[number] for number in numbers if chunks.ids.get(number) in foreign
        )
        nodes = keys.node_numbers(
            self._connection, self._workspace, {name for pair in weights for name in pair}
        )
        places = {
            (nodes[one], nodes[other]): weight
            for (one, other), weight in weights.items()
            if one in nodes and other in nodes
        }
        return {edge: places[place] for place, edge in keys.edge_numbers(self._connection, places).items()}

    def _delete_rows(self, memories: Sequence[str], numbers: Sequence[int], listed: Sequence[str]) -> None:
        execute = self._connection.execute
        chunk_ids = list(listed)
        for part in batches(numbers):
            chunk_ids += [
                key for (key,) in execute(f"SELECT id FROM store_chunks WHERE n IN ({marks(part)})", part)
            ]
        cached = {
            key
            for row in written(self._connection, self._workspace, views.TEXT_CHUNKS, listed).values()
            for key in row.get("llm_cache_list") or ()
        }
        self._delete_kv(views.CACHE, [*cached, *map(names.cache_id, chunk_ids)])
        self._delete_kv(views.TEXT_CHUNKS, chunk_ids)
        for namespace in (views.FULL_DOCS, views.FULL_ENTITIES, views.FULL_RELATIONS):
            self._delete_kv(namespace, memories)
        for part in batches(numbers):
            execute(f"DELETE FROM store_chunks WHERE n IN ({marks(part)})", part)
        for some in batches(memories):
            execute(
                f"DELETE FROM store_documents WHERE id IN ({marks(some)}) AND space = {keys.SPACE}",
                (*some, self._workspace),
            )
            execute(
                f"DELETE FROM store_statuses WHERE workspace = ? AND id IN ({marks(some)})",
                (self._workspace, *some),
            )

    def _delete_kv(self, namespace: str, wanted: Iterable[str]) -> None:
        for part in batches(wanted):
            self._connection.execute(
                f"DELETE FROM store_kv WHERE workspace = ? AND namespace = ? AND id IN ({marks(part)})",
                (self._workspace, namespace, *part),
            )

    def _shrink_edges(self, lost: dict[int, float]) -> None:
        left = sources.newest(self._connection, sources.RELATION_CHUNKS, lost, MAX_SOURCES)
        # What LightRAG wrote names the chunks that are gone, so that it is made of the rest from now on.
        self._connection.executemany(
            "UPDATE store_edges SET weight = max(round(weight - ?, 3), ?), data = NULL WHERE n = ?",
            [(keys.WEIGHT * lost[edge], keys.WEIGHT * len(chunks), edge) for edge, chunks in left.items()],
        )
        self._delete_edges([edge for edge in lost if edge not in left])

    def _delete_edges(self, edges: Sequence[int]) -> None:
        for part in batches(edges):
            pairs: list[tuple[Any, ...]] = self._connection.execute(
                "SELECT near.id, far.id FROM store_edges AS o JOIN store_nodes AS near ON near.n = o.source"
                f" JOIN store_nodes AS far ON far.n = o.target WHERE o.n IN ({marks(part)})",
                part,
            ).fetchall()
            self._delete_vectors(names.RELATIONSHIPS, [names.relation_id(*pair) for pair in pairs])
            self._connection.execute(f"DELETE FROM store_evidence WHERE edge IN ({marks(part)})", part)
            self._connection.execute(f"DELETE FROM store_edges WHERE n IN ({marks(part)})", part)

    def _shrink_nodes(self, nodes: set[int], types: dict[str, Counter[str]]) -> None:
        left = sources.newest(self._connection, sources.ENTITY_CHUNKS, nodes, 1)
        self._connection.executemany(
            "UPDATE store_nodes SET data = NULL WHERE n = ? AND data IS NOT NULL", [(node,) for node in left]
        )
        numbers = keys.node_numbers(self._connection, self._workspace, types)
        keys.change_types(
            self._connection, {node: types[name] for name, node in numbers.items() if node in left}
        )
        gone = sorted(nodes - left.keys())
        for part in batches(gone):
            for column in ("source", "target"):
                self._delete_edges(
                    [
                        edge
                        for (edge,) in self._connection.execute(
                            f"SELECT n FROM store_edges WHERE {column} IN ({marks(part)})", part
                        )
                    ]
                )
            removed = self._connection.execute(
                f"SELECT id FROM store_nodes WHERE n IN ({marks(part)})", part
            ).fetchall()
            self._connection.execute(f"DELETE FROM store_nodes WHERE n IN ({marks(part)})", part)
            self._delete_vectors(names.ENTITIES, [names.entity_id(name) for (name,) in removed])

    def _delete_vectors(self, namespace: str, ids: Iterable[str]) -> None:
        vectors.delete(self._connection, self._workspace, namespace, ids)
