"""Read the vectors of a project's chunks in bulk, as float32."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragmem.backends.lightrag.rows import vectors
from ragmem.backends.lightrag.rows.keys import SPACE, values_table
from ragmem.ports import VectorBlock
from ragmem.storage.sql.batches import batches
from ragmem.storage.sql.sqlite import SQLiteDatabase

ROWS = 4096
"""Vectors in one block: 6 MB of float32 at 384 dimensions."""

_COLUMNS = f"SELECT c.id, d.id, {vectors.SCALE}, v.vector"
_CHUNKS = f"CROSS JOIN {vectors.OF_CHUNKS} AS v ON v.model = {vectors.MODEL} AND v.chunk = c.n"


def blocks(database: SQLiteDatabase, project: str, model: str) -> Iterator[VectorBlock]:
    """Yield the vectors of all chunks of a project, in the order of the chunks' ids."""
    last = ""
    while True:
        with database.read() as connection:
            rows = connection.execute(
                f"{_COLUMNS} FROM store_chunks AS c {_CHUNKS}"
                " CROSS JOIN store_documents AS d ON d.n = c.document"
                f" WHERE c.id > ? AND c.space = {SPACE} ORDER BY c.id LIMIT ?",
                (model, last, project, ROWS),
            ).fetchall()
        if rows:
            last = rows[-1][0]
            yield block_of(rows)
        if len(rows) < ROWS:
            return


def blocks_of(
    database: SQLiteDatabase, project: str, model: str, memory_ids: Sequence[str]
) -> Iterator[VectorBlock]:
    """Yield the vectors of the chunks of some memories of a project."""
    for part in batches(dict.fromkeys(memory_ids)):
        with database.read() as connection:
            rows = connection.execute(
                f"{_COLUMNS} FROM {values_table(part)}"
                f" CROSS JOIN store_documents AS d ON d.id = column1 AND d.space = {SPACE}"
                f" CROSS JOIN store_chunks AS c ON c.document = d.n {_CHUNKS}",
                (*part, project, model),
            ).fetchall()
        if rows:
            yield block_of(rows)


def block_of(rows: Sequence[tuple[Any, ...]]) -> VectorBlock:
    """Return rows (chunk, memory, scale, codes) with vectors of one length as a block."""
    codes = np.frombuffer(b"".join(row[3] for row in rows), np.int8).reshape(len(rows), -1)
    # Normalising cancels the scale.
    return VectorBlock([row[0] for row in rows], [row[1] for row in rows], unit(codes.astype(np.float32)))


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows with length 1; a row of zeros is unchanged."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-12)), np.float32)
