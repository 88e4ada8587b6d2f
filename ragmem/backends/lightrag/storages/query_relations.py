"""The highest ranked relations of entities, the only ones that a query would keep."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ragmem.backends.lightrag.rows import graph_sql
from ragmem.backends.lightrag.rows.keys import has_name, sort_pair

RELATIONS_OF_A_QUERY = 400
"""Most relations for a query, best first. It keeps those that fit its budget of 8,000 tokens, and each takes
twenty or more."""

HUB_DEGREE = 2_000
"""Most edges of one node that are all ranked, which takes 2 us for each."""

_limit: ContextVar[int | None] = ContextVar("relations_of_a_query", default=None)


@contextmanager
def limit_relations() -> Iterator[None]:
    """Limit relations to the highest ranked ones, which are enough for a query.

    LightRAG calls the same method for a query and for a deletion, which needs all of them.
    """
    token = _limit.set(RELATIONS_OF_A_QUERY)
    try:
        yield
    finally:
        _limit.reset(token)


_NEAR = (
    f"(SELECT o.n FROM store_nodes AS o WHERE {has_name('o', ':name')}"
    " AND o.space = (SELECT n FROM store_spaces WHERE name = :workspace))"
)

_EDGES_OF = tuple(
    f"""
    SELECT far.id, far.degree, o.weight FROM store_edges AS o CROSS JOIN store_nodes AS far ON far.n = o.{far}
    WHERE o.{near} = {_NEAR} AND o.present ORDER BY far.degree DESC, o.weight DESC LIMIT :limit
    """
    for near, far in (("source", "target"), ("target", "source"))
)

_TO_POPULAR = tuple(
    f"""
    SELECT far.id, far.degree, o.weight FROM (
      SELECT n, id, degree FROM store_nodes
      WHERE space = (SELECT n FROM store_spaces WHERE name = :workspace) AND degree > 1
      ORDER BY degree DESC LIMIT :popular
    ) AS far CROSS JOIN store_edges AS o ON o.{near} = {_NEAR} AND o.{far} = far.n AND o.present
    ORDER BY far.degree DESC, o.weight DESC LIMIT :limit
    """
    for near, far in (("source", "target"), ("target", "source"))
) + tuple(
    f"""
    SELECT far.id, far.degree, edge.weight FROM (
      SELECT {far} AS other, weight FROM store_edges WHERE {near} = {_NEAR} AND present LIMIT :limit
    ) AS edge CROSS JOIN store_nodes AS far ON far.n = edge.other
    """
    for near, far in (("source", "target"), ("target", "source"))
)


def adjacent_nodes(
    connection: sqlite3.Connection, workspace: str, names: Iterable[str]
) -> dict[str, list[str]]:
    """Return the names at the other end of each node's edges; within `limit_relations`, of the top ones."""
    limit = _limit.get()
    if limit is None:
        return graph_sql.adjacent(connection, workspace, names)
    return top_relations(connection, workspace, names, limit)


def top_relations(
    connection: sqlite3.Connection, workspace: str, names: Iterable[str], limit: int
) -> dict[str, list[str]]:
    """Return the other ends of the `limit` highest ranked edges of these nodes together.

    The rank is LightRAG's: the sum of both degrees, then the weight. For a hub with more than `HUB_DEGREE`
    edges, only those to the most connected nodes are ranked, and `limit` of the others.
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
