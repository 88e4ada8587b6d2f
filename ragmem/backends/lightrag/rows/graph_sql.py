"""The statements on the graph's tables, shared by LightRAG's storage and the direct reads."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import orjson

from ragmem.storage.sql.batches import PARAMETERS, batches

ALL = "*"
"""The label that stands for the most connected entities."""


def sort_pair(one: str, other: str) -> tuple[str, str]:
    """Return the two ends of an edge in stored order: edges have no direction."""
    return (one, other) if one <= other else (other, one)


# To read many rows, their keys are the outer loop (CROSS JOIN keeps the order). With `IN` and a long list,
# SQLite would read the whole table, or all of an index that begins with the workspace.


def values_table(rows: Sequence[str | tuple[str, str]]) -> str:
    """Return a table of parameters, `(VALUES (?), ...)`; its columns are column1 and, for pairs, column2."""
    row = "(?)" if isinstance(rows[0], str) else "(?, ?)"
    return f"(VALUES {', '.join([row] * len(rows))})"


def nodes(
    connection: sqlite3.Connection, workspace: str, names: Iterable[str]
) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Yield (name, attributes, degree) of those nodes that exist."""
    for part in batches(dict.fromkeys(names)):
        for name, data, degree in connection.execute(
            f"SELECT id, data, degree FROM {values_table(part)} CROSS JOIN store_nodes"
            " ON workspace = ? AND id = column1",
            (*part, workspace),
        ):
            yield name, orjson.loads(data), degree


def degrees(connection: sqlite3.Connection, workspace: str, names: Iterable[str]) -> dict[str, int]:
    """Return the degrees of those nodes that exist."""
    found: dict[str, int] = {}
    for part in batches(dict.fromkeys(names)):
        found.update(
            connection.execute(
                f"SELECT id, degree FROM {values_table(part)} CROSS JOIN store_nodes"
                " ON workspace = ? AND id = column1",
                (*part, workspace),
            ).fetchall()
        )
    return found


def edges(
    connection: sqlite3.Connection, workspace: str, pairs: Iterable[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """Yield ((source, target), attributes) of those edges that exist; the pairs are in stored order."""
    for part in batches(dict.fromkeys(pairs), PARAMETERS // 2):
        for source, target, data in connection.execute(
            f"SELECT source, target, data FROM {values_table(part)} CROSS JOIN store_edges"
            " ON workspace = ? AND source = column1 AND target = column2",
            (*chain.from_iterable(part), workspace),
        ):
            yield (source, target), orjson.loads(data)


def adjacent(connection: sqlite3.Connection, workspace: str, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the names at the other end of each node's edges."""
    found: dict[str, list[str]] = {}
    for part in batches(dict.fromkeys(names)):
        for near, far in (("source", "target"), ("target", "source")):
            for name, other in connection.execute(
                f"SELECT {near}, {far} FROM {values_table(part)} CROSS JOIN store_edges"
                f" ON workspace = ? AND {near} = column1",
                (*part, workspace),
            ):
                found.setdefault(name, []).append(other)
    return found


def remove_edges(connection: sqlite3.Connection, workspace: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Remove edges (in stored order); unknown ones are ignored."""
    connection.executemany(
        "DELETE FROM store_edges WHERE workspace = ? AND source = ? AND target = ?",
        [(workspace, *pair) for pair in pairs],
    )


def remove_nodes(connection: sqlite3.Connection, workspace: str, names: Iterable[str]) -> None:
    """Remove nodes and their edges; unknown ones are ignored."""
    rows = [(workspace, name) for name in names]
    connection.executemany("DELETE FROM store_edges WHERE workspace = ? AND source = ?", rows)
    connection.executemany("DELETE FROM store_edges WHERE workspace = ? AND target = ?", rows)
    connection.executemany("DELETE FROM store_nodes WHERE workspace = ? AND id = ?", rows)


def most_connected(connection: sqlite3.Connection, workspace: str, limit: int) -> list[str]:
    """Return the names of the most connected nodes."""
    rows = connection.execute(
        "SELECT id FROM store_nodes WHERE workspace = ? ORDER BY degree DESC, id LIMIT ?", (workspace, limit)
    )
    return [name for (name,) in rows]


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
