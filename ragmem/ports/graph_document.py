"""A subgraph as LightRAG's document {nodes, edges, is_truncated}, for any store."""

from collections.abc import Mapping
from typing import Any

from ragmem.domain.model import Entity, Relation
from ragmem.ports import Graph, Store

ALL = "*"
"""The label of the whole graph: the most connected entities."""

EVERY = 2**31
"""More than any entity has relations."""


def graph_document(
    store: Store, label: str, *, depth: int = 2, limit: int = 200, project: str | None = None
) -> Mapping[str, Any]:
    """Return at most `limit` entities within `depth` relations of a label, and the relations between them.

    An unknown label gives an empty document. LightRAG adds its own properties, and ids "project/name" for the
    graphs of several projects (None: all).
    """
    if store.native is not None:
        return store.native.subgraph(label, depth=depth, limit=limit, project=project)
    return walk_graph(store, label, depth=depth, limit=limit, project=project)


def walk_graph(store: Graph, label: str, *, depth: int, limit: int, project: str | None) -> Mapping[str, Any]:
    """Return the document of a breadth-first walk, which works with any store."""
    if label == ALL:
        found = {one.name: one for one, _ in store.entities(limit=limit + 1, project=project)}
    else:
        begins = store.entities(label, limit=EVERY, project=project)
        found = {one.name: one for one, _ in begins if one.name == label}
    relations: dict[tuple[str, str], Relation] = {}
    level = list(found)
    for distance in range(1 if label == ALL else depth + 1):
        following: dict[str, Entity] = {}
        for name in level:
            for relation, other in store.neighbours(name, limit=EVERY, project=project):
                relations[relation.source, relation.target] = relation
                following[other.name] = other
        if label != ALL and distance < depth:
            level = [name for name in following if name not in found]
            found |= {name: following[name] for name in level}
    kept = list(found.values())[:limit]
    inside = {one.name for one in kept}
    return {
        "nodes": [
            {
                "id": one.name,
                "labels": [one.name],
                "properties": {"entity_type": one.type, "description": one.description},
            }
            for one in kept
        ],
        "edges": [
            {
                "id": f"{one.source}-{one.target}",
                "type": "DIRECTED",
                "source": one.source,
                "target": one.target,
                "properties": {"weight": one.weight, "keywords": one.keywords},
            }
            for one in relations.values()
            if one.source in inside and one.target in inside
        ],
        "is_truncated": len(found) > limit,
    }
