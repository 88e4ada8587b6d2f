"""Reads of the graph and counts, straight from the tables."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragmem.backends.lightrag.rows import evidence, graph_sql, keys, names, vectors, views
from ragmem.backends.lightrag.rows.keys import LISTED, SPACE, has_id, listed
from ragmem.domain.model import Entity, Relation
from ragmem.errors import BackendError
from ragmem.storage.sql.batches import batches, marks

NODES_BY_PREFIX = (
    f"SELECT n FROM store_nodes WHERE space = {SPACE} AND lowered >= ? AND lowered < ?"
    f" UNION ALL SELECT n FROM store_nodes WHERE space = {SPACE}"
    " AND id >= ? COLLATE NOCASE AND id < ? COLLATE NOCASE AND +lowered IS NULL"
)
"""The numbers of entities between two names in lower case; parameters: workspace, first, end; these again."""

_LAST_CHARACTER = "\U0010ffff"

_COUNTS = {
    "documents": f"SELECT count(*) FROM {views.STATUSES}",
    "chunks": "SELECT count(*) FROM store_chunks WHERE id <> ''",
    "vectors": (
        f"SELECT (SELECT count(*) FROM {vectors.OF_CHUNKS}) + (SELECT count(*) FROM {vectors.OF_NAMES})"
    ),
    "entities": "SELECT count(*) FROM store_nodes WHERE present",
    "relations": "SELECT count(*) FROM store_edges WHERE present",
    "workspaces": f"SELECT count(DISTINCT workspace) FROM {views.STATUSES}",
}

NO_STATISTICS: Mapping[str, int] = dict.fromkeys(_COUNTS, 0)
"""The counts of a store that was never written to."""


def statistics(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the number of rows of each kind."""
    return {name: connection.execute(statement).fetchone()[0] for name, statement in _COUNTS.items()}


def vector_models(connection: sqlite3.Connection) -> dict[tuple[str, int], int]:
    """Return how many vectors there are by model and number of dimensions, most first; reads all rows."""
    found: Counter[tuple[str, int]] = Counter()
    for _, model, dimensions, count in vectors.count(connection):
        found[model, dimensions] += count
    return dict(found.most_common())


def dimensions_of(connection: sqlite3.Connection, model: str) -> int:
    """Return the number of dimensions of this model's vectors; 0 if no chunk has one."""
    row = connection.execute(
        f"SELECT length(v.vector) FROM {vectors.of_model(names.CHUNKS)} LIMIT 1", (names.CHUNKS, model)
    ).fetchone()
    return int(row[0]) if row is not None else 0


def vectors_of_chunks(connection: sqlite3.Connection, chunk_ids: Sequence[str]) -> dict[int, str]:
    """Return sequence number -> chunk of the vectors of these chunks, of any model."""
    return dict(
        connection.execute(
            f"SELECT v.seq, c.id FROM {LISTED} AS w CROSS JOIN store_chunks AS c ON {has_id('c', 'w.value')}"
            f" CROSS JOIN {vectors.OF_CHUNKS} AS v ON v.chunk = c.n",
            (listed(dict.fromkeys(chunk_ids)),),
        ).fetchall()
    )


def refuse_other_length(connection: sqlite3.Connection, namespace: str, model: str, dimensions: int) -> None:
    """Raise BackendError where all vectors of this model have another number of dimensions.

    Else a server with another model under the same name would hide all stored vectors.
    """
    ours = f"SELECT length(v.vector) FROM {vectors.of_model(namespace)}"
    made = connection.execute(f"{ours} LIMIT 1", (namespace, model)).fetchone()
    if made is None or made[0] == dimensions:
        return
    if connection.execute(
        f"{ours} AND length(v.vector) = ? LIMIT 1", (namespace, model, dimensions)
    ).fetchone():
        return
    raise BackendError(
        f'the vectors have {made[0]} dimensions, but "{model}" now makes {dimensions}',
        hint="run `ragmem doctor --repair` to make them again, or restore the former model",
    )


def content_hashes(connection: sqlite3.Connection, ids: Iterable[str]) -> dict[tuple[str, str], str]:
    """Return the stored fingerprint of each memory by (project, id), in whatever projects it is."""
    found: dict[tuple[str, str], str] = {}
    for part in batches(ids):
        for project, key, value in connection.execute(
            "SELECT s.name, d.id, d.fingerprint FROM store_documents AS d"
            f" JOIN store_spaces AS s ON s.n = d.space WHERE d.id IN ({marks(part)})",
            part,
        ):
            found[project, key] = value
    return found


def _workspaces(connection: sqlite3.Connection, project: str | None) -> list[str]:
    if project is not None:
        return [project]
    rows = connection.execute(
        "SELECT name FROM store_spaces AS s"
        " WHERE EXISTS (SELECT 1 FROM store_nodes AS o WHERE o.space = s.n AND o.present) ORDER BY name"
    )
    return [workspace for (workspace,) in rows]


def entity(name: str, data: Mapping[str, Any]) -> Entity:
    """Return the entity of a node's attributes."""
    return Entity(
        name=name,
        type=str(data.get("entity_type", "UNKNOWN")),
        description=_readable(data.get("description")),
    )


