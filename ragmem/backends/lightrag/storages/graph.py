"""LightRAG's graph storage on the shared database."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from lightrag.base import BaseGraphStorage
from lightrag.types import KnowledgeGraph, KnowledgeGraphEdge, KnowledgeGraphNode

from ragmem.backends.lightrag import graph_dump
from ragmem.backends.lightrag.rows import graph_sql
from ragmem.backends.lightrag.rows.keys import SPACE, sort_pair
from ragmem.backends.lightrag.storages import query_relations
from ragmem.backends.lightrag.storages.home import home_of


@final
@dataclass
class RagmemGraphStorage(BaseGraphStorage):  # type: ignore[misc]
    """The graph of one workspace; each write is durable with the transaction around it."""

    def __post_init__(self) -> None:
        self._database = home_of(self.global_config).database

    async def index_done_callback(self) -> None:
        """Do nothing: writes go to the database at once."""

    async def has_node(self, node_id: str) -> bool:
        """Return whether the node exists."""
        return bool(await self.has_nodes_batch([node_id]))

    async def has_edge(self, source_node_id: str, target_node_id: str) -> bool:
        """Return whether the edge exists, in either direction."""
        return await self.get_edge(source_node_id, target_node_id) is not None

    async def node_degree(self, node_id: str) -> int:
        """Return the number of edges of the node; 0 where it is absent."""
        return (await self.node_degrees_batch([node_id]))[node_id]

    async def edge_degree(self, src_id: str, tgt_id: str) -> int:
        """Return the sum of the degrees of both ends."""
        return (await self.edge_degrees_batch([(src_id, tgt_id)]))[src_id, tgt_id]

    async def get_node(self, node_id: str) -> dict[str, Any] | None:
        """Return the attributes of the node, or None."""
        return (await self.get_nodes_batch([node_id])).get(node_id)

    async def get_edge(self, source_node_id: str, target_node_id: str) -> dict[str, Any] | None:
        """Return the attributes of the edge, or None."""
        pair = sort_pair(source_node_id, target_node_id)
        with self._database.read() as connection:
            return dict(graph_sql.edges(connection, self.workspace, [pair])).get(pair)

    async def get_node_edges(self, source_node_id: str) -> list[tuple[str, str]] | None:
        """Return the edges as (node, other end); None where the node is absent."""
        if not await self.has_node(source_node_id):
            return None
        with self._database.read() as connection:
            adjacent = graph_sql.adjacent(connection, self.workspace, [source_node_id])
        return [(source_node_id, other) for other in adjacent.get(source_node_id, [])]

    async def get_nodes_batch(self, node_ids: list[str]) -> dict[str, dict[str, Any]]:
        """Return the attributes of those nodes that exist."""
        with self._database.read() as connection:
            return {name: data for name, data, _ in graph_sql.nodes(connection, self.workspace, node_ids)}

    async def has_nodes_batch(self, node_ids: list[str]) -> set[str]:
        """Return those of the ids that exist."""
        with self._database.read() as connection:
            return set(graph_sql.degrees(connection, self.workspace, node_ids))

    async def node_degrees_batch(self, node_ids: list[str]) -> dict[str, int]:
        """Return the degree of each node; 0 where it is absent."""
        degrees = dict.fromkeys(node_ids, 0)
        with self._database.read() as connection:
            degrees.update(graph_sql.degrees(connection, self.workspace, node_ids))
        return degrees

    async def edge_degrees_batch(self, edge_pairs: list[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """Return the sum of the degrees of both ends of each edge."""
        degrees = await self.node_degrees_batch(list({name for pair in edge_pairs for name in pair}))
        return {(one, other): degrees[one] + degrees[other] for one, other in edge_pairs}

    async def get_edges_batch(self, pairs: list[dict[str, str]]) -> dict[tuple[str, str], dict[str, Any]]:
        """Return the attributes of those edges that exist, under the requested pairs."""
        wanted: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for pair in pairs:
            asked = (pair["src"], pair["tgt"])
            wanted.setdefault(sort_pair(*asked), []).append(asked)
        found: dict[tuple[str, str], dict[str, Any]] = {}
        with self._database.read() as connection:
            for (source, target), data in graph_sql.edges(connection, self.workspace, wanted):
                for asked in wanted[source, target]:
                    found[asked] = data
        return found

    async def get_nodes_edges_batch(self, node_ids: list[str]) -> dict[str, list[tuple[str, str]]]:
        """Return the edges of each node as (node, other end); an absent node has none.

        Within `limit_relations`, only those that a query would keep.
        """
        with self._database.read() as connection:
            adjacent = query_relations.adjacent_nodes(connection, self.workspace, node_ids)
        return {name: [(name, other) for other in adjacent.get(name, [])] for name in node_ids}

    async def upsert_node(self, node_id: str, node_data: dict[str, Any]) -> None:
        """Write a node; attributes that are not given keep their value."""
        await self.upsert_nodes_batch([(node_id, node_data)])

    async def upsert_nodes_batch(self, nodes: list[tuple[str, dict[str, Any]]]) -> None:
        """Write nodes; attributes that are not given keep their value."""
        with self._database.write() as connection:
            graph_sql.upsert_nodes(connection, self.workspace, nodes)

    async def upsert_edge(self, source_node_id: str, target_node_id: str, edge_data: dict[str, Any]) -> None:
        """Write an edge and, where they are missing, its ends."""
        await self.upsert_edges_batch([(source_node_id, target_node_id, edge_data)])

    async def upsert_edges_batch(self, edges: list[tuple[str, str, dict[str, Any]]]) -> None:
        """Write edges and, where they are missing, their ends."""
        with self._database.write() as connection:
            graph_sql.upsert_edges(connection, self.workspace, edges)

    async def delete_node(self, node_id: str) -> None:
        """Remove a node and its edges."""
        await self.remove_nodes([node_id])

    async def remove_nodes(self, nodes: list[str]) -> None:
        """Remove nodes and their edges; unknown ones are ignored."""
        with self._database.write() as connection:
            graph_sql.remove_nodes(connection, self.workspace, nodes)

    async def remove_edges(self, edges: list[tuple[str, str]]) -> None:
        """Remove edges; unknown ones are ignored."""
        with self._database.write() as connection:
            graph_sql.remove_edges(connection, self.workspace, [sort_pair(*edge) for edge in edges])

    async def get_all_labels(self) -> list[str]:
        """Return all names in alphabetical order."""
        return self._names(f"SELECT id FROM store_nodes WHERE space = {SPACE} AND present ORDER BY id", ())

    async def get_popular_labels(self, limit: int = 300) -> list[str]:
        """Return names, most connected first; equal degrees in alphabetical order."""
        with self._database.read() as connection:
            return graph_sql.most_connected(connection, self.workspace, limit)

    async def search_labels(self, query: str, limit: int = 50) -> list[str]:
        """Return names that contain the query in any case: exact, then prefix, then shortest first."""
        folded = query.lower().strip()
        if not folded:
            return []
        return self._names(
            "SELECT id FROM store_nodes WHERE space = (SELECT n FROM store_spaces WHERE name = ?1)"
            " AND present AND instr(folded, ?2)"
            " ORDER BY folded <> ?2, substr(folded, 1, length(?2)) <> ?2, length(id), id LIMIT ?3",
            (folded, limit),
        )

    def _names(self, statement: str, values: Iterable[object]) -> list[str]:
        with self._database.read() as connection:
            return [name for (name,) in connection.execute(statement, (self.workspace, *values))]

    async def get_all_nodes(self) -> list[dict[str, Any]]:
        """Return the attributes of all nodes, with `id`."""
        return [
            {**data, "id": name} for name, data, _ in graph_dump.node_rows(self._database, self.workspace)
        ]

    async def get_all_edges(self) -> list[dict[str, Any]]:
        """Return the attributes of all edges, with `source` and `target`."""
        return [
            {**data, "source": source, "target": target}
            for source, target, data, _ in graph_dump.edge_rows(self._database, self.workspace)
        ]

    async def get_knowledge_graph(
        self, node_label: str, max_depth: int = 3, max_nodes: int = 1000
    ) -> KnowledgeGraph:
        """Return the graph around a node, or around the most connected ones for "*"."""
        limit = min(max_nodes or 1000, self.global_config.get("max_graph_nodes", 1000))
        with self._database.read() as connection:
            found = graph_sql.walk_graph(connection, self.workspace, node_label, depth=max_depth, limit=limit)
        return KnowledgeGraph(
            nodes=[KnowledgeGraphNode(**node) for node in found["nodes"]],
            edges=[KnowledgeGraphEdge(**edge) for edge in found["edges"]],
            is_truncated=found["is_truncated"],
        )

    async def drop(self) -> dict[str, str]:
        """Remove the graph of this workspace."""
        with self._database.write() as connection:
            every = graph_sql.most_connected(connection, self.workspace, -1)
            graph_sql.remove_nodes(connection, self.workspace, every)
        return {"status": "success", "message": "data dropped"}
