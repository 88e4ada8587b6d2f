"""Records as the rows of LightRAG's document storages: texts, chunks, cached extractions, anchors, status."""

from collections.abc import Sequence
from dataclasses import field
from datetime import UTC, datetime
from typing import Any

from ragmem.backends.lightrag.rows import names, records
from ragmem.backends.lightrag.rows.tokens import token_count
from ragmem.backends.lightrag.rows.views import PROCESSED
from ragmem.domain.model import Record
from ragmem.frozen import dataclass

_Fields = dict[str, Any]
Rows = dict[str, _Fields]

UNFINISHED = "processing"
"""LightRAG's status of a document that is being written or removed."""


@dataclass(frozen=True, slots=True)
class Documents:
    """The rows of several records, by storage and id, and the input of the merge."""

    full_docs: Rows = field(default_factory=dict)
    chunks: Rows = field(default_factory=dict)
    searchable: Rows = field(default_factory=dict)
    cached: Rows = field(default_factory=dict)
    entities: Rows = field(default_factory=dict)
    relations: Rows = field(default_factory=dict)
    status: Rows = field(default_factory=dict)
    merges: list[tuple[records.Nodes, records.Edges]] = field(default_factory=list)


def rows_of(group: Sequence[tuple[Record, str]]) -> Documents:
    """Return the rows of (record, fingerprint); the fingerprint is the content hash of the status."""
    found = Documents()
    now = datetime.now(UTC).isoformat()
    for record, fingerprint in group:
        memory = record.memory
        path = names.file_token(memory.id)
        found.full_docs[memory.id] = {"content": memory.indexed_text, "file_path": path}
        extractions = {extraction.chunk_id: extraction for extraction in record.extractions}
        for chunk in record.chunks:
            shared = {
                "tokens": token_count(chunk.text),
                "chunk_order_index": chunk.order,
                "full_doc_id": memory.id,
                "file_path": path,
            }
            keys = [names.cache_id(chunk.id)] if chunk.id in extractions else []
            found.chunks[chunk.id] = {"content": chunk.text, "llm_cache_list": keys, **shared}
            found.searchable[chunk.id] = {"content": chunk.searchable, **shared}
        for chunk_id, extraction in extractions.items():
            found.cached[names.cache_id(chunk_id)] = {
                "return": records.cached_extraction(extraction),
                "cache_type": "extract",
                "chunk_id": chunk_id,
                "file_path": path,
                "original_prompt": "",
                "queryparam": None,
            }
        named, pairs = records.candidates(record)
        found.entities[memory.id] = {"entity_names": named, "count": len(named)}
        found.relations[memory.id] = {"relation_pairs": pairs, "count": len(pairs)}
        found.status[memory.id] = {
            "status": PROCESSED,
            "content_summary": memory.indexed_text[:100],
            "content_length": len(memory.indexed_text),
            "created_at": now,
            "updated_at": now,
            "file_path": path,
            "track_id": "",
            "content_hash": fingerprint,
            "chunks_count": len(record.chunks),
            "chunks_list": [chunk.id for chunk in record.chunks],
            # LightRAG's own deletion refuses a document without this state.
            "metadata": {"kg_write_state": "graph_mutation_started", "texts": records.texts_of(record)},
        }
        found.merges.extend(records.merge_input(record))
    return found
