"""LightRAG's merge against any of its storages, with a handful of calls for all entities of a put.

The merge asks for one node, edge and list of sources at a time; over a network that is some ten round trips
for each. Everything is read in four calls before the merge starts and written in five after it.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from ragmem.backends.lightrag.engine import Instance
from ragmem.backends.lightrag.rows import names
from ragmem.backends.lightrag.rows.keys import sort_pair
from ragmem.backends.lightrag.rows.records import Edges, Nodes
from ragmem.backends.lightrag.rows.sources import WINDOW, tracking_row

_Fields = dict[str, Any]
_Pair = tuple[str, str]


async def rows(storage: Any, keys: Iterable[str]) -> dict[str, _Fields]:
    """Return those rows of a key-value, vector or status storage that exist, by id."""
    wanted = list(dict.fromkeys(keys))
    if not wanted:
        return {}
    found = await storage.get_by_ids(wanted)
    # Some storages return None if they have none of the ids.
    return {key: row for key, row in zip(wanted, found or (), strict=False) if row}


class BufferedGraph:
    """The part of a graph storage that the merge calls, on nodes and edges in memory."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage
        self._nodes: dict[str, _Fields | None] = {}
        self._edges: dict[tuple[str, str], _Fields | None] = {}
        self._changed_nodes: set[str] = set()
        self._changed_edges: set[tuple[str, str]] = set()

    async def _read(self, nodes: list[str], edges: list[_Pair]) -> None:
        if nodes:
            self._nodes.update(await self._storage.get_nodes_batch(nodes))
        if edges:
            found = await self._storage.get_edges_batch([{"src": one, "tgt": other} for one, other in edges])
            self._edges.update({sort_pair(*pair): fields for pair, fields in found.items()})

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
        """Return whether an edge exists, in either direction."""
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

    async def flush(self) -> None:
        """Write the changed nodes and edges, with all their attributes, to the storage."""
        # In order of the keys, so that neighbouring rows of the indexes are written together.
        if nodes := [(name, self._nodes[name] or {}) for name in sorted(self._changed_nodes)]:
            await self._storage.upsert_nodes_batch(nodes)
        if edges := [(*pair, self._edges[pair] or {}) for pair in sorted(self._changed_edges)]:
            await self._storage.upsert_edges_batch(edges)


class BufferedSources:
    """The part of a key-value storage that the merge calls, on lists of sources in memory.

    LightRAG copies a list some twenty times per insert; it gets the newest WINDOW items.
    """

    def __init__(self, storage: Any) -> None:
        self._storage = storage
        self._older: dict[str, list[str]] = {}
        self._before: dict[str, list[str]] = {}
        self._after: dict[str, list[str]] = {}

    async def _read(self, keys: list[str]) -> None:
        for key, row in (await rows(self._storage, keys)).items():
            chunks = list(row.get("chunk_ids") or ())
            self._older[key], self._before[key] = chunks[:-WINDOW], chunks[-WINDOW:]

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
        return tracking_row(key, chunks) if chunks else None

    async def upsert(self, data: dict[str, _Fields]) -> None:
        """Set the newest sources of the keys; older ones stay."""
        for key, row in data.items():
            if key not in self._before:
                await self.load([key])
            self._after[key] = row["chunk_ids"]

    async def flush(self) -> None:
        """Write the changes."""
        changed = {key: [*self._older.get(key, ()), *self._after[key]] for key in sorted(self._after)}
        if changed:
            await self._storage.upsert(
                {key: {"chunk_ids": chunks, "count": len(chunks)} for key, chunks in changed.items()}
            )


class BufferedVectors:
    """The part of a vector storage that the merge calls; an entity that has a vector keeps it.

    Names are embedded, not descriptions (docs/adr/003), so nothing changes when descriptions merge.
    """

    def __init__(self, storage: Any, content: Callable[[str, _Fields], str]) -> None:
        self._storage = storage
        self._content = content
        self._known: set[str] = set()
        self._added: dict[str, _Fields] = {}

    async def load(self, ids: Iterable[str]) -> None:
        """Read which of these have a vector."""
        self._known.update(await rows(self._storage, ids))

    async def upsert(self, data: dict[str, _Fields]) -> None:
        """Add the rows that have no vector yet."""
        self._added.update({key: row for key, row in data.items() if key not in self._known})

    async def delete(self, ids: Sequence[str]) -> None:
        """Do nothing: the merge only deletes rows that it adds again at once."""

    async def flush(self) -> None:
        """Write the new rows to the storage's buffer."""
        if self._added:
            await self._storage.upsert(
                {key: {**row, "content": self._content(key, row)} for key, row in self._added.items()}
            )


def _entity_content(_: str, row: _Fields) -> str:
    return names.entity_text(str(row["entity_name"]))


async def merge(
    instance: Instance, merges: Sequence[tuple[Nodes, Edges]], *, relation_texts: dict[str, str]
) -> None:
    """Merge the nodes and edges of chunks into the graph; sources first, then nodes, edges and vectors.

    `relation_texts` holds the embedded text of relations by vector id.
    """
    from lightrag.operate import merge_nodes_and_edges

    def relation_content(key: str, row: _Fields) -> str:
        return relation_texts.get(key) or names.relation_text(str(row["src_id"]), str(row["tgt_id"]), "")

    rag = instance.rag
    pairs = {sort_pair(*pair) for _, edges in merges for pair in edges}
    named = {name for nodes, _ in merges for name in nodes} | {name for pair in pairs for name in pair}
    graph = BufferedGraph(rag.chunk_entity_relation_graph)
    entity_sources, relation_sources = (
        BufferedSources(rag.entity_chunks),
        BufferedSources(rag.relation_chunks),
    )
    entities = BufferedVectors(rag.entities_vdb, _entity_content)
    relations = BufferedVectors(rag.relationships_vdb, relation_content)
    await graph.load(named, pairs)
    await entity_sources.load(named)
    await relation_sources.load(names.relation_key(*pair) for pair in pairs)
    await entities.load(names.entity_id(name) for name in named)
    await relations.load(names.relation_id(*pair) for pair in pairs)
    await merge_nodes_and_edges(
        chunk_results=list(merges),
        knowledge_graph_inst=graph,
        entity_vdb=entities,
        relationships_vdb=relations,
        global_config=instance.config,
        # Its progress reports go nowhere, and no cancellation comes from there.
        pipeline_status={},
        pipeline_status_lock=nullcontext(),
        # No cache: a cached summary would keep the words of a memory that is deleted later.
        llm_response_cache=None,
        entity_chunks_storage=entity_sources,
        relation_chunks_storage=relation_sources,
    )
    # A deletion rebuilds nodes and edges from their sources, so these must never lack what those have.
    for buffer in (entity_sources, relation_sources, graph, entities, relations):
        await buffer.flush()
