"""The relations of entities that a query gets to see: the ones that it would keep of all."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ragmem.backends.lightrag.rows import graph_sql
from ragmem.backends.lightrag.rows.graph_sql import sort_pair

RELATIONS_OF_A_QUERY = 400
"""Relations of entities that a query gets, best first. It keeps those that fit its budget of 8,000 tokens,
and none takes less than twenty."""

HUB_DEGREE = 2_000
"""Edges of one node that a query ranks one by one; it takes 2 us for each."""

_limit: ContextVar[int | None] = ContextVar("relations_of_a_query", default=None)


@contextmanager
def answering() -> Iterator[None]:
    """Say that relations are read for a query, for which the leading ones are enough.

    LightRAG asks with the same method for a query and for a deletion, which must see all of them.
    """
    token = _limit.set(RELATIONS_OF_A_QUERY)
    try:
        yield
    finally:
        _limit.reset(token)


_EDGES_OF = tuple(
    f"""
    SELECT {far}, degree, weight FROM store_edges CROSS JOIN store_nodes
    ON store_nodes.workspace = store_edges.workspace AND id = {far}
    WHERE store_edges.workspace = :workspace AND {near} = :name
    ORDER BY degree DESC, weight DESC LIMIT :limit
    """
    for near, far in (("source", "target"), ("target", "source"))
)

_TO_POPULAR = tuple(
    f"""
    SELECT {far}, degree, weight FROM (
      SELECT id, degree FROM store_nodes WHERE workspace = :workspace ORDER BY degree DESC LIMIT :popular
    ) CROSS JOIN store_edges ON workspace = :workspace AND {near} = :name AND {far} = id
    ORDER BY degree DESC, weight DESC LIMIT :limit
    """
    for near, far in (("source", "target"), ("target", "source"))
) + tuple(
    f"""
    SELECT {far}, degree, edge.weight FROM (
      SELECT {far}, weight FROM store_edges WHERE workspace = :workspace AND {near} = :name LIMIT :limit
    ) AS edge CROSS JOIN store_nodes ON workspace = :workspace AND id = {far}
    """
    for near, far in (("source", "target"), ("target", "source"))
)


def relevant(connection: sqlite3.Connection, workspace: str, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the names at the other end of each node's edges; while `answering`, of the leading ones."""
    limit = _limit.get()
    if limit is None:
        return graph_sql.adjacent(connection, workspace, names)
    return leading(connection, workspace, names, limit)


def leading(
    connection: sqlite3.Connection, workspace: str, names: Iterable[str], limit: int
) -> dict[str, list[str]]:
    """Return the other ends of the edges with the highest rank of all that these nodes have, `limit` in all.

    The rank is LightRAG's: the sum of both degrees, then the weight. Of a hub with more than `HUB_DEGREE`
    edges, only those to the most connected nodes are looked at, and `limit` of the others.
    """
    degree = graph_sql.degrees(connection, workspace, names)
    found: dict[tuple[str, str], tuple[int, float]] = {}
    for name in degree:
        statements = _TO_POPULAR if degree[name] > HUB_DEGREE else _EDGES_OF
        values = {"workspace": workspace, "name": name, "popular": HUB_DEGREE, "limit": limit}
        for statement in statements:
            for other, far, weight in connection.execute(statement, values):
                found[sort_pair(name, other)] = (degree[name] + far, weight)
    kept = sorted(found, key=lambda pair: (*found[pair], *pair), reverse=True)[:limit]
    others: dict[str, list[str]] = {name: [] for name in degree}
    for one, other in kept:
        if one in others:
            others[one].append(other)
        if other in others and other != one:
            others[other].append(one)
    return others
