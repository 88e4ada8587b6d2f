"""The vectors of records by their texts, so that another store need not embed them again."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragmem.backends.lightrag.rows.records import vector_texts
from ragmem.backends.lightrag.vectors.segments import restore
from ragmem.domain.model import Record
from ragmem.storage.sql.batches import batches, marks
from ragmem.storage.sql.sqlite import SQLiteDatabase

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def vectors_of(
    database: SQLiteDatabase, model: str, records: Sequence[Record]
) -> "dict[str, NDArray[np.float32]]":
    """Return text -> vector of the chunks, entities and relations that have one of this model.

    A relation that several memories name was embedded with the words of one of them, and has that vector.
    """
    texts = vector_texts(records)
    groups: dict[tuple[str, str], list[str]] = {}
    for workspace, namespace, key in texts:
        groups.setdefault((workspace, namespace), []).append(key)
    found: dict[str, NDArray[np.float32]] = {}
    with database.read() as connection:
        for (workspace, namespace), ids in groups.items():
            for part in batches(ids):
                for key, scale, codes in connection.execute(
                    "SELECT id, scale, vector FROM store_vectors"
                    f" WHERE workspace = ? AND namespace = ? AND id IN ({marks(part)}) AND +model = ?",
                    (workspace, namespace, *part, model),
                ):
                    found[texts[workspace, namespace, key]] = restore(scale, codes)
    return found
