"""LightRAG's merge against any of its storages, with a handful of calls for all entities of a put.

The merge asks for one node, edge and list of sources at a time; over a network that is some ten round trips
for each. Everything is read in four calls before the merge starts and written in five after it.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from ragmem.backends.lightrag.engine import Instance
from ragmem.backends.lightrag.merge import BufferedGraph, BufferedSources
from ragmem.backends.lightrag.rows import names
from ragmem.backends.lightrag.rows.graph_sql import sort_pair
from ragmem.backends.lightrag.rows.records import Edges, Nodes
from ragmem.backends.lightrag.rows.sources import WINDOW

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


class _StorageGraph(BufferedGraph):
    """The graph in a storage of LightRAG."""

    def __init__(self, storage: Any) -> None:
        super().__init__()
        self._storage = storage

    async def _read(self, nodes: list[str], edges: list[_Pair]) -> None:
        if nodes:
            self._nodes.update(await self._storage.get_nodes_batch(nodes))
        if edges:
            found = await self._storage.get_edges_batch([{"src": one, "tgt": other} for one, other in edges])
            self._edges.update({sort_pair(*pair): fields for pair, fields in found.items()})

    async def flush(self) -> None:
        """Write the changes to the storage."""
        if nodes := self.changed_nodes():
            await self._storage.upsert_nodes_batch(nodes)
        if edges := self.changed_edges():
            await self._storage.upsert_edges_batch(edges)


class _StorageSources(BufferedSources):
    """The sources in a storage of LightRAG."""

    def __init__(self, storage: Any) -> None:
        super().__init__()
        self._storage = storage
        self._older: dict[str, list[str]] = {}

    async def _read(self, keys: list[str]) -> None:
        for key, row in (await rows(self._storage, keys)).items():
            chunks = list(row.get("chunk_ids") or ())
            self._older[key], self._before[key] = chunks[:-WINDOW], chunks[-WINDOW:]

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
    graph = _StorageGraph(rag.chunk_entity_relation_graph)
    entity_sources, relation_sources = (
        _StorageSources(rag.entity_chunks),
        _StorageSources(rag.relation_chunks),
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
