"""The entities that chunks name, and the other chunks that name them."""

import sqlite3
from collections.abc import Sequence

from ragmem.backends.lightrag.rows import sources
from ragmem.backends.lightrag.rows.keys import SPACE, values_table
from ragmem.storage.sql.batches import batches


def mentions(
    connection: sqlite3.Connection, workspace: str, chunk_ids: Sequence[str], *, most: int
) -> dict[str, dict[str, list[str]]]:
    """Return chunk -> entity -> the chunks that name it, without entities that more than `most` name.

    Reads at most `most` chunks of a hub.
    """
    ids: dict[int, str] = {}
    named: dict[str, list[int]] = {}
    for part in batches(dict.fromkeys(chunk_ids)):
        for chunk, node, name in connection.execute(
            f"SELECT column1, o.n, o.id FROM {values_table(part)}"
            f" CROSS JOIN store_chunks AS c ON c.id = column1 AND c.space = {SPACE}"
            " CROSS JOIN store_mentions AS m ON m.chunk = c.n CROSS JOIN store_nodes AS o ON o.n = m.node",
            (*part, workspace),
        ):
            ids[node] = name
            named.setdefault(chunk, []).append(node)
    rare = [
        node
        for part in batches(ids)
        # Counted in the index alone, so that no chunks of a hub are read.
        for node, count in connection.execute(
            "SELECT column1, (SELECT count(*) FROM (SELECT 1 FROM store_mentions"
            f" WHERE node = column1 LIMIT ?)) FROM {values_table(part)}",
            (most + 1, *part),
        )
        if count <= most
    ]
    naming = sources.chunk_ids(connection, sources.newest(connection, sources.ENTITY_CHUNKS, rare, most))
    return {
        chunk: {ids[node]: naming[node] for node in sorted(nodes, key=ids.__getitem__) if node in naming}
        for chunk, nodes in named.items()
    }
