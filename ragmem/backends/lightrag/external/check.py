"""Invariants of a store on LightRAG's storages: complete documents have all their parts."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ragmem.backends.lightrag.engine import Instance
from ragmem.backends.lightrag.external import reads
from ragmem.backends.lightrag.external.merge import rows
from ragmem.backends.lightrag.rows import names
from ragmem.backends.lightrag.rows.keys import sort_pair
from ragmem.storage.sql.batches import batches

SHORTEST = 1e-3
"""A length far below that of any valid vector."""

Owners = dict[str, set[str]]
"""Memories by the id or name of their parts."""


async def violations(instance: Instance, *, deep: bool) -> dict[str, Owners]:
    """Return the missing parts in a workspace by rule, with the memories that they belong to.

    `deep` reads the vectors as well.
    """
    rag = instance.rag
    status = await reads.documents(instance, complete=True)
    chunks: Owners = {chunk: {key} for key, row in status.items() for chunk in row.chunks_list or ()}
    named, pairs = await _anchors(rag, status)
    joined = {" - ".join(pair): owners for pair, owners in pairs.items()}
    entity_ids = {name: names.entity_id(name) for name in named}
    relation_ids = {" - ".join(pair): names.relation_id(*pair) for pair in pairs}
    without_vector = await _absent(rag.chunks_vdb, {chunk: chunk for chunk in chunks})
    found = {
        "documents have no text": _owners_of(
            {key: {key} for key in status}, await _absent(rag.full_docs, {key: key for key in status})
        ),
        "chunks have no text": _owners_of(
            chunks, await _absent(rag.text_chunks, {chunk: chunk for chunk in chunks})
        ),
        "chunks have no vector": _owners_of(chunks, without_vector),
        "entities have no vector": _owners_of(named, await _absent(rag.entities_vdb, entity_ids)),
        "relations have no vector": _owners_of(joined, await _absent(rag.relationships_vdb, relation_ids)),
        "entities are not in the graph": _owners_of(named, await _absent_nodes(rag, named)),
        "relations are not in the graph": _owners_of(joined, await _absent_edges(rag, pairs)),
    }
    if deep:
        known = sorted(chunks.keys() - set(without_vector))
        found["chunks have a vector of no direction"] = _owners_of(
            chunks, await _without_direction(rag, known)
        )
    return {rule: missing for rule, missing in found.items() if missing}


def _owners_of(owners: Owners, missing: Iterable[str]) -> Owners:
    return {key: owners[key] for key in missing}


async def _anchors(rag: Any, status: Iterable[str]) -> tuple[Owners, dict[tuple[str, str], set[str]]]:
    named: Owners = {}
    pairs: dict[tuple[str, str], set[str]] = {}
    for part in batches(status):
        for memory, row in (await rows(rag.full_entities, part)).items():
            for name in row.get("entity_names") or ():
                named.setdefault(name, set()).add(memory)
        for memory, row in (await rows(rag.full_relations, part)).items():
            for pair in row.get("relation_pairs") or ():
                pairs.setdefault(sort_pair(*pair), set()).add(memory)
    return named, pairs


async def _absent(storage: Any, ids: Mapping[str, str]) -> list[str]:
    """Return the names of {name: id} whose rows are missing in a storage."""
    missing: list[str] = []
    for part in batches(ids.items()):
        present = await rows(storage, [key for _, key in part])
        missing += [name for name, key in part if key not in present]
    return missing


async def _absent_nodes(rag: Any, named: Iterable[str]) -> list[str]:
    missing: list[str] = []
    for part in batches(sorted(named)):
        present = await rag.chunk_entity_relation_graph.get_nodes_batch(part)
        missing += [name for name in part if not present.get(name)]
    return missing


async def _absent_edges(rag: Any, pairs: Iterable[tuple[str, str]]) -> list[str]:
    missing: list[str] = []
    for part in batches(sorted(pairs)):
        asked = [{"src": one, "tgt": other} for one, other in part]
        edges = await rag.chunk_entity_relation_graph.get_edges_batch(asked)
        present = {sort_pair(*pair) for pair, fields in edges.items() if fields}
        missing += [" - ".join(pair) for pair in part if pair not in present]
    return missing


async def _without_direction(rag: Any, chunks: Iterable[str]) -> list[str]:
    found: list[str] = []
    for part in batches(chunks):
        vectors = await rag.chunks_vdb.get_vectors_by_ids(part)
        found += [
            key
            for key in part
            if key not in vectors or not SHORTEST < float(np.linalg.norm(vectors[key])) < np.inf
        ]
    return found
