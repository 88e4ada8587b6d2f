"""The statements on the graph's tables, shared by LightRAG's storage and the direct reads."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import orjson

from ragmem.backends.lightrag.rows import evidence, keys
from ragmem.backends.lightrag.rows.keys import SPACE, has_name, sort_pair, values_table
from ragmem.storage.sql.batches import PARAMETERS, batches

ALL = "*"
"""The label that stands for the most connected entities."""


def nodes(
    connection: sqlite3.Connection, workspace: str, names: Iterable[str]
) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Yield (name, attributes, degree) of those nodes that exist."""
    for part in batches(dict.fromkeys(names)):
        rows = connection.execute(
            f"SELECT {evidence.NODE} FROM {values_table(part)} CROSS JOIN store_nodes AS o"
            f" ON o.space = {SPACE} AND {has_name('o', 'column1')} WHERE o.present",
            (*part, workspace),
        ).fetchall()
        yield from evidence.nodes(connection, workspace, rows)


def degrees(connection: sqlite3.Connection, workspace: str, names: Iterable[str]) -> dict[str, int]:
    """Return the degrees of those nodes that exist."""
    return keys.node_values(connection, "degree", workspace, names, condition="o.present")


def edges(
    connection: sqlite3.Connection, workspace: str, pairs: Iterable[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """Yield ((source, target), attributes) of those edges that exist; the pairs are in stored order."""
    for part in batches(dict.fromkeys(pairs), PARAMETERS // 2):
        rows = connection.execute(
            f"SELECT {evidence.EDGE} FROM {values_table(part)}"
            f" CROSS JOIN store_nodes AS near ON near.space = {SPACE} AND {has_name('near', 'column1')}"
            f" CROSS JOIN store_nodes AS far ON far.space = {SPACE} AND {has_name('far', 'column2')}"
            " CROSS JOIN store_edges AS o ON o.source = near.n AND o.target = far.n WHERE o.present",
            (*chain.from_iterable(part), workspace, workspace),
        ).fetchall()
        for source, target, data, _ in evidence.edges(connection, workspace, rows):
            yield (source, target), data


def adjacent(connection: sqlite3.Connection, workspace: str, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the names at the other end of each node's edges."""
    found: dict[str, list[str]] = {}
    for part in batches(dict.fromkeys(names)):
        for near, far in (("source", "target"), ("target", "source")):
            for name, other in connection.execute(
                f"SELECT near.id, far.id FROM {values_table(part)}"
                f" CROSS JOIN store_nodes AS near ON near.space = {SPACE} AND {has_name('near', 'column1')}"
                f" CROSS JOIN store_edges AS o ON o.{near} = near.n AND o.present"
                f" CROSS JOIN store_nodes AS far ON far.n = o.{far}",
                (*part, workspace),
            ):
                found.setdefault(name, []).append(other)
    return found


def upsert_nodes(
    connection: sqlite3.Connection, workspace: str, nodes_: Iterable[tuple[str, Mapping[str, Any]]]
) -> None:
    """Write what LightRAG says of nodes; attributes that are not given keep their value."""
    wanted: dict[str, dict[str, Any]] = {}
    for name, data in nodes_:
        wanted.setdefault(name, {}).update(data)
    before = {name: data for name, data, _ in nodes(connection, workspace, wanted)}
    numbers = keys.make_nodes(connection, workspace, wanted)
    connection.executemany(
        "UPDATE store_nodes SET data = ? WHERE n = ?",
        [
            (orjson.dumps({**before.get(name, {}), **data}).decode(), numbers[name])
            for name, data in wanted.items()
        ],
    )


def upsert_edges(
    connection: sqlite3.Connection, workspace: str, edges_: Iterable[tuple[str, str, Mapping[str, Any]]]
) -> None:
    """Write what LightRAG says of edges and, where they are missing, their ends."""
    wanted: dict[tuple[str, str], dict[str, Any]] = {}
    for source, target, data in edges_:
        wanted.setdefault(sort_pair(source, target), {}).update(data)
    before = dict(edges(connection, workspace, wanted))
    nodes_ = keys.make_nodes(connection, workspace, {name for pair in wanted for name in pair})
    places = {pair: (nodes_[pair[0]], nodes_[pair[1]]) for pair in wanted}
    numbers = keys.make_edges(connection, places.values())
    connection.executemany(
        "UPDATE store_edges SET weight = ?, data = ? WHERE n = ?",
        [
            (
                round(float(data.get("weight", 1.0)) * keys.WEIGHT, 6),
                orjson.dumps({**before.get(pair, {}), **data}).decode(),
                numbers[places[pair]],
            )
            for pair, data in wanted.items()
        ],
    )


def remove_edges(connection: sqlite3.Connection, workspace: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Remove edges (in stored order); unknown ones are ignored."""
    names = keys.node_numbers(connection, workspace, {name for pair in pairs for name in pair})
    places = [(names[one], names[other]) for one, other in pairs if one in names and other in names]
    _remove_edges(connection, keys.edge_numbers(connection, places).values())


def _remove_edges(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Remove edges; those with mentions, which LightRAG reads and deletes itself, stay as their keys."""
    rows = [(number,) for number in numbers]
    connection.executemany("UPDATE store_edges SET present = 0, data = NULL WHERE n = ?", rows)
    connection.executemany(
        "DELETE FROM store_edges AS o WHERE n = ?"
        " AND NOT EXISTS (SELECT 1 FROM store_evidence m WHERE m.edge = o.n)",
        rows,
    )


def remove_nodes(connection: sqlite3.Connection, workspace: str, names: Iterable[str]) -> None:
    """Remove nodes and their edges; unknown ones are ignored."""
    rows = [(number,) for number in keys.node_numbers(connection, workspace, names).values()]
    for column in ("source", "target"):
        for row in rows:
            found = connection.execute(f"SELECT n FROM store_edges WHERE {column} = ?", row).fetchall()
            _remove_edges(connection, [number for (number,) in found])
    connection.executemany("UPDATE store_nodes SET present = 0, data = NULL WHERE n = ?", rows)
    connection.executemany(
        "DELETE FROM store_nodes AS o WHERE n = ?"
        " AND NOT EXISTS (SELECT 1 FROM store_mentions m WHERE m.node = o.n)"
        " AND NOT EXISTS (SELECT 1 FROM store_edges e WHERE e.source = o.n)"
        " AND NOT EXISTS (SELECT 1 FROM store_edges e WHERE e.target = o.n)",
        rows,
    )


def select_connected(
    connection: sqlite3.Connection, columns: str, condition: str, workspace: str, limit: int
) -> list[tuple[Any, ...]]:
    """Return columns of the most connected nodes (the rows `o`) that meet a condition, by degree and name."""
    query = f"SELECT {columns} FROM store_nodes AS o WHERE o.space = {SPACE} AND {condition} AND {{}}"
    for degree in ("degree > 1", "1"):
        rows = connection.execute(
            f"{query.format(degree)} ORDER BY o.degree DESC, o.id LIMIT ?", (workspace, limit)
        ).fetchall()
        # The index has those with two relations or more.
        if len(rows) == limit:
            break
    return rows


def most_connected(connection: sqlite3.Connection, workspace: str, limit: int) -> list[str]:
    """Return the names of the most connected nodes."""
    return [name for (name,) in select_connected(connection, "id", "present", workspace, limit)]


def walk_graph(
    connection: sqlite3.Connection, workspace: str, label: str, *, depth: int, limit: int
) -> dict[str, Any]:
    """Return LightRAG's graph document {nodes, edges, is_truncated}: a breadth-first walk from the label.

    Within a level the most connected nodes come first. An unknown label gives an empty graph.
    """
    truncated = False
    if label == ALL:
        kept = most_connected(connection, workspace, limit + 1)
        truncated = len(kept) > limit
        kept = kept[:limit]
    else:
        kept = [label] if degrees(connection, workspace, [label]) else []
        seen = set(kept)
        level = kept
        for _ in range(depth):
            following = {
                other for others in adjacent(connection, workspace, level).values() for other in others
            } - seen
            by_degree = degrees(connection, workspace, following)
            level = sorted(by_degree, key=lambda name: (-by_degree[name], name))
            room = limit - len(kept)
            truncated = truncated or len(level) > room
            level = level[:room]
            kept = kept + level
            seen.update(level)
            if not level:
                break
    properties = {name: data for name, data, _ in nodes(connection, workspace, kept)}
    inside = set(kept)
    pairs = {
        (name, other)
        for name, others in adjacent(connection, workspace, kept).items()
        for other in others
        if other in inside and name < other
    }
    return {
        "nodes": [
            {"id": name, "labels": [name], "properties": properties[name]}
            for name in kept
            if name in properties
        ],
        "edges": [
            {
                "id": f"{source}-{target}",
                "type": "DIRECTED",
                "source": source,
                "target": target,
                "properties": data,
            }
            for (source, target), data in edges(connection, workspace, sorted(pairs))
        ],
        "is_truncated": truncated,
    }
