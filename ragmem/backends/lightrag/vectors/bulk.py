"""Read the vectors of a project's chunks in bulk, as float32."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragmem.backends.lightrag.rows import names
from ragmem.ports import VectorBlock
from ragmem.storage.sql.batches import batches, marks
from ragmem.storage.sql.sqlite import SQLiteDatabase

ROWS = 4096
"""Vectors in one block: 6 MB of float32 at 384 dimensions."""

_COLUMNS = "SELECT id, subject, scale, vector FROM store_vectors"


def blocks(database: SQLiteDatabase, project: str, model: str) -> Iterator[VectorBlock]:
    """Yield the vectors of all chunks of a project, in the order of the chunks' ids."""
    last = ""
    while True:
        with database.read() as connection:
            rows = connection.execute(
                # Uses the index by id, which begins with the project; the index by age covers all projects.
                f"{_COLUMNS} WHERE workspace = ? AND namespace = ? AND id > ? AND +model = ?"
                " ORDER BY id LIMIT ?",
                (project, names.CHUNKS, last, model, ROWS),
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
                f"{_COLUMNS} WHERE workspace = ? AND namespace = '{names.CHUNKS}'"
                f" AND subject IN ({marks(part)}) AND +model = ?",
                (project, *part, model),
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
