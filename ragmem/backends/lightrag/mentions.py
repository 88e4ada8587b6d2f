"""The entities that chunks name, and the other chunks that name them."""

import sqlite3
from collections.abc import Sequence

from ragmem.backends.lightrag.rows.keys import LISTED, SPACE, listed

_MENTIONS = (
    f"SELECT c.id, o.id, other.id FROM {LISTED} AS wanted"
    f" CROSS JOIN store_chunks AS c ON c.id = wanted.value AND c.space = {SPACE}"
    " CROSS JOIN store_mentions AS m ON m.chunk = c.n CROSS JOIN store_nodes AS o ON o.n = m.node"
    " CROSS JOIN store_mentions AS x ON x.node = o.n CROSS JOIN store_chunks AS other ON other.n = x.chunk"
    # One more tells a hub.
    " WHERE NOT EXISTS (SELECT 1 FROM store_mentions WHERE node = o.n LIMIT 1 OFFSET ?)"
    " ORDER BY o.id, x.chunk"
)


def mentions(
    connection: sqlite3.Connection, workspace: str, chunk_ids: Sequence[str], *, most: int
) -> dict[str, dict[str, list[str]]]:
    """Return chunk -> entity -> the chunks that name it, without entities that more than `most` name.

    Reads at most one mention more of a hub. A chunk without such an entity is absent.
    """
    found: dict[str, dict[str, list[str]]] = {}
    given = (listed(dict.fromkeys(chunk_ids)), workspace, most)
    for chunk, entity, other in connection.execute(_MENTIONS, given).fetchall():
        found.setdefault(chunk, {}).setdefault(entity, []).append(other)
    return found
