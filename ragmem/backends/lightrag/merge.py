"""LightRAG's merge, on a part of the graph that is read before it starts and written after it ends."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final

from ragmem.backends.lightrag.engine import Instance
from ragmem.backends.lightrag.rows import graph_sql, names, orphans, sources
from ragmem.backends.lightrag.rows.graph_sql import sort_pair
from ragmem.backends.lightrag.rows.records import Edges, Nodes
from ragmem.backends.lightrag.rows.tokens import PieceCounter
from ragmem.storage.sql.sqlite import SQLiteDatabase

_Fields = dict[str, Any]

# The merge reads one entity or relation at a time: about thirty statements for each memory. All of them are
# known beforehand, and nobody else writes meanwhile, because it runs in the write transaction.

_UNBOUNDED = 100_000_000

_SETTINGS: Final = {
    # The number of entities that are merged at a time. None of them waits for anything, so that with a bound
    # they would only wait for each other.
    "llm_model_max_async": _UNBOUNDED,
    # No summary is requested: the best descriptions are chosen, without a prompt and its answer.
    "force_llm_summary_on_merge": _UNBOUNDED,
    "tokenizer": PieceCounter(),
}
"""Settings that differ from LightRAG's own merge."""


class BufferedGraph(ABC):
    """The part of a graph storage that the merge calls, on nodes and edges in memory."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Fields | None] = {}
        self._edges: dict[tuple[str, str], _Fields | None] = {}
        self._changed_nodes: set[str] = set()
        self._changed_edges: set[tuple[str, str]] = set()

    @abstractmethod
    async def _read(self, nodes: list[str], edges: list[tuple[str, str]]) -> None:
        """Read the existing ones of these nodes and edges into the buffer."""

    async def load(self, nodes: Iterable[str], pairs: Iterable[tuple[str, str]]) -> None:
        """Read these nodes and edges; absent ones become None."""
        names, edges = sorted(set(nodes)), sorted({sort_pair(*pair) for pair in pairs})
        self._nodes.update(dict.fromkeys(names))
        self._edges.update(dict.fromkeys(edges))
        await self._read(names, edges)

    async def get_node(self, node_id: str) -> _Fields | None:
        """Return the attributes of a node, or None."""
        if node_id not in self._nodes:
            await self.load([node_id], ())
        return self._nodes[node_id]

    async def has_edge(self, source_node_id: str, target_node_id: str) -> bool:
        """Tell whether an edge exists, in either direction."""
        return await self.get_edge(source_node_id, target_node_id) is not None

    async def get_edge(self, source_node_id: str, target_node_id: str) -> _Fields | None:
        """Return the attributes of an edge, or None."""
        pair = sort_pair(source_node_id, target_node_id)
        if pair not in self._edges:
            await self.load((), [pair])
        return self._edges[pair]

    async def upsert_node(self, node_id: str, node_data: _Fields) -> None:
        """Change a node; attributes that are not given keep their value."""
        self._nodes[node_id] = {**(await self.get_node(node_id) or {}), **node_data}
        self._changed_nodes.add(node_id)

    async def upsert_edge(self, source_node_id: str, target_node_id: str, edge_data: _Fields) -> None:
        """Change an edge; attributes that are not given keep their value."""
        pair = sort_pair(source_node_id, target_node_id)
        self._edges[pair] = {**(await self.get_edge(*pair) or {}), **edge_data}
        self._changed_edges.add(pair)

    # In order of the keys, so that neighbouring rows of the indexes are written together.

    def changed_nodes(self) -> list[tuple[str, _Fields]]:
        """Return the changed nodes with all their attributes."""
        return [(name, self._nodes[name] or {}) for name in sorted(self._changed_nodes)]

    def changed_edges(self) -> list[tuple[str, str, _Fields]]:
        """Return the changed edges with all their attributes."""
        return [(*pair, self._edges[pair] or {}) for pair in sorted(self._changed_edges)]


class _SQLiteGraph(BufferedGraph):
    """The graph in the tables of the store, which also counts the types of entities."""

    def __init__(
        self, database: SQLiteDatabase, workspace: str, new_types: Mapping[str, Mapping[str, int]]
    ) -> None:
        super().__init__()
        self._database = database
        self._workspace = workspace
        self._new_types = dict(new_types)

    async def _read(self, nodes: list[str], edges: list[tuple[str, str]]) -> None:
        with self._database.read() as connection:
            self._nodes.update(
                (name, data) for name, data, _ in graph_sql.nodes(connection, self._workspace, nodes)
            )
            self._edges.update(graph_sql.edges(connection, self._workspace, edges))

    async def upsert_node(self, node_id: str, node_data: _Fields) -> None:
        """Change a node; attributes that are not given keep their value."""
        before = await self.get_node(node_id) or {}
        after = _limit_descriptions(node_data)
        # The merge may write a node twice, and each mention counts once.
        types = Counter(orphans.type_counts(before)) + Counter(self._new_types.pop(node_id, {}))
        if types:
            after |= {"entity_type": orphans.most_frequent_type(types), orphans.TYPES: dict(types)}
        await super().upsert_node(node_id, after)

    async def upsert_edge(self, source_node_id: str, target_node_id: str, edge_data: _Fields) -> None:
        """Change an edge; attributes that are not given keep their value."""
        await super().upsert_edge(source_node_id, target_node_id, _limit_descriptions(edge_data))


def _limit_descriptions(data: _Fields) -> _Fields:
    """Return attributes with the best descriptions only, separated, oldest first.

    Separated descriptions can be merged one by one the next time, and removed when their memory is deleted.
    """
    return {**data, "description": names.join_descriptions(data["description"].split(names.SEPARATOR))}


class BufferedSources(ABC):
    """The part of a key-value storage that the merge calls, on lists of sources in memory.

    LightRAG copies a list some twenty times per insert; it gets the newest WINDOW items.
    """

    def __init__(self) -> None:
        self._before: dict[str, list[str]] = {}
        self._after: dict[str, list[str]] = {}

    @abstractmethod
    async def _read(self, keys: list[str]) -> None:
        """Read the newest sources of these entities or relations into the buffer."""

    async def load(self, keys: Iterable[str]) -> None:
        """Read the newest sources of these entities or relations; absent ones become empty."""
        wanted = sorted(set(keys))
        self._before.update({key: [] for key in wanted})
        await self._read(wanted)

    async def get_by_id(self, key: str) -> _Fields | None:
        """Return LightRAG's row {chunk_ids, count}, or None where the key is unknown."""
        if key not in self._before:
            await self.load([key])
        chunks = self._after.get(key, self._before[key])
        return sources.tracking_row(key, chunks) if chunks else None

    async def upsert(self, data: dict[str, _Fields]) -> None:
        """Set the newest sources of the keys; older ones stay."""
        for key, row in data.items():
            if key not in self._before:
                await self.load([key])
            self._after[key] = row["chunk_ids"]


