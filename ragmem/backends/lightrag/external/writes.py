"""One put into the storages of a workspace, in an order that allows recovery after a kill."""

from collections.abc import Mapping, Sequence
from typing import Any

from ragmem.backends.lightrag.engine import Instance
from ragmem.backends.lightrag.external import merge, removal
from ragmem.backends.lightrag.external.records import TextKey, wanted_texts
from ragmem.backends.lightrag.rows import documents, names
from ragmem.domain.model import Record

_Fields = dict[str, Any]


async def without_vector(instance: Instance, texts: Mapping[TextKey, str]) -> dict[TextKey, str]:
    """Return the texts of chunks, and of those entities and relations that have no vector yet."""
    stored: set[TextKey] = set()
    for namespace, index in (
        (names.ENTITIES, instance.rag.entities_vdb),
        (names.RELATIONSHIPS, instance.rag.relationships_vdb),
    ):
        found = await merge.rows(index, [key for space, key in texts if space == namespace])
        stored.update((namespace, key) for key in found)
    return {key: text for key, text in texts.items() if key not in stored}


async def write(instance: Instance, group: Sequence[tuple[Record, str]]) -> None:
    """Write (record, fingerprint) after removing older versions, complete or half-written."""
    rag = instance.rag
    rows = documents.rows_of(group)
    await removal.remove(instance, list(rows.status))
    await rag.doc_status.upsert(
        {key: {**row, "status": documents.UNFINISHED, "content_hash": ""} for key, row in rows.status.items()}
    )
    await rag.full_docs.upsert(rows.full_docs)
    await rag.text_chunks.upsert(rows.chunks)
    await rag.llm_response_cache.upsert(rows.cached)
    await rag.full_entities.upsert(rows.entities)
    await rag.full_relations.upsert(rows.relations)
    await rag.chunks_vdb.upsert(rows.searchable)
    # A removal needs these rows, so they are written before the graph.
    await instance.flush()
    if any(nodes or edges for nodes, edges in rows.merges):
        texts = wanted_texts(record for record, _ in group)
        await merge.merge(
            instance,
            rows.merges,
            relation_texts={
                key: text for (space, key), text in texts.items() if space == names.RELATIONSHIPS
            },
        )
        await instance.flush()
    await rag.doc_status.upsert(rows.status)
