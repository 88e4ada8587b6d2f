"""The entities that a chunk mentions, listed by number in its row; mentions themselves are kept by entity.

A list may have more than the chunk mentions, such as what LightRAG has deleted: whoever reads it looks the
mentions up.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

from ragmem.backends.lightrag.rows.keys import LISTED, listed
from ragmem.storage.sql.batches import batches, marks
from ragmem.storage.sql.database import Connection

_MORE = 0x80
_BITS = 7


def pack(numbers: Iterable[int]) -> bytes | None:
    """Return positive numbers as stored, sorted: the distances between them, in as few bytes as they need."""
    found = bytearray()
    last = 0
    for number in sorted(set(numbers)):
        distance = number - last
        last = number
        while distance >= _MORE:
            found.append(distance % _MORE + _MORE)
            distance >>= _BITS
        found.append(distance)
    return bytes(found) or None


def unpack(stored: bytes | None) -> list[int]:
    """Return the numbers of `pack`."""
    found = []
    last = distance = shift = 0
    for byte in stored or b"":
        distance += (byte % _MORE) << shift
        shift += _BITS
        if byte < _MORE:
            last += distance
            found.append(last)
            distance = shift = 0
    return found


def read(connection: sqlite3.Connection, chunks: Iterable[int]) -> dict[int, list[int]]:
    """Return chunk -> the entities on its list, of those that exist, all by their numbers."""
    return {
        chunk: unpack(stored)
        for part in batches(dict.fromkeys(chunks))
        for chunk, stored in connection.execute(
            f"SELECT n, nodes FROM store_chunks WHERE n IN ({marks(part)})", part
        )
    }


def add(connection: sqlite3.Connection, mentions: Iterable[tuple[int, int]]) -> None:
    """Put the entities of (chunk, entity) on the lists."""
    added: defaultdict[int, list[int]] = defaultdict(list)
    for chunk, node in mentions:
        added[chunk].append(node)
    before = read(connection, added)
    connection.executemany(
        "UPDATE store_chunks SET nodes = ? WHERE n = ?",
        [(pack([*before.get(chunk, ()), *nodes]), chunk) for chunk, nodes in added.items()],
    )


_EDGES = (
    "SELECT e.n FROM json_each(?1) AS w CROSS JOIN store_edges AS e"
    " ON e.source = w.value AND e.target IN (SELECT value FROM json_each(?1))"
)
"""The relations that join entities of a list."""


def mentions_of(connection: sqlite3.Connection, chunks: Iterable[int]) -> list[tuple[int, int]]:
    """Return (chunk, entity) of all mentions by chunks."""
    return [
        (chunk, node)
        for chunk, nodes in read(connection, chunks).items()
        for (node,) in connection.execute(
            f"SELECT m.node FROM {LISTED} AS w CROSS JOIN store_mentions AS m"
            " ON m.node = w.value AND m.chunk = ?",
            (listed(nodes), chunk),
        )
    ]


def evidence_of(connection: sqlite3.Connection, chunks: Iterable[int]) -> list[tuple[int, int]]:
    """Return (chunk, relation) of all evidence by chunks."""
    return [
        (chunk, edge)
        for chunk, nodes in read(connection, chunks).items()
        for (edge,) in connection.execute(
            f"SELECT edge FROM store_evidence WHERE edge IN ({_EDGES}) AND chunk = ?2", (listed(nodes), chunk)
        )
    ]


def forget(connection: sqlite3.Connection, chunks: Iterable[int]) -> tuple[set[int], dict[int, float]]:
    """Remove all mentions and evidence by chunks; return the entities, and relation -> weight of these."""
    mentioned: set[int] = set()
    weights: defaultdict[int, float] = defaultdict(float)
    for chunk, nodes in read(connection, chunks).items():
        given = (listed(nodes), chunk)
        mentioned.update(
            node
            for (node,) in connection.execute(
                "DELETE FROM store_mentions WHERE node IN (SELECT value FROM json_each(?1)) AND chunk = ?2"
                " RETURNING node",
                given,
            ).fetchall()
        )
        for edge, weight in connection.execute(
            f"DELETE FROM store_evidence WHERE edge IN ({_EDGES}) AND chunk = ?2 RETURNING edge, weight",
            given,
        ).fetchall():
            weights[edge] += weight
    return mentioned, weights


_NODES = (
    "SELECT chunk, node FROM store_mentions"
    " UNION SELECT m.chunk, e.source FROM store_evidence AS m JOIN store_edges AS e ON e.n = m.edge"
    " UNION SELECT m.chunk, e.target FROM store_evidence AS m JOIN store_edges AS e ON e.n = m.edge"
    " ORDER BY chunk"
)
"""What the lists must have: what a chunk mentions, and the ends of the relations that it is evidence of."""


def unlisted(connection: sqlite3.Connection) -> list[int]:
    """Return the chunks that lack an entity on their list; reads all mentions."""
    rows = connection.execute(
        f"SELECT w.chunk, c.nodes, w.node FROM ({_NODES}) AS w JOIN store_chunks AS c ON c.n = w.chunk"
        " ORDER BY w.chunk"
    )
    return [
        chunk
        for (chunk, stored), some in groupby(rows, itemgetter(0, 1))
        if not {node for *_, node in some}.issubset(unpack(stored))
    ]


def list_nodes(connection: Connection) -> None:
    """Rewrite the lists of all chunks from their mentions and evidence."""
    lists = [
        (pack(node for _, node in some), chunk)
        for chunk, some in groupby(connection.execute(_NODES), itemgetter(0))
    ]
    connection.executemany("UPDATE store_chunks SET nodes = ? WHERE n = ?", lists)