class _SQLiteSources(BufferedSources):
    """The sources in the tables of the store."""

    def __init__(self, database: SQLiteDatabase, workspace: str, namespace: str) -> None:
        super().__init__()
        self._database = database
        self._workspace = workspace
        self._namespace = namespace

    async def _read(self, keys: list[str]) -> None:
        with self._database.read() as connection:
            self._before.update(
                sources.newest_chunks_of(connection, self._workspace, self._namespace, keys, sources.WINDOW)
            )

    def flush(self) -> None:
        """Write the changes."""
        changes = [(key, self._before[key], self._after[key]) for key in sorted(self._after)]
        with self._database.write() as connection:
            sources.replace(connection, self._workspace, self._namespace, changes)


async def merge(instance: Instance, database: SQLiteDatabase, merges: Sequence[tuple[Nodes, Edges]]) -> None:
    """Merge the nodes and edges of chunks into the graph, within the caller's transaction."""
    from lightrag.operate import merge_nodes_and_edges

    rag = instance.rag
    pairs = {sort_pair(*pair) for _, edges in merges for pair in edges}
    mentioned = {name for nodes, _ in merges for name in nodes} | {name for pair in pairs for name in pair}
    new_types: dict[str, Counter[str]] = {}
    for nodes, _ in merges:
        for name, rows in nodes.items():
            new_types.setdefault(name, Counter()).update(row["entity_type"] for row in rows)
    graph = _SQLiteGraph(database, rag.workspace, new_types)
    await graph.load(mentioned, pairs)
    entity_chunks = _SQLiteSources(database, rag.workspace, sources.ENTITY_CHUNKS)
    await entity_chunks.load(mentioned)
    relation_chunks = _SQLiteSources(database, rag.workspace, sources.RELATION_CHUNKS)
    await relation_chunks.load(names.relation_key(*pair) for pair in pairs)
    await merge_nodes_and_edges(
        chunk_results=list(merges),
        knowledge_graph_inst=graph,
        # Their rows follow below: the merge sets a timer around each call of these.
        entity_vdb=None,
        relationships_vdb=None,
        global_config=instance.config | _SETTINGS,
        # Its progress reports go nowhere, and no cancellation comes from there.
        pipeline_status={},
        pipeline_status_lock=nullcontext(),
        # No cache: a cached summary would keep the words of a memory that is deleted later.
        llm_response_cache=None,
        entity_chunks_storage=entity_chunks,
        relation_chunks_storage=relation_chunks,
    )
    changed, edges = graph.changed_nodes(), graph.changed_edges()
    await rag.chunk_entity_relation_graph.upsert_nodes_batch(changed)
    await rag.chunk_entity_relation_graph.upsert_edges_batch(edges)
    await rag.entities_vdb.upsert(
        {
            names.entity_id(name): {"entity_name": name, "content": f"{name}\n{data['description']}"}
            for name, data in changed
        }
    )
    await rag.relationships_vdb.upsert(
        {
            names.relation_id(source, target): {
                "src_id": source,
                "tgt_id": target,
                "content": f"{data['keywords']}\t{source}\n{target}\n{data['description']}",
            }
            for source, target, data in edges
        }
    )
    entity_chunks.flush()
    relation_chunks.flush()
