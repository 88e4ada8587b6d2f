"""Searches, graph reads and counts through LightRAG's storage interfaces, one workspace at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ragmem.backends.lightrag.engine import Instance
from ragmem.backends.lightrag.external.merge import rows
from ragmem.backends.lightrag.rows import names
from ragmem.backends.lightrag.rows import reads as graph_reads
from ragmem.backends.lightrag.rows.views import PROCESSED
from ragmem.backends.lightrag.vectors.bulk import unit
from ragmem.domain.model import Entity, Relation

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Fields = dict[str, Any]
_Key = TypeVar("_Key", str, tuple[str, str])

EVERYTHING = -2.0
"""A threshold below every cosine; LightRAG's own would silently drop hits."""

VECTORS = 500
"""Vectors to request from a storage at a time: they come as lists of numbers."""

CANDIDATES = 1000
"""Labels to request from a storage for a prefix; it ranks matching ones first."""


@dataclass(frozen=True, slots=True)
class Near:
    """A chunk and its cosine to the query."""

    score: float
    chunk_id: str
    memory_id: str


async def nearest(instance: Instance, vector: "NDArray[np.float32]", limit: int) -> list[Near]:
    """Return the nearest chunks of a workspace, best first.

    The cosine is computed here: not every storage returns one, and `distance` has different meanings.
    """
    index = instance.rag.chunks_vdb
    threshold = index.cosine_better_than_threshold
    index.cosine_better_than_threshold = EVERYTHING
    try:
        found = await index.query("", top_k=limit, query_embedding=vector)
    finally:
        index.cosine_better_than_threshold = threshold
    vectors = await index.get_vectors_by_ids([row["id"] for row in found])
    kept = [row for row in found if row["id"] in vectors]
    if not kept:
        return []
    matrix = np.asarray([vectors[row["id"]] for row in kept], np.float32)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    near = [
        Near(float(score), row["id"], names.memory_of(str(row["file_path"])))
        for row, score in zip(kept, matrix @ vector, strict=True)
    ]
    return sorted(near, key=lambda one: (-one.score, one.chunk_id))


async def cosines(
    instance: Instance, chunk_ids: Sequence[str], question: "NDArray[np.float32]"
) -> list[Near]:
    """Return the chunks that have a vector with their cosine to the question."""
    found = await vectors(instance, chunk_ids)
    owners = await rows(instance.rag.text_chunks, found)
    return [
        Near(float(unit(np.asarray([found[key]], np.float32))[0] @ question), key, str(row["full_doc_id"]))
        for key, row in owners.items()
    ]


async def entities(instance: Instance, prefix: str, limit: int) -> list[tuple[Entity, int]]:
    """Return entities by prefix with their degree, most connected first."""
    graph = instance.rag.chunk_entity_relation_graph
    folded = prefix.lower()
    if folded:
        found = await graph.search_labels(folded, limit=max(CANDIDATES, limit))
        labels = [label for label in found if label.lower().startswith(folded)]
    else:
        labels = await graph.get_popular_labels(limit)
    if not labels:
        return []
    degrees = await graph.node_degrees_batch(labels)
    leading = sorted(labels, key=lambda label: (-degrees.get(label, 0), label))[:limit]
    nodes = await graph.get_nodes_batch(leading)
    return [(graph_reads.entity(label, nodes.get(label) or {}), degrees.get(label, 0)) for label in leading]


async def neighbours(instance: Instance, name: str, limit: int) -> list[tuple[Relation, Entity]]:
    """Return the relations of an entity and the entities at their other end, heaviest first."""
    graph = instance.rag.chunk_entity_relation_graph
    pairs = (await graph.get_nodes_edges_batch([name])).get(name) or []
    if not pairs:
        return []
    edges = await graph.get_edges_batch([{"src": one, "tgt": other} for one, other in pairs])
    relations = [_relation(pair, fields) for pair, fields in edges.items()]
    relations.sort(key=lambda relation: (-relation.weight, relation.source, relation.target))
    others = [one.target if one.source == name else one.source for one in relations[:limit]]
    nodes = await graph.get_nodes_batch(others)
    return [
        (relation, graph_reads.entity(other, nodes.get(other) or {}))
        for relation, other in zip(relations[:limit], others, strict=True)
    ]


async def subgraph(instance: Instance, label: str, *, depth: int, limit: int) -> _Fields:
    """Return LightRAG's graph document around a label ("*": the most connected)."""
    graph = instance.rag.chunk_entity_relation_graph
    found = await graph.get_knowledge_graph(label, max_depth=depth, max_nodes=limit)
    return {
        "nodes": [
            {"id": node.id, "labels": list(node.labels), "properties": node.properties}
            for node in found.nodes
        ],
        "edges": [
            {
                "id": edge.id,
                "type": edge.type,
                "source": edge.source,
                "target": edge.target,
                "properties": edge.properties,
            }
            for edge in found.edges
        ],
        "is_truncated": found.is_truncated,
    }


