"""Inserts through LightRAG's storages and merge, and its own retrieval: all code that needs LightRAG."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ragmem.backends.lightrag import merge
from ragmem.backends.lightrag.engine import Engine, Instance, run
from ragmem.backends.lightrag.rows import documents, names, reads, records
from ragmem.backends.lightrag.storages import query_relations
from ragmem.backends.lightrag.storages.home import Home, VectorKey
from ragmem.backends.lightrag.vectors.segments import restore
from ragmem.backends.lightrag.vectors.vector_reuse import stored_vectors
from ragmem.domain.model import Record
from ragmem.ports import Embedder, Mode
from ragmem.storage.sql.batches import batches, marks
from ragmem.storage.sql.sqlite import SQLiteDatabase

TOP_K = 40
"""Most entities and relations that a mode starts from, LightRAG's default."""

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def embed(
    database: SQLiteDatabase,
    embedder: Embedder,
    changed: Sequence[Record],
    *,
    without: Collection[VectorKey] = (),
) -> "dict[VectorKey, NDArray[np.float32]]":
    """Embed, in one call, those of the records' chunks, entities and relations that have no vector.

    The keys in `without` are skipped. Raises BackendError like the embedder, and where its vectors have
    another length than the stored ones.
    """
    texts = {key: text for key, text in records.vector_texts(changed).items() if key not in without}
    with database.read() as connection:
        kept = _unchanged_keys(connection, changed, texts)
        for key in stored_vectors(connection, embedder.model_id, kept):
            del texts[key]
    if not texts:
        return {}
    vectors = embedder.embed(list(texts.values()), role="document")
    with database.read() as connection:
        reads.refuse_other_length(connection, names.CHUNKS, embedder.model_id, vectors.shape[1])
    return dict(zip(texts, vectors, strict=True))


def reusable_vectors(
    connection: sqlite3.Connection, model: str, changed: Sequence[Record]
) -> "dict[VectorKey, NDArray[np.float32]]":
    """Return the vectors of the records' entities and relations, and of chunks whose text has not changed.

    Replacing a record removes its chunks, entities and relations; those that the new version has again keep
    their vectors.
    """
    keys = _unchanged_keys(connection, changed, records.vector_texts(changed))
    return {
        key: restore(scale, codes) for key, (scale, codes) in stored_vectors(connection, model, keys).items()
    }


def _unchanged_keys(
    connection: sqlite3.Connection, changed: Sequence[Record], keys: Collection[VectorKey]
) -> list[VectorKey]:
    """Return the keys whose stored vector, if any, is still that of the records' text."""
    before: dict[tuple[str, str], str] = {}
    for part in batches(record.memory.id for record in changed):
        for workspace, memory, texts in connection.execute(
            "SELECT workspace, id, json_extract(data, '$.metadata.texts') FROM store_documents"
            f" WHERE id IN ({marks(part)})",
            part,
        ):
            before[workspace, memory] = texts
    same = {
        (record.memory.scope.project, names.CHUNKS, chunk.id)
        for record in changed
        if before.get((record.memory.scope.project, record.memory.id)) == records.texts_of(record)
        for chunk in record.chunks
    }
    return [key for key in keys if key[1] != names.CHUNKS or key in same]


def insert(
    home: Home,
    engine: Engine,
    changed: Sequence[tuple[Record, str]],
    prepared: "dict[VectorKey, NDArray[np.float32]]",
) -> None:
    """Write (record, fingerprint) within the caller's transaction; none of them may be stored already."""
    by_project: dict[str, list[tuple[Record, str]]] = {}
    for record, fingerprint in sorted(changed, key=lambda pair: pair[0].memory.event_time):
        by_project.setdefault(record.memory.scope.project, []).append((record, fingerprint))
    home.prepared = prepared
    try:
        for project, group in by_project.items():
            instance = engine.instance(project)
            run(lambda instance=instance, group=group: _insert(instance, home.database, group))  # type: ignore[misc]
    finally:
        home.prepared = {}


async def _insert(instance: Instance, database: SQLiteDatabase, group: Sequence[tuple[Record, str]]) -> None:
    rag = instance.rag
    rows = documents.rows_of(group)
    await rag.full_docs.upsert(rows.full_docs)
    await rag.text_chunks.upsert(rows.chunks)
    await rag.llm_response_cache.upsert(rows.cached)
    # The anchors of each document are written here, because one merge handles all documents: a hub that
    # every document names is then read and written once.
    await rag.full_entities.upsert(rows.entities)
    await rag.full_relations.upsert(rows.relations)
    await rag.chunks_vdb.upsert(rows.searchable)
    if any(nodes or edges for nodes, edges in rows.merges):
        await merge.merge(instance, database, rows.merges)
    for index in instance.indexes():
        await index.index_done_callback()
    await rag.doc_status.upsert(rows.status)


def native_query(
    engine: Engine,
    query: str,
    mode: Mode,
    *,
    keywords: Sequence[str],
    themes: Sequence[str],
    limit: int,
    project: str,
) -> Mapping[str, Any]:
    """Run LightRAG's aquery_data; with keywords given it needs no language model."""
    instance = engine.instance(project)
    with query_relations.limit_relations():
        return run(lambda: ask(instance, query, mode, keywords=keywords, themes=themes, limit=limit))


async def ask(
    instance: Instance,
    query: str,
    mode: Mode,
    *,
    keywords: Sequence[str],
    themes: Sequence[str] = (),
    limit: int,
) -> Mapping[str, Any]:
    """Return LightRAG's own answer; without keywords the query is one, so no language model is needed."""
    from lightrag import QueryParam

    words = [word for word in keywords if word.strip()] or [query]
    param = QueryParam(
        mode=mode,
        top_k=min(limit, TOP_K),
        chunk_top_k=limit,
        ll_keywords=words,
        hl_keywords=[word for word in themes if word.strip()] or words,
        enable_rerank=False,
        max_entity_tokens=6000,
        max_relation_tokens=8000,
        max_total_tokens=30000,
    )
    return cast("Mapping[str, Any]", await instance.rag.aquery_data(query, param))
