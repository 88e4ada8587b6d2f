"""Embed and insert records; LightRAG is not needed."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from ragmem.backends.lightrag.merge import merge
from ragmem.backends.lightrag.rows import names, reads, records
from ragmem.backends.lightrag.rows.names import VectorKey
from ragmem.backends.lightrag.vectors.segments import restore
from ragmem.backends.lightrag.vectors.vector_reuse import stored_vectors
from ragmem.domain.model import Record
from ragmem.ports import Embedder
from ragmem.storage.sql.batches import batches, marks
from ragmem.storage.sql.sqlite import SQLiteDatabase

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
    """Embed, in one call, those of the records' chunks that have no vector.

    The keys in `without` are skipped. Raises BackendError like the embedder, and where its vectors have
    another length than the stored ones.
    """
    texts = {key: text for key, text in records.chunk_texts(changed).items() if key not in without}
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
    """Return the vectors of the records' chunks whose text has not changed; a replacement keeps them."""
    keys = _unchanged_keys(connection, changed, records.chunk_texts(changed))
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
            "SELECT s.name, d.id, d.texts FROM store_documents AS d JOIN store_spaces AS s ON s.n = d.space"
            f" WHERE d.id IN ({marks(part)})",
            part,
        ):
            before[workspace, memory] = texts
    same = {
        (record.memory.scope.project, names.CHUNKS, chunk.id)
        for record in changed
        if before.get((record.memory.scope.project, record.memory.id)) == records.texts_of(record)
        for chunk in record.chunks
    }
    return [key for key in keys if key in same]


def insert(
    connection: sqlite3.Connection,
    changed: Sequence[tuple[Record, str]],
    model: str,
    vectors: "Mapping[VectorKey, NDArray[np.float32]]",
) -> None:
    """Write (record, fingerprint) within the caller's transaction; none of them may be stored already."""
    by_project: dict[str, list[tuple[Record, str]]] = {}
    for record, fingerprint in sorted(changed, key=lambda pair: pair[0].memory.event_time):
        by_project.setdefault(record.memory.scope.project, []).append((record, fingerprint))
    for project, group in by_project.items():
        merge(connection, project, group, model, vectors)
