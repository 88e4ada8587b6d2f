"""Make the vectors of a second model beside those that answer questions, and change over to them.

Whatever has a vector of any model needs one of the new model. Chunks come first, the newest of them first,
because questions are compared with them.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ragmem.backends.lightrag.rows import graph_sql, names, vectors, views
from ragmem.backends.lightrag.rows.keys import has_name, sort_pair
from ragmem.backends.lightrag.vectors.segments import quantise
from ragmem.frozen import dataclass
from ragmem.ports import Embedder, Refuse, TextsOf
from ragmem.readers.failures import isolate_failures
from ragmem.storage.sql.batches import batches, marks
from ragmem.storage.sql.sqlite import SQLiteDatabase

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EMBEDDED_AT_ONCE = 128
"""Texts in one call of the embedder and one transaction, the most that a kill loses."""

DELETED_AT_ONCE = 500
"""Vectors of a former model in one transaction; writers wait some tens of milliseconds for it."""

NAMESPACES = (names.CHUNKS, names.ENTITIES, names.RELATIONSHIPS)

_AFTER_ALL = 2**62

# A vector without an owner needs no new one: a sweep removes it.
_OWNED = {
    names.ENTITIES: (
        "EXISTS (SELECT 1 FROM store_nodes n JOIN store_spaces s ON s.n = n.space"
        f" WHERE s.name = o.workspace AND {has_name('n', 'o.subject')} AND n.present)"
    ),
    names.RELATIONSHIPS: (
        "EXISTS (SELECT 1 FROM store_spaces s JOIN store_nodes a ON a.space = s.n"
        " JOIN store_nodes b ON b.space = s.n JOIN store_edges e ON e.source = a.n AND e.target = b.n"
        f" WHERE s.name = o.workspace AND {has_name('a', 'min(o.subject, o.object)')}"
        f" AND {has_name('b', 'max(o.subject, o.object)')}"
        " AND e.present)"
    ),
}
_LACKING = {
    namespace: (
        f"SELECT o.seq, o.workspace, o.id, o.subject, o.object FROM {vectors.OF_NAMES} o"
        f" WHERE o.namespace = '{namespace}' AND o.model = :other AND o.seq > :after AND o.seq < :before"
        f" AND NOT EXISTS (SELECT 1 FROM {vectors.OF_NAMES} w WHERE w.workspace = o.workspace"
        " AND w.namespace = o.namespace AND w.id = o.id AND w.model = :model)"
        f" AND {owned} ORDER BY o.seq DESC LIMIT :limit"
    )
    for namespace, owned in _OWNED.items()
} | {
    names.CHUNKS: (
        f"SELECT v.seq, s.name, c.id, {vectors.SUBJECT}, '' FROM {vectors.OF_CHUNKS} AS v {vectors.OWNERS}"
        " WHERE v.model = (SELECT n FROM store_vector_models WHERE name = :other)"
        " AND v.seq > :after AND v.seq < :before"
        f" AND NOT EXISTS (SELECT 1 FROM {vectors.OF_CHUNKS} AS w"
        " WHERE w.model = (SELECT n FROM store_vector_models WHERE name = :model) AND w.chunk = v.chunk)"
        " ORDER BY v.seq DESC LIMIT :limit"
    )
}


@dataclass(frozen=True, slots=True)
class _Row:
    """A vector of another model, whose text has none of the new model."""

    seq: int
    workspace: str
    id: str
    subject: str
    object: str


def counts(connection: sqlite3.Connection) -> dict[str, dict[str, int]]:
    """Return how many vectors there are, by namespace and model."""
    found: dict[str, dict[str, int]] = {}
    for namespace in NAMESPACES:
        models = found[namespace] = {}
        for model in vectors.models(connection, namespace):
            (models[model],) = connection.execute(
                f"SELECT count(*) FROM {vectors.of_model(namespace)}", (namespace, model)
            ).fetchone()
    return found


def has_vectors_of(connection: sqlite3.Connection, model: str) -> bool:
    """Return whether any vector is of this model; one search of the index for each namespace."""
    return any(
        connection.execute(
            f"SELECT 1 FROM {vectors.of_model(namespace)} LIMIT 1", (namespace, model)
        ).fetchone()
        for namespace in NAMESPACES
    )


def progress(connection: sqlite3.Connection, model: str) -> tuple[int, int]:
    """Return how many vectors a model has, and how many a complete set has."""
    done = total = 0
    for models in counts(connection).values():
        done += models.get(model, 0)
        total += max(models.values(), default=0)
    return done, total


def model_of_most(connection: sqlite3.Connection) -> tuple[str, int] | None:
    """Return the model of most vectors and its number of dimensions; None where there are no vectors."""
    found = counts(connection)
    sums: dict[str, int] = {}
    for models in found.values():
        for model, count in models.items():
            sums[model] = sums.get(model, 0) + count
    if not sums:
        return None
    model = max(sums, key=lambda one: sums[one])
    namespace = next(name for name, models in found.items() if model in models)
    (dimensions,) = connection.execute(
        f"SELECT length(v.vector) FROM {vectors.of_model(namespace)} LIMIT 1",
        (namespace, model),
    ).fetchone()
    return model, int(dimensions)


def fill(database: SQLiteDatabase, embedder: Embedder, texts_of: TextsOf, refuse: Refuse) -> Iterator[int]:
    """Make the vectors that a model lacks, one batch per transaction; yield the size of each.

    Ends after a pass that found none missing. It can be stopped and resumed.
    """
    model = embedder.model_id
    made = True
    while made and _is_uneven(database, model):
        made = False
        for namespace in NAMESPACES:
            for rows in _missing_batches(database, namespace, model):
                made = True
                yield _make(database, embedder, rows, namespace=namespace, texts_of=texts_of, refuse=refuse)


def _missing_batches(database: SQLiteDatabase, namespace: str, model: str) -> Iterator[list[_Row]]:
    with database.read() as connection:
        others = [other for other in vectors.models(connection, namespace) if other != model]
    for other in others:
        before = _AFTER_ALL
        while True:
            with database.read() as connection:
                rows = _missing_rows(
                    connection, namespace, other, model=model, before=before, limit=EMBEDDED_AT_ONCE
                )
            if not rows:
                break
            before = rows[-1].seq
            yield rows


def _missing_rows(
    connection: sqlite3.Connection,
    namespace: str,
    other: str,
    *,
    model: str,
    after: int = 0,
    before: int = _AFTER_ALL,
    limit: int = 1,
) -> list[_Row]:
    rows = connection.execute(
        _LACKING[namespace],
        {
            "other": other,
            "model": model,
            "after": after,
            "before": before,
            "limit": limit,
        },
    )
    return [_Row(*row) for row in rows]


def _make(
    database: SQLiteDatabase,
    embedder: Embedder,
    rows: Sequence[_Row],
    *,
    namespace: str,
    texts_of: TextsOf,
    refuse: Refuse,
) -> int:
    texts = _TEXTS[namespace](database, rows, texts_of)
    made: dict[int, NDArray[np.float32]] = {}

    def embed(some: Sequence[_Row]) -> None:
        rows_of_some = embedder.embed([texts[row.seq] for row in some], role="document")
        made.update(zip((row.seq for row in some), rows_of_some, strict=True))

    refused = isolate_failures([row for row in rows if row.seq in texts], embed)
    if refused and namespace == names.CHUNKS:
        refuse({row.subject: reason for row, reason in refused})
    # A vector of a text that is nowhere, or that the model rejects, would keep the change from ending.
    lost = [(row.seq,) for row in rows if row.seq not in made]
    now = int(time.time())
    with database.write() as connection:
        connection.executemany(f"DELETE FROM {vectors.table_of(namespace)} WHERE seq = ?", lost)
        # Rows that were deleted or replaced meanwhile have another seq; a later pass handles them.
        there = _still_there(connection, namespace, list(made))
        values = [
            (
                row.workspace,
                namespace,
                row.id,
                row.subject,
                row.object,
                embedder.model_id,
                *quantise(made[row.seq]),
                now,
            )
            for row in rows
            if row.seq in there
        ]
        vectors.insert(connection, values, replace=False)
    return len(values)


def _still_there(connection: sqlite3.Connection, namespace: str, seqs: Sequence[int]) -> set[int]:
    return {
        seq
        for part in batches(seqs)
        for (seq,) in connection.execute(
            f"SELECT seq FROM {vectors.table_of(namespace)} WHERE seq IN ({marks(part)})", part
        )
    }


def _chunk_texts(database: SQLiteDatabase, rows: Sequence[_Row], texts_of: TextsOf) -> dict[int, str]:
    known = texts_of({row.id: row.subject for row in rows})
    texts = {row.seq: known[row.id] for row in rows if row.id in known}
    with database.read() as connection:
        for row in rows:
            if row.seq not in texts:
                # A chunk that LightRAG made.
                kept = views.read(connection, row.workspace, views.TEXT_CHUNKS, [row.id]).get(row.id)
                if kept is not None:
                    texts[row.seq] = str(kept["content"])
    return texts


def _entity_texts(database: SQLiteDatabase, rows: Sequence[_Row], texts_of: TextsOf) -> dict[int, str]:
    del database, texts_of
    return {row.seq: names.entity_text(row.subject) for row in rows}


def _relation_texts(database: SQLiteDatabase, rows: Sequence[_Row], texts_of: TextsOf) -> dict[int, str]:
    del texts_of
    texts: dict[int, str] = {}
    with database.read() as connection:
        for row in rows:
            pair = sort_pair(row.subject, row.object)
            for _, data in graph_sql.edges(connection, row.workspace, [pair]):
                texts[row.seq] = names.relation_text(*pair, str(data.get("keywords", "")))
    return texts


_TEXTS: Mapping[str, Callable[[SQLiteDatabase, Sequence[_Row], TextsOf], dict[int, str]]] = {
    names.CHUNKS: _chunk_texts,
    names.ENTITIES: _entity_texts,
    names.RELATIONSHIPS: _relation_texts,
}


def change_over(database: SQLiteDatabase, model: str, *, finish: Callable[[], None]) -> bool:
    """Call `finish` in a transaction if the model lacks no vector; else return False.

    All rows are compared before the lock is taken, and only new ones within it.
    """
    with database.read() as connection:
        newest = {
            namespace: connection.execute(
                f"SELECT coalesce(max(seq), 0) FROM {vectors.table_of(namespace)}"
            ).fetchone()[0]
            for namespace in NAMESPACES
        }
        if _is_uneven(database, model) and _lacks(connection, model, after={}):
            return False
    with database.write() as connection:
        if _lacks(connection, model, after=newest):
            return False
        finish()
    return True


def _is_uneven(database: SQLiteDatabase, model: str) -> bool:
    """Return whether any id, even without an owner, has vectors but none of this model.

    Scans the index by id, in a tenth of the time of single searches.
    """
    with database.read() as connection:
        return any(connection.execute(query, (model,)).fetchone() for query in _UNEVEN)


_UNEVEN = (
    (
        f"SELECT 1 FROM {vectors.OF_CHUNKS} GROUP BY chunk"
        " HAVING max(model IS (SELECT n FROM store_vector_models WHERE name = ?)) = 0 LIMIT 1"
    ),
    (f"SELECT 1 FROM {vectors.OF_NAMES} GROUP BY workspace, namespace, id HAVING max(model = ?) = 0 LIMIT 1"),
)


def _lacks(connection: sqlite3.Connection, model: str, *, after: Mapping[str, int]) -> bool:
    return any(
        _missing_rows(connection, namespace, other, model=model, after=after.get(namespace, 0))
        for namespace in NAMESPACES
        for other in vectors.models(connection, namespace)
        if other != model
    )


def drop_others(database: SQLiteDatabase, model: str) -> Iterator[int]:
    """Delete the vectors of all other models, some per transaction; yield the number of each."""
    for namespace in NAMESPACES:
        with database.read() as connection:
            others = [other for other in vectors.models(connection, namespace) if other != model]
        for other in others:
            deleted = DELETED_AT_ONCE
            while deleted == DELETED_AT_ONCE:
                with database.write() as connection:
                    deleted = connection.execute(
                        f"DELETE FROM {vectors.table_of(namespace)} WHERE seq IN"
                        f" (SELECT v.seq FROM {vectors.of_model(namespace)} LIMIT ?)",
                        (namespace, other, DELETED_AT_ONCE),
                    ).rowcount
                yield deleted
