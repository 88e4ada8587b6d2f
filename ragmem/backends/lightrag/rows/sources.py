"""The chunks that an entity or relation came from: LightRAG's tracking rows, one row per mention."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragmem.backends.lightrag.rows import chunk_nodes, keys
from ragmem.backends.lightrag.rows.keys import LISTED, SPACE, listed
from ragmem.backends.lightrag.rows.names import SEPARATOR
from ragmem.storage.sql.batches import batches, marks, padded

ENTITY_CHUNKS = "entity_chunks"
RELATION_CHUNKS = "relation_chunks"
NAMESPACES = (ENTITY_CHUNKS, RELATION_CHUNKS)

MAX_SOURCES = 32
"""Most chunks and files that a node or edge names. A query reads some of the newest ones; without a limit
each insert would rewrite a list of all memories that mention the entity."""

WINDOW = MAX_SOURCES
"""The newest mentions that LightRAG gets. It splits and copies the list some twenty times per insert (10 us
for each name in it), so with the whole list an insert would cost more with each memory that mentions the same
entity. Our own deletion works on all rows; only LightRAG's would remove an entity whose newest mentions all
come from the deleted document."""

_NONE = ""
"""The chunk id of an empty list; LightRAG tells an empty list from an unknown one (its issue 3609)."""

_TABLES = {ENTITY_CHUNKS: ("store_mentions", "node"), RELATION_CHUNKS: ("store_evidence", "edge")}


def newest(
    connection: sqlite3.Connection, namespace: str, numbers: Iterable[int], limit: int
) -> dict[int, list[int]]:
    """Return the newest chunks of entities (or relations), oldest first, all by their numbers."""
    table, column = _TABLES[namespace]
    found: dict[int, list[int]] = {}
    for number, chunk in connection.execute(
        # One search of the index for each key, which reads `limit` rows however many there are.
        f"SELECT wanted.value, source.chunk FROM {LISTED} AS wanted"
        f" CROSS JOIN {table} AS source ON source.{column} = wanted.value AND source.chunk IN"
        f" (SELECT chunk FROM {table} WHERE {column} = wanted.value ORDER BY chunk DESC LIMIT ?)"
        " ORDER BY source.chunk",
        (listed(dict.fromkeys(numbers)), limit),
    ):
        found.setdefault(number, []).append(chunk)
    return found


def newest_chunks_of(
    connection: sqlite3.Connection, workspace: str, namespace: str, wanted: Iterable[str], limit: int
) -> dict[str, list[str]]:
    """Return key -> ids of the newest chunks of those entities or relations that have any, oldest first."""
    numbers = _numbers(connection, workspace, namespace, wanted)
    chunks = chunk_ids(connection, newest(connection, namespace, numbers.values(), limit))
    return {key: chunks[number] for key, number in numbers.items() if number in chunks}


def chunk_ids(connection: sqlite3.Connection, chunks: Mapping[int, Sequence[int]]) -> dict[int, list[str]]:
    """Return the same lists with the ids of the chunks."""
    ids: dict[int, str] = {}
    for part in map(padded, batches({chunk for some in chunks.values() for chunk in some})):
        ids.update(
            connection.execute(f"SELECT n, id FROM store_chunks WHERE n IN ({marks(part)})", part).fetchall()
        )
    return {number: [ids[chunk] for chunk in some if chunk in ids] for number, some in chunks.items()}


def _numbers(
    connection: sqlite3.Connection, workspace: str, namespace: str, wanted: Iterable[str]
) -> dict[str, int]:
    """Return key -> number of those entities or relations that have a row."""
    if namespace == ENTITY_CHUNKS:
        return keys.node_numbers(connection, workspace, wanted)
    pairs = dict(_pairs(wanted))
    nodes = keys.node_numbers(connection, workspace, {name for pair in pairs.values() for name in pair})
    places = {
        key: (nodes[one], nodes[other])
        for key, (one, other) in pairs.items()
        if one in nodes and other in nodes
    }
    edges = keys.edge_numbers(connection, places.values())
    return {key: edges[place] for key, place in places.items() if place in edges}


def _make_numbers(
    connection: sqlite3.Connection, workspace: str, namespace: str, wanted: Iterable[str]
) -> dict[str, int]:
    """Return key -> number; unknown ones get a row that is no node or edge."""
    if namespace == ENTITY_CHUNKS:
        return keys.make_nodes(connection, workspace, wanted, present=False)
    pairs = dict(_pairs(wanted))
    names = {name for pair in pairs.values() for name in pair}
    nodes = keys.make_nodes(connection, workspace, names, present=False)
    places = {key: (nodes[one], nodes[other]) for key, (one, other) in pairs.items()}
    edges = keys.make_edges(connection, places.values(), present=False)
    return {key: edges[place] for key, place in places.items()}


def _pairs(wanted: Iterable[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    for key in wanted:
        one, _, other = key.partition(SEPARATOR)
        yield key, keys.sort_pair(one, other)


def tracking_row(key: str, chunks: Iterable[str]) -> dict[str, Any]:
    """Return LightRAG's row {chunk_ids, count} of a key."""
    known = [chunk for chunk in chunks if chunk != _NONE]
    return {"chunk_ids": known, "count": len(known), "_id": key, "create_time": 0, "update_time": 0}


