"""The entities that chunks name, and the other chunks that name them."""

import sqlite3
from collections.abc import Sequence

from ragmem.backends.lightrag.rows import sources
from ragmem.backends.lightrag.rows.keys import LISTED, SPACE, listed


def mentions(
    connection: sqlite3.Connection, workspace: str, chunk_ids: Sequence[str], *, most: int
) -> dict[str, dict[str, list[str]]]:
    """Return chunk -> entity -> the chunks that name it, without entities that more than `most` name.

    Reads at most one chunk more of a hub.
    """
    ids: dict[int, str] = {}
    named: dict[str, list[int]] = {}
    for chunk, node, name in connection.execute(
        f"SELECT c.id, o.n, o.id FROM {LISTED} AS wanted"
        f" CROSS JOIN store_chunks AS c ON c.id = wanted.value AND c.space = {SPACE}"
        " CROSS JOIN store_mentions AS m ON m.chunk = c.n CROSS JOIN store_nodes AS o ON o.n = m.node",
        (listed(dict.fromkeys(chunk_ids)), workspace),
    ):
        ids[node] = name
        named.setdefault(chunk, []).append(node)
    # One more tells a hub.
    newest = sources.newest(connection, sources.ENTITY_CHUNKS, ids, most + 1)
    rare = {node: chunks for node, chunks in newest.items() if len(chunks) <= most}
    naming = sources.chunk_ids(connection, rare)
    return {
        chunk: {ids[node]: naming[node] for node in sorted(nodes, key=ids.__getitem__) if node in naming}
        for chunk, nodes in named.items()
    }
