"""Reuse or embed the vectors of records, and merge records into the store; LightRAG is not needed."""

import itertools
import sqlite3
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import orjson

from ragmem.backends.lightrag.rows import (
    chunk_nodes,
    documents,
    extractions,
    keys,
    names,
    reads,
    records,
    vectors,
    views,
)
from ragmem.backends.lightrag.rows.keys import change_types, sort_pair
from ragmem.backends.lightrag.rows.names import VectorKey
from ragmem.backends.lightrag.rows.records import chunk_texts
from ragmem.backends.lightrag.rows.texts import has_texts
from ragmem.backends.lightrag.rows.vectors import insert_of_chunks
from ragmem.backends.lightrag.vectors.segments import quantise, restore
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


def merge(
    connection: sqlite3.Connection,
    workspace: str,
    group: Sequence[tuple[Record, str]],
    model: str,
    vectors: "Mapping[VectorKey, NDArray[np.float32]]",
) -> None:
    """Add (record, fingerprint) to a workspace, in order, within the caller's transaction.

    None of the records may be stored already, and `vectors` has the vector of each chunk.
    """
    chunks = _add_documents(connection, workspace, group)
    insert_of_chunks(
        connection,
        model,
        [
            (chunks[chunk.id], *quantise(vectors[workspace, names.CHUNKS, chunk.id]))
            for record, _ in group
            for chunk in record.chunks
        ],
    )
    _add_graph(connection, workspace, [record for record, _ in group], chunks)


def _add_documents(
    connection: sqlite3.Connection, workspace: str, group: Sequence[tuple[Record, str]]
) -> dict[str, int]:
    """Write documents and their chunks; return the numbers of the chunks by id."""
    space = keys.make_space(connection, workspace)
    now = int(time.time())
    numbers = _numbers(connection, group)
    with_texts = has_texts(connection)
    # LightRAG may have stored some.
    ids = [chunk.id for record, _ in group for chunk in record.chunks]
    known = keys.chunk_numbers(connection, workspace, ids)
    found: dict[str, int] = {}
    for record, fingerprint in group:
        document = connection.execute(
            "INSERT INTO store_documents (space, id, fingerprint, texts, created, event_at, extractions)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                space,
                record.memory.id,
                fingerprint,
                records.texts_of(record),
                now,
                int(record.memory.event_time.timestamp()),
                extractions.encode_record(record, from_text=with_texts),
            ),
        ).lastrowid
        places = list(enumerate(zip(record.chunks, numbers[record.memory.id], strict=True)))
        connection.executemany(
            "UPDATE store_chunks SET document = ?, position = ? WHERE n = ?",
            [(document, place, known[chunk.id]) for place, (chunk, _) in places if chunk.id in known],
        )
        connection.executemany(
            "INSERT INTO store_chunks (n, space, document, position, id) VALUES (?, ?, ?, ?, ?)",
            [
                (number, space, document, place, chunk.id)
                for place, (chunk, number) in places
                if chunk.id not in known
            ],
        )
        found.update((chunk.id, known.get(chunk.id, number)) for _, (chunk, number) in places)
    if not with_texts:
        _keep_texts(connection, workspace, group)
    return found


def _numbers(connection: sqlite3.Connection, group: Sequence[tuple[Record, str]]) -> dict[str, Iterator[int]]:
    """Return the numbers for the chunks of each record, which come in order of their events.

    What is older than the newest memory goes below all others, the rest above.
    """
    # Both in one statement would read the whole table.
    (lowest,) = connection.execute("SELECT min(n) FROM store_chunks").fetchone()
    (highest,) = connection.execute("SELECT max(n) FROM store_chunks").fetchone()
    newest = connection.execute(
        "SELECT d.event_at FROM store_chunks AS c JOIN store_documents AS d ON d.n = c.document"
        " WHERE c.n = ?",
        (highest,),
    ).fetchone()
    older = [
        record
        for record, _ in group
        if newest is not None and int(record.memory.event_time.timestamp()) < newest[0]
    ]
    below = itertools.count((lowest or 0) - sum(len(record.chunks) for record in older))
    above = itertools.count((highest or 0) + 1)
    late = {record.memory.id for record in older}
    return {
        record.memory.id: itertools.islice(below if record.memory.id in late else above, len(record.chunks))
        for record, _ in group
    }


