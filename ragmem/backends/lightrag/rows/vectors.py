"""The rows of vectors: those of chunks by numbers, in a table of their own, and those of names."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from ragmem.backends.lightrag.rows import keys, names
from ragmem.storage.sql.batches import batches, marks

OF_CHUNKS, OF_NAMES = "store_chunk_vectors", "store_name_vectors"

MODEL = "(SELECT n FROM store_vector_models WHERE name = ?)"
"""The number of a model as an SQL expression; NULL for an unknown one, which matches no row."""

_UNIT = 2.0**30
_CODES = 127.0

SCALE = f"CASE typeof(v.scale) WHEN 'integer' THEN v.scale / {_UNIT} / {_CODES} ELSE v.scale END"
"""The scale of a chunk's vector (the row `v`) as an SQL expression."""

_OF_LIGHTRAG = "FROM store_kv AS k WHERE k.workspace = s.name AND k.namespace = 'text_chunks' AND k.id = c.id"

SUBJECT = f"coalesce(d.id, (SELECT json_extract(k.data, '$.full_doc_id') {_OF_LIGHTRAG}), '')"
"""The memory of a chunk (the row `c` of the space `s` and the document `d`) as an SQL expression."""

CREATED = f"coalesce(d.created, (SELECT k.created {_OF_LIGHTRAG}), 0)"
"""When a chunk was stored, as an SQL expression."""

_OF_CHUNK = "CROSS JOIN store_spaces AS s ON s.n = c.space LEFT JOIN store_documents AS d ON d.n = c.document"

OWNERS = f"CROSS JOIN store_chunks AS c ON c.n = v.chunk {_OF_CHUNK}"
"""What joins its chunk `c`, space `s` and document `d` to a chunk's vector `v`."""

_INSERT = ("INSERT OR IGNORE", "INSERT OR REPLACE")

Row = tuple[str, str, str, str, str, str, float, bytes, int]
"""Workspace, namespace, id, subject, object, model, scale, vector, moment."""


def table_of(namespace: str) -> str:
    """Return the table with the vectors of a namespace."""
    return OF_CHUNKS if namespace == names.CHUNKS else OF_NAMES


def of_model(namespace: str) -> str:
    """Return the rows of a model as an SQL clause with two parameters: namespace, model."""
    if namespace == names.CHUNKS:
        return f"{OF_CHUNKS} AS v WHERE ? = '{names.CHUNKS}' AND v.model = {MODEL}"
    return f"{OF_NAMES} AS v WHERE v.namespace = ? AND v.model = ?"


def count(connection: sqlite3.Connection) -> list[tuple[str, str, int, int]]:
    """Return (namespace, model, dimensions, vectors) of all vectors; reads all rows."""
    return connection.execute(
        f"SELECT '{names.CHUNKS}', m.name, length(v.vector), count(*) FROM {OF_CHUNKS} AS v"
        " JOIN store_vector_models AS m ON m.n = v.model GROUP BY m.n, 3"
        f" UNION ALL SELECT namespace, model, length(vector), count(*) FROM {OF_NAMES} GROUP BY 1, 2, 3"
    ).fetchall()


def models(connection: sqlite3.Connection, namespace: str) -> list[str]:
    """Return the models of a namespace in order."""
    if namespace == names.CHUNKS:
        query = (
            "SELECT m.name FROM store_vector_models AS m"
            f" WHERE EXISTS (SELECT 1 FROM {OF_CHUNKS} AS v WHERE v.model = m.n) ORDER BY 1"
        )
        return [model for (model,) in connection.execute(query)]
    found = [""]
    # One search of the index for each.
    while row := connection.execute(
        f"SELECT model FROM {OF_NAMES} WHERE namespace = ? AND model > ? ORDER BY model LIMIT 1",
        (namespace, found[-1]),
    ).fetchone():
        found.append(row[0])
    return found[1:]


def encode_scale(scale: float) -> float:
    """Return a scale as it is stored: where it comes from a peak in float32, this peak as a small integer.

    Half as many bytes, so that ten vectors of 384 codes fit into a page.
    """
    peak = round(scale * _CODES * _UNIT)
    return peak if peak / _UNIT / _CODES == scale and peak < 2**31 else float(scale)


