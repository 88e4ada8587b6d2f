"""Remove documents through LightRAG's storage interfaces; shared entities and relations are rebuilt.

LightRAG's own deletion does the same one entity at a time and parses every extraction of a hub. This needs
a fixed number of calls for a set of documents.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ragmem.backends.lightrag.engine import Instance
from ragmem.backends.lightrag.external.merge import rows
from ragmem.backends.lightrag.rows import names, orphans
from ragmem.backends.lightrag.rows.documents import UNFINISHED
from ragmem.backends.lightrag.rows.keys import sort_pair
from ragmem.backends.lightrag.rows.records import ExtractionRows, read_extraction
from ragmem.backends.lightrag.rows.sources import MAX_SOURCES

_Fields = dict[str, Any]
_Pair = tuple[str, str]


async def remove(instance: Instance, memory_ids: Sequence[str]) -> int:
    """Remove these documents, complete or half-written, and return their number.

    They count as unfinished from the first call on and disappear with the last one, so that an interrupted
    removal can be repeated.
    """
    rag = instance.rag
    status = await rows(rag.doc_status, memory_ids)
    if not status:
        return 0
    await rag.doc_status.upsert({key: {**row, "status": UNFINISHED} for key, row in status.items()})
    chunks = [chunk for row in status.values() for chunk in row.get("chunks_list") or ()]
    removal = _Removal(rag, chunks)
    await removal.load_evidence(status)
    await removal.shrink_relations()
    await removal.shrink_entities()
    for index in instance.indexes():
        await index.index_done_callback()
    cached = await removal.cached_keys()
    await rag.chunks_vdb.delete(chunks)
    await rag.chunks_vdb.index_done_callback()
    for storage, keys in (
        (rag.llm_response_cache, cached),
        (rag.text_chunks, chunks),
        (rag.full_docs, list(status)),
        (rag.full_entities, list(status)),
        (rag.full_relations, list(status)),
    ):
        await storage.delete(keys)
    await instance.flush()
    await rag.doc_status.delete(list(status))
    await rag.doc_status.index_done_callback()
    return len(status)


_Key = TypeVar("_Key")


def _remaining_sources(
    sources: Mapping[_Key, _Fields | None], gone: Collection[str]
) -> dict[_Key, list[str]]:
    """Return the remaining chunks of each list that changes."""
    found: dict[_Key, list[str]] = {}
    for key, row in sources.items():
        chunks = list((row or {}).get("chunk_ids") or ())
        left = [chunk for chunk in chunks if chunk not in gone]
        if not left or len(left) < len(chunks):
            found[key] = left
    return found


class _Removal:
    """One removal in one workspace."""

    def __init__(self, rag: Any, chunks: Sequence[str]) -> None:
        self._rag = rag
        self._chunks = chunks
        self._extractions: dict[str, ExtractionRows] = {}
        self._paths: dict[str, str] = {}
        self._entities: dict[str, list[str]] = {}
        self._relations: dict[_Pair, list[str]] = {}
        self._lost: dict[_Pair, float] = {}

    async def load_evidence(self, memory_ids: Iterable[str]) -> None:
        """Read the entities and relations of the documents, and the remaining sources of these."""
        gone = set(self._chunks)
        anchors = await rows(self._rag.full_entities, memory_ids)
        named = {name for row in anchors.values() for name in row.get("entity_names") or ()}
        anchors = await rows(self._rag.full_relations, memory_ids)
        pairs = {sort_pair(*pair) for row in anchors.values() for pair in row.get("relation_pairs") or ()}
        sources = await rows(self._rag.entity_chunks, sorted(named))
        self._entities = _remaining_sources({name: sources.get(name) for name in sorted(named)}, gone)
        sources = await rows(self._rag.relation_chunks, [names.relation_key(*pair) for pair in pairs])
        self._relations = _remaining_sources(
            {pair: sources.get(names.relation_key(*pair)) for pair in sorted(pairs)}, gone
        )
        left = (*self._entities.values(), *self._relations.values())
        wanted = {chunk for chunks in left for chunk in chunks[-MAX_SOURCES:]}
        await self._load_extractions([*self._chunks, *sorted(wanted)])
        texts = await rows(self._rag.text_chunks, sorted(wanted))
        self._paths = {chunk: str(row.get("file_path") or "") for chunk, row in texts.items()}
        self._lost = orphans.weights(self._extractions[chunk] for chunk in self._chunks)

    async def _load_extractions(self, chunks: Sequence[str]) -> None:
        cached = await rows(self._rag.llm_response_cache, [names.cache_id(chunk) for chunk in chunks])
        for chunk in chunks:
            row = cached.get(names.cache_id(chunk))
            self._extractions[chunk] = read_extraction(row["return"] if row else "{}")

    async def cached_keys(self) -> list[str]:
        """Return the keys of all cached answers about the chunks (an LLM may have given several)."""
        keys = {names.cache_id(chunk) for chunk in self._chunks}
        for row in (await rows(self._rag.text_chunks, self._chunks)).values():
            keys.update(row.get("llm_cache_list") or ())
        return sorted(keys)

    async def shrink_relations(self) -> None:
        """Rebuild the relations that other documents mention too, remove the rest."""
        graph = self._rag.chunk_entity_relation_graph
        found = await graph.get_edges_batch([{"src": one, "tgt": other} for one, other in self._relations])
        stored = {sort_pair(*pair): fields for pair, fields in found.items() if fields}
        changed: list[tuple[str, str, _Fields]] = []
        for pair, left in self._relations.items():
            if not left:
                continue
            chunks = left[-MAX_SOURCES:]
            # An interrupted write may have left sources without an edge.
            before = stored.get(pair) or {}
            told = orphans.rebuild_relation(
                pair,
                chunks,
                self._extractions,
                weight=float(before.get("weight", len(chunks))),
                lost=self._lost.get(pair, 0.0),
            )
            changed.append((*pair, {**before, **told, **orphans.source_fields(chunks, self._paths)}))
        if changed:
            await graph.upsert_edges_batch(changed)
        await self._keep_sources(
            self._rag.relation_chunks,
            {names.relation_key(*pair): left for pair, left in self._relations.items() if left},
        )
        await self._remove_relations([pair for pair, left in self._relations.items() if not left])

    async def _remove_relations(self, pairs: Sequence[_Pair]) -> None:
        if pairs:
            await self._rag.relationships_vdb.delete([names.relation_id(*pair) for pair in pairs])
            await self._rag.chunk_entity_relation_graph.remove_edges(list(pairs))
            await self._rag.relation_chunks.delete([names.relation_key(*pair) for pair in pairs])

    async def shrink_entities(self) -> None:
        """Rebuild the entities that other documents mention too, remove the rest."""
        graph = self._rag.chunk_entity_relation_graph
        staying = [name for name, left in self._entities.items() if left]
        stored = await graph.get_nodes_batch(staying) if staying else {}
        changed: list[tuple[str, _Fields]] = []
        for name in staying:
            chunks = self._entities[name][-MAX_SOURCES:]
            fields = {"entity_id": name, "entity_type": "UNKNOWN", **(stored.get(name) or {})}
            fields.update(
                orphans.rebuild_entity(name, chunks, self._extractions),
                **orphans.source_fields(chunks, self._paths),
            )
            changed.append((name, fields))
        if changed:
            await graph.upsert_nodes_batch(changed)
        await self._keep_sources(self._rag.entity_chunks, {name: self._entities[name] for name in staying})
        await self._remove_entities([name for name, left in self._entities.items() if not left])

    async def _remove_entities(self, going: Sequence[str]) -> None:
        if not going:
            return
        graph = self._rag.chunk_entity_relation_graph
        incident = await graph.get_nodes_edges_batch(list(going))
        pairs = {sort_pair(*pair) for edges in incident.values() for pair in edges or ()}
        await self._remove_relations(sorted(pairs))
        await self._rag.entities_vdb.delete([names.entity_id(name) for name in going])
        await graph.remove_nodes(list(going))
        await self._rag.entity_chunks.delete(list(going))

    async def _keep_sources(self, storage: Any, left: dict[str, list[str]]) -> None:
        if left:
            await storage.upsert(
                {key: {"chunk_ids": chunks, "count": len(chunks)} for key, chunks in left.items()}
            )