def _keep_texts(connection: sqlite3.Connection, workspace: str, group: Sequence[tuple[Record, str]]) -> None:
    """Write the texts as LightRAG's rows, for a database without a catalog."""
    rows = documents.rows_of(group)
    now = int(time.time())
    connection.executemany(
        "INSERT OR REPLACE INTO store_kv VALUES (?, ?, ?, ?, ?, ?)",
        [
            (workspace, namespace, key, orjson.dumps(row).decode(), now, now)
            for namespace, found in ((views.FULL_DOCS, rows.full_docs), (views.TEXT_CHUNKS, rows.chunks))
            for key, row in found.items()
        ],
    )


def _add_graph(
    connection: sqlite3.Connection, workspace: str, added: Iterable[Record], chunks: Mapping[str, int]
) -> None:
    mentions: set[tuple[int, str]] = set()
    types: dict[str, Counter[str]] = {}
    evidence: dict[tuple[int, tuple[str, str]], float] = {}
    for record in added:
        for extraction in record.extractions:
            entities, relations = records.rows_of_extraction(extraction)
            chunk = chunks[extraction.chunk_id]
            for row in entities:
                mentions.add((chunk, row["name"]))
                types.setdefault(row["name"], Counter())[row["type"]] += 1
            for row in relations:
                pair = sort_pair(row["source"], row["target"])
                mentions.update((chunk, name) for name in pair)
                evidence[chunk, pair] = evidence.get((chunk, pair), 0.0) + row["weight"]
    if not mentions:
        return
    nodes = keys.make_nodes(connection, workspace, {name for _, name in mentions})
    places = {pair: (nodes[pair[0]], nodes[pair[1]]) for _, pair in evidence}
    edges = keys.make_edges(connection, places.values())
    change_types(connection, {nodes[name]: found for name, found in types.items()})
    # In order of the keys, so that neighbouring rows of the indexes are written together.
    mentioned = sorted((nodes[name], chunk) for chunk, name in mentions)
    connection.executemany("INSERT OR IGNORE INTO store_mentions (node, chunk) VALUES (?, ?)", mentioned)
    chunk_nodes.add(connection, ((chunk, node) for node, chunk in mentioned))
    weighed = sorted(
        (edges[places[pair]], chunk, round(weight * keys.WEIGHT, 6))
        for (chunk, pair), weight in evidence.items()
    )
    connection.executemany(
        "INSERT OR REPLACE INTO store_evidence (edge, chunk, weight) VALUES (?, ?, ?)", weighed
    )
    connection.executemany(
        "UPDATE store_edges SET weight = weight + ? WHERE n = ?",
        [(weight, edge) for edge, _, weight in weighed],
    )


def vectors_of(
    database: SQLiteDatabase, model: str, records: Sequence[Record]
) -> "dict[str, NDArray[np.float32]]":
    """Return text -> vector of the chunks that have one of this model."""
    texts = chunk_texts(records)
    with database.read() as connection:
        found = stored_vectors(connection, model, texts)
    return {texts[key]: restore(scale, codes) for key, (scale, codes) in found.items()}


def stored_vectors(
    connection: sqlite3.Connection, model: str, keys: Iterable[tuple[str, str, str]]
) -> dict[tuple[str, str, str], tuple[float, bytes]]:
    """Return (workspace, namespace, id) -> scale and codes of the vectors of this model."""
    groups: dict[tuple[str, str], list[str]] = {}
    for workspace, namespace, key in keys:
        groups.setdefault((workspace, namespace), []).append(key)
    return {
        (workspace, namespace, key): found
        for (workspace, namespace), ids in groups.items()
        for key, found in vectors.select(connection, workspace, namespace, model, ids).items()
    }