async def documents(instance: Instance, *, complete: bool) -> dict[str, Any]:
    """Return the status of all complete documents, or of all incomplete ones, by id."""
    from lightrag.base import DocStatus

    wanted = [status for status in DocStatus if (status.value == PROCESSED) is complete]
    found: dict[str, Any] = await instance.rag.doc_status.get_docs_by_statuses(wanted)
    return found


async def chunk_owners(instance: Instance, memory_ids: Sequence[str] | None) -> dict[str, str]:
    """Return chunk -> document of all complete documents, or of those in `memory_ids`."""
    wanted = None if memory_ids is None else set(memory_ids)
    return {
        chunk: key
        for key, row in (await documents(instance, complete=True)).items()
        if wanted is None or key in wanted
        for chunk in row.chunks_list or ()
    }


async def vectors(instance: Instance, chunk_ids: Sequence[str]) -> dict[str, list[float]]:
    """Return chunk -> vector; chunks without one are absent."""
    found: dict[str, list[float]] = await instance.rag.chunks_vdb.get_vectors_by_ids(list(chunk_ids))
    return {key: found[key] for key in chunk_ids if key in found}


async def counts(instance: Instance) -> dict[str, int]:
    """Return the number of documents, chunks, entities, relations and vectors of a workspace."""
    graph = instance.rag.chunk_entity_relation_graph
    status = await documents(instance, complete=True)
    chunks = sum(row.chunks_count or 0 for row in status.values())
    labels = await graph.get_all_labels()
    degrees: dict[str, int] = await graph.node_degrees_batch(labels) if labels else {}
    relations = sum(degrees.values()) // 2
    return {
        "documents": len(status),
        "chunks": chunks,
        # Each of them has one, as `check` verifies; no storage can count its vectors.
        "vectors": chunks + len(labels) + relations,
        "entities": len(labels),
        "relations": relations,
        "workspaces": int(bool(status)),
    }


NO_COUNTS = dict.fromkeys(("documents", "chunks", "vectors", "entities", "relations", "workspaces"), 0)
"""The counts of a store that was never written to."""


def _relation(pair: tuple[str, str], fields: _Fields) -> Relation:
    source, target = sorted(pair)
    return graph_reads.relation(source, target, float(fields.get("weight", 1.0)), fields)


async def nodes(instance: Instance) -> list[tuple[Entity, int]]:
    """Return every entity with its degree, by name."""
    graph = instance.rag.chunk_entity_relation_graph
    found = {str(fields["id"]): fields for fields in await graph.get_all_nodes()}
    degrees = await graph.node_degrees_batch(list(found)) if found else {}
    return [(graph_reads.entity(name, found[name]), degrees.get(name, 0)) for name in sorted(found)]


async def edges(instance: Instance) -> list[Relation]:
    """Return every relation once, by source and target; some storages list it from both ends."""
    found = await instance.rag.chunk_entity_relation_graph.get_all_edges()
    relations = [_relation((str(fields["source"]), str(fields["target"])), fields) for fields in found]
    each = {(one.source, one.target): one for one in relations}
    return [each[pair] for pair in sorted(each)]


async def chunks_naming(instance: Instance, entities: Sequence[str]) -> dict[str, list[str]]:
    """Return entity -> the chunks that name it, those stored last first."""
    return await _chunk_lists(instance.rag.entity_chunks, {entity: entity for entity in entities})


async def chunks_relating(
    instance: Instance, pairs: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], list[str]]:
    """Return pair -> the chunks that relate these entities, those stored last first."""
    return await _chunk_lists(
        instance.rag.relation_chunks, {pair: names.relation_key(*pair) for pair in pairs}
    )


async def mentions(
    instance: Instance, chunk_ids: Sequence[str], most: int
) -> dict[str, dict[str, list[str]]]:
    """Return chunk -> entity -> the chunks that name it; entities with more than `most` are absent."""
    rag = instance.rag
    owners = {key: row["full_doc_id"] for key, row in (await rows(rag.text_chunks, chunk_ids)).items()}
    named = await rows(rag.full_entities, owners.values())
    every = [name for row in named.values() for name in row.get("entity_names") or ()]
    naming = await chunks_naming(instance, sorted(set(every)))
    found = {chunk: {name: naming[name] for name in naming if chunk in naming[name]} for chunk in owners}
    return {
        chunk: {name: chunks for name, chunks in names.items() if len(chunks) <= most}
        for chunk, names in found.items()
        if names
    }


async def _chunk_lists(storage: Any, keys: Mapping[_Key, str]) -> dict[_Key, list[str]]:
    rows = await storage.get_by_ids(list(keys.values())) if keys else []
    found = {
        key: [chunk for chunk in reversed(row.get("chunk_ids", [])) if chunk]
        for key, row in zip(keys, rows, strict=True)
        if row
    }
    return {key: chunks for key, chunks in found.items() if chunks}