def replace(
    connection: sqlite3.Connection, workspace: str, namespace: str, wanted: Mapping[str, Sequence[str]]
) -> None:
    """Set the newest parts of the lists (key -> ids of chunks); items older than the window stay."""
    table, column = _TABLES[namespace]
    numbers = _make_numbers(connection, workspace, namespace, wanted)
    before = newest(connection, namespace, numbers.values(), WINDOW)
    chunks = keys.make_chunks(
        connection, workspace, [chunk for some in wanted.values() for chunk in some if chunk] + [_NONE]
    )
    removed: list[tuple[int, int]] = []
    added: list[tuple[int, int]] = []
    for key, some in wanted.items():
        number = numbers[key]
        after = {chunks[chunk] for chunk in some if chunk} or {chunks[_NONE]}
        had = set(before.get(number, ()))
        removed += [(number, chunk) for chunk in had - after]
        added += [(number, chunk) for chunk in sorted(after - had)]
    connection.executemany(f"DELETE FROM {table} WHERE {column} = ? AND chunk = ?", removed)
    connection.executemany(f"INSERT OR IGNORE INTO {table} ({column}, chunk) VALUES (?, ?)", added)
    ends = {number: [number] for number in numbers.values()}
    if namespace == RELATION_CHUNKS:
        for number, *nodes in connection.execute(
            f"SELECT n, source, target FROM {LISTED} AS w CROSS JOIN store_edges ON n = w.value",
            (listed(ends),),
        ):
            ends[number] = nodes
    chunk_nodes.add(connection, ((chunk, node) for number, chunk in added for node in ends[number]))


def delete_keys(
    connection: sqlite3.Connection, workspace: str, namespace: str, wanted: Iterable[str]
) -> None:
    """Remove all mentions of these entities or relations, and the rows that were only their keys."""
    table, column = _TABLES[namespace]
    numbers = [(number,) for number in _numbers(connection, workspace, namespace, wanted).values()]
    connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", numbers)
    if namespace == ENTITY_CHUNKS:
        connection.executemany(
            "DELETE FROM store_nodes AS o WHERE n = ? AND NOT present AND NOT EXISTS"
            " (SELECT 1 FROM store_edges e WHERE e.source = o.n)"
            " AND NOT EXISTS (SELECT 1 FROM store_edges e WHERE e.target = o.n)",
            numbers,
        )
    else:
        connection.executemany("DELETE FROM store_edges WHERE n = ? AND NOT present", numbers)


def forget_chunks(connection: sqlite3.Connection, workspace: str, chunk_ids: Iterable[str]) -> None:
    """Remove all mentions by these chunks, and the chunks."""
    numbers = list(keys.chunk_numbers(connection, workspace, chunk_ids).values())
    chunk_nodes.forget(connection, numbers)
    connection.executemany("DELETE FROM store_chunks WHERE n = ?", [(number,) for number in numbers])


def is_empty(connection: sqlite3.Connection, workspace: str, namespace: str) -> bool:
    """Return whether no entity (or relation) of a workspace is mentioned."""
    return connection.execute(f"{_OF_SPACE[namespace]} LIMIT 1", (workspace,)).fetchone() is None


def drop(connection: sqlite3.Connection, workspace: str, namespace: str) -> None:
    """Remove all mentions of entities (or relations) of a workspace."""
    table, column = _TABLES[namespace]
    connection.execute(f"DELETE FROM {table} WHERE {column} IN ({_OF_SPACE[namespace]})", (workspace,))


_OF_SPACE = {
    ENTITY_CHUNKS: (
        f"SELECT n FROM store_nodes AS o WHERE space = {SPACE}"
        " AND EXISTS (SELECT 1 FROM store_mentions m WHERE m.node = o.n)"
    ),
    RELATION_CHUNKS: (
        "SELECT o.n FROM store_nodes AS near JOIN store_edges AS o ON o.source = near.n"
        f" WHERE near.space = {SPACE} AND EXISTS (SELECT 1 FROM store_evidence m WHERE m.edge = o.n)"
    ),
}