def relation(source: str, target: str, weight: float, data: Mapping[str, Any]) -> Relation:
    """Return the relation of an edge's attributes."""
    return Relation(
        source=source,
        target=target,
        keywords=str(data.get("keywords", "")),
        description=_readable(data.get("description")),
        weight=weight,
    )


def _readable(description: object) -> str:
    return "\n".join(str(description or "").split(names.SEPARATOR))


def memory_ids(connection: sqlite3.Connection) -> set[str]:
    """Return the ids of all memories."""
    return {key for (key,) in connection.execute(f"SELECT id FROM {views.STATUSES}")}


def entities(
    connection: sqlite3.Connection, prefix: str, *, limit: int, project: str | None, described: bool = True
) -> list[tuple[Entity, int]]:
    """Return entities by prefix with their degree, most connected first."""
    folded = prefix.lower()
    found: list[list[tuple[Entity, int]]] = []
    for workspace in _workspaces(connection, project):
        if folded:
            rows = connection.execute(
                f"SELECT {evidence.NODE} FROM store_nodes AS o"
                f" WHERE +space = {SPACE} AND n IN ({NODES_BY_PREFIX}) AND present"
                " ORDER BY degree DESC, id LIMIT ?",
                (workspace, *(workspace, folded, folded + _LAST_CHARACTER) * 2, limit),
            ).fetchall()
        else:
            rows = graph_sql.select_connected(connection, evidence.NODE, "o.present", workspace, limit)
        made = evidence.nodes(connection, workspace, rows) if described else evidence.undescribed(rows)
        found.append([(entity(name, data), degree) for name, data, degree in made])
    return merge_entities(found, limit)


def merge_entities(found: Sequence[Sequence[tuple[Entity, int]]], limit: int) -> list[tuple[Entity, int]]:
    """Return the entities of several projects as one list: one of the same name has all its relations."""
    degrees: dict[str, int] = {}
    described: dict[str, Entity] = {}
    for one, degree in sorted((pair for part in found for pair in part), key=lambda pair: -pair[1]):
        degrees[one.name] = degrees.get(one.name, 0) + degree
        described.setdefault(one.name, one)
    leading = sorted(degrees, key=lambda name: (-degrees[name], name))[:limit]
    return [(described[name], degrees[name]) for name in leading]


_EDGES_OF = (
    "store_edges AS o JOIN store_nodes AS near ON near.n = o.source"
    " JOIN store_nodes AS far ON far.n = o.target"
    " WHERE o.{} = ? AND o.present"
)


def neighbours(
    connection: sqlite3.Connection, name: str, *, limit: int, project: str | None
) -> list[tuple[Relation, Entity]]:
    """Return the relations of an entity and the entities at their other end, heaviest first."""
    found: list[tuple[Relation, Entity]] = []
    for workspace in _workspaces(connection, project):
        number = keys.node_numbers(connection, workspace, [name]).get(name)
        rows = connection.execute(
            f"SELECT {evidence.EDGE} FROM {_EDGES_OF.format('source')}"
            f" UNION ALL SELECT {evidence.EDGE} FROM {_EDGES_OF.format('target')}"
            " ORDER BY 4 DESC, 2, 3 LIMIT ?",
            (number, number, limit),
        ).fetchall()
        edges = list(evidence.edges(connection, workspace, rows))
        others = [target if source == name else source for source, target, _, _ in edges]
        data_of = {key: data for key, data, _ in graph_sql.nodes(connection, workspace, others)}
        for other, (source, target, data, weight) in zip(others, edges, strict=True):
            edge = relation(source, target, weight, data)
            found.append((edge, entity(other, data_of.get(other, {}))))
    found.sort(key=lambda pair: (-pair[0].weight, pair[0].source, pair[0].target))
    return found[:limit]


def subgraph(
    connection: sqlite3.Connection, label: str, *, depth: int, limit: int, project: str | None
) -> dict[str, Any]:
    """Return the graph around a label; of all projects, side by side, each id is then "project/name"."""
    if project is not None:
        return graph_sql.walk_graph(connection, project, label, depth=depth, limit=limit)
    found: list[tuple[str, dict[str, Any]]] = []
    room = limit
    workspaces = _workspaces(connection, None)
    for left, workspace in zip(range(len(workspaces), 0, -1), workspaces, strict=True):
        if room <= 0:
            found.append((workspace, {"nodes": [], "edges": [], "is_truncated": True}))
            break
        # The first project must not take all the room.
        share = -(-room // left) if label == graph_sql.ALL else room
        graph = graph_sql.walk_graph(connection, workspace, label, depth=depth, limit=share)
        found.append((workspace, graph))
        room -= len(graph["nodes"])
    return merge_subgraphs(found)


def merge_subgraphs(found: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Return the graphs of several projects side by side; each id is then "project/name"."""
    joined: dict[str, Any] = {"nodes": [], "edges": [], "is_truncated": False}
    for project, graph in found:
        joined["is_truncated"] = joined["is_truncated"] or graph["is_truncated"]
        joined["nodes"] += [{**node, "id": f"{project}/{node['id']}"} for node in graph["nodes"]]
        for edge in graph["edges"]:
            source, target = f"{project}/{edge['source']}", f"{project}/{edge['target']}"
            joined["edges"].append({**edge, "source": source, "target": target, "id": f"{source}-{target}"})
    return joined
