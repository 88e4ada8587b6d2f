"""Stored vectors of records, so that they need not be embedded again."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ragmem.backends.lightrag.rows import vectors
from ragmem.backends.lightrag.rows.records import chunk_texts
from ragmem.backends.lightrag.vectors.segments import restore
from ragmem.domain.model import Record
from ragmem.storage.sql.sqlite import SQLiteDatabase

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