def insert(connection: sqlite3.Connection, rows: Iterable[Row], *, replace: bool = True) -> None:
    """Write vectors; of an owner that has one of this model, the new one counts if `replace`, else the old.

    A new vector is a new row with a new number, never an update: what was derived from a number stays true.
    Subject and moment of a chunk are those of its document, whatever the row says.
    """
    chunks: dict[tuple[str, str], list[Row]] = {}
    others: list[Row] = []
    for row in rows:
        if row[1] == names.CHUNKS:
            chunks.setdefault((row[0], row[5]), []).append(row)
        else:
            others.append(row)
    for (workspace, model), some in chunks.items():
        numbers = keys.make_chunks(connection, workspace, [row[2] for row in some])
        insert_of_chunks(connection, model, [(numbers[row[2]], *row[6:8]) for row in some], replace=replace)
    connection.executemany(
        f"{_INSERT[replace]} INTO {OF_NAMES}"
        " (workspace, namespace, id, subject, object, model, scale, vector, created)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        others,
    )


def insert_of_chunks(
    connection: sqlite3.Connection,
    model: str,
    rows: Iterable[tuple[int, float, bytes]],
    *,
    replace: bool = True,
) -> None:
    """Write (number of a chunk, scale, codes); `replace` as above."""
    connection.execute("INSERT OR IGNORE INTO store_vector_models (name) VALUES (?)", (model,))
    (number,) = connection.execute(f"SELECT {MODEL}", (model,)).fetchone()
    connection.executemany(
        f"{_INSERT[replace]} INTO {OF_CHUNKS} (chunk, model, scale, vector) VALUES (?, ?, ?, ?)",
        [(chunk, number, encode_scale(scale), codes) for chunk, scale, codes in rows],
    )


def delete(connection: sqlite3.Connection, workspace: str, namespace: str, ids: Iterable[str]) -> None:
    """Remove the vectors of these ids, of all models; unknown ids are ignored."""
    if namespace == names.CHUNKS:
        numbers = [(number,) for number in keys.chunk_numbers(connection, workspace, ids).values()]
        connection.executemany(f"DELETE FROM {OF_CHUNKS} WHERE chunk = ?", numbers)
        return
    # One by one: with a long list, SQLite reads the vectors of the whole namespace instead.
    connection.executemany(
        f"DELETE FROM {OF_NAMES} WHERE workspace = ? AND namespace = ? AND id = ?",
        [(workspace, namespace, key) for key in ids],
    )


def drop(connection: sqlite3.Connection, workspace: str, namespace: str) -> None:
    """Remove all vectors of a namespace of a workspace."""
    if namespace == names.CHUNKS:
        connection.execute(
            f"DELETE FROM {OF_CHUNKS} WHERE chunk IN (SELECT n FROM store_chunks WHERE space = {keys.SPACE})",
            (workspace,),
        )
        return
    connection.execute(
        f"DELETE FROM {OF_NAMES} WHERE workspace = ? AND namespace = ?", (workspace, namespace)
    )


def select(
    connection: sqlite3.Connection, workspace: str, namespace: str, model: str, ids: Iterable[str]
) -> dict[str, tuple[float, bytes]]:
    """Return id -> scale and codes of those that have a vector of this model."""
    columns = f"{SCALE}, v.vector" if namespace == names.CHUNKS else "scale, vector"
    rows = _select(connection, workspace, namespace, model, ids, columns=columns)
    return {key: (scale, codes) for key, scale, codes in rows}


def owners(
    connection: sqlite3.Connection, workspace: str, namespace: str, model: str, ids: Iterable[str]
) -> dict[str, tuple[str, str, int]]:
    """Return id -> subject, object and moment of those that have a vector of this model."""
    columns, joined = "subject, object, created", ""
    if namespace == names.CHUNKS:
        columns, joined = f"{SUBJECT}, '', {CREATED}", _OF_CHUNK
    rows = _select(connection, workspace, namespace, model, ids, columns=columns, joined=joined)
    return {key: (subject, other, created) for key, subject, other, created in rows}


def _select(
    connection: sqlite3.Connection,
    workspace: str,
    namespace: str,
    model: str,
    ids: Iterable[str],
    *,
    columns: str,
    joined: str = "",
) -> Iterator[tuple[Any, ...]]:
    for part in batches(dict.fromkeys(ids)):
        if namespace == names.CHUNKS:
            yield from connection.execute(
                f"SELECT c.id, {columns} FROM {keys.values_table(part)}"
                f" CROSS JOIN store_chunks AS c ON {keys.has_id('c', 'column1')} AND c.space = {keys.SPACE}"
                f" CROSS JOIN {OF_CHUNKS} AS v ON v.model = {MODEL} AND v.chunk = c.n {joined}",
                (*part, workspace, model),
            )
        else:
            yield from connection.execute(
                f"SELECT id, {columns} FROM {OF_NAMES}"
                f" WHERE workspace = ? AND namespace = ? AND id IN ({marks(part)}) AND +model = ?",
                (workspace, namespace, *part, model),
            )
