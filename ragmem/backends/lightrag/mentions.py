"""The entities that chunks name, and the other chunks that name them."""

import sqlite3
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from ragmem.backends.lightrag.rows.chunk_nodes import unpack
from ragmem.backends.lightrag.rows.keys import LISTED, SPACE, has_id, listed

_CHUNKS = (
    f"SELECT c.id, c.n, c.nodes FROM {LISTED} AS wanted"
    f" CROSS JOIN store_chunks AS c ON {has_id('c', 'wanted.value')} AND c.space = {SPACE}"
)
_MENTIONS = (
    f"SELECT o.id, x.chunk, other.id FROM {LISTED} AS wanted"
    " CROSS JOIN store_nodes AS o ON o.n = wanted.value"
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
    wanted: dict[int, str] = {}
    nodes: set[int] = set()
    for chunk, number, stored in connection.execute(_CHUNKS, (listed(dict.fromkeys(chunk_ids)), workspace)):
        wanted[number] = chunk
        nodes.update(unpack(stored))
    found: dict[str, dict[str, list[str]]] = {}
    rows = connection.execute(_MENTIONS, (listed(sorted(nodes)), most)).fetchall()
    for entity, some in groupby(rows, itemgetter(0)):
        numbers, others = zip(*((number, other) for _, number, other in some), strict=True)
        for number in numbers:
            # What is on a list only is not mentioned.
            if number in wanted:
                found.setdefault(wanted[number], {})[entity] = list(others)
    return found
