"""The graph as a file for other programs: of some projects, or of what is around an entity."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from typing import IO, Any

from ragmem.domain.model import Entity, Relation
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.graph.files import Edge, Form, Node, open_graph, writable
from ragmem.services.graph.scope import GraphScope
from ragmem.storage.sql.batches import batches

AROUND = 1_000
"""Entities around one that are exported unless a number is given."""

PICTURED, DRAWN = 60, 500
"""Entities and relations of a Mermaid diagram: more cannot be read, and above 500 edges Mermaid refuses."""

SEPARATOR = "<SEP>"
"""Stands between the descriptions in LightRAG's graph document."""


@dataclass(frozen=True, slots=True)
class Exported:
    """How much was written, and whether the graph has more than that."""

    entities: int
    relations: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What is to be written, with the project of each entity and relation."""

    projects: tuple[str, ...]
    entities: Iterable[tuple[str, Entity]]
    relations: Iterable[tuple[str, Relation]]
    truncated: bool = False


@dataclass(slots=True)
class _Names:
    """Entities -> their names in the file: without secrets, each another one."""

    several: bool
    given: dict[tuple[str, str], str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def give(self, project: str, name: str, shown: str) -> str:
        wanted = name_in_file = f"{project}/{shown}" if self.several else shown
        turn = 1
        while name_in_file in self.taken:
            turn += 1
            name_in_file = f"{wanted} ({turn})"
        self.taken.add(name_in_file)
        self.given[project, name] = name_in_file
        return name_in_file


def export_graph(
    scope: GraphScope,
    form: Form,
    file: IO[bytes],
    *,
    around: str = "",
    depth: int = 2,
    limit: int | None = None,
    redactor: Redactor,
) -> Exported:
    """Write the graph to a file; of `limit` entities, those most connected or nearest to `around`.

    Secrets are replaced. Names in the file are unique: with several projects each begins with its project.
    Of a whole graph no more than the names is held at once, as far as the store reads it so. What others
    write meanwhile may be in it or not. Raises NotFoundError for an unknown entity, BackendError where the
    store does not show its graph whole.
    """
    most = limit or (PICTURED if form == "mermaid" else None)
    if around:
        chosen = _around(scope, around, depth=depth, most=most or AROUND)
    elif most:
        chosen = _top(scope, most)
    else:
        chosen = _whole(scope)
    names = _Names(several=len(chosen.projects) > 1)
    output = open_graph(form, file)
    entities = drawn = 0
    truncated = chosen.truncated
    with output:
        for node in _nodes(chosen.entities, names, redactor=redactor):
            output.node(node)
            entities += 1
        relations = _between(chosen.relations, names)
        if form == "mermaid":
            heaviest = nlargest(DRAWN + 1, relations, key=lambda pair: pair[1].weight)
            truncated = truncated or len(heaviest) > DRAWN
            relations = iter(heaviest[:DRAWN])
        for edge in _edges(relations, names, redactor=redactor):
            output.edge(edge)
            drawn += 1
    return Exported(entities, drawn, truncated)


def _whole(scope: GraphScope) -> _Chosen:
    whole = scope.whole
    return _Chosen(
        scope.projects,
        ((project, entity) for project in scope.projects for entity, _ in whole.nodes(project)),
        _every_relation(scope),
    )


def _every_relation(scope: GraphScope) -> Iterator[tuple[str, Relation]]:
    whole = scope.whole
    return ((project, relation) for project in scope.projects for relation in whole.edges(project))


def _top(scope: GraphScope, most: int) -> _Chosen:
    places = scope.top(most + 1)
    return _Chosen(
        tuple(dict.fromkeys(place.project for place in places[:most])),
        [(place.project, place.entity) for place in places[:most]],
        _every_relation(scope),
        truncated=len(places) > most,
    )


def _around(scope: GraphScope, name: str, *, depth: int, most: int) -> _Chosen:
    entities: list[tuple[str, Entity]] = []
    relations: list[tuple[str, Relation]] = []
    truncated = False
    places = scope.find(name)
    for place in places:
        if len(entities) >= most:
            truncated = True
            break
        graph = scope.store.subgraph(
            place.entity.name, depth=depth, limit=most - len(entities), project=place.project
        )
        truncated = truncated or bool(graph["is_truncated"])
        entities += [(place.project, _entity(node)) for node in graph["nodes"]]
        relations += [(place.project, _relation(edge)) for edge in graph["edges"]]
    return _Chosen(tuple(place.project for place in places), entities, relations, truncated)


def _entity(node: Mapping[str, Any]) -> Entity:
    known = node["properties"]
    return Entity(str(node["id"]), str(known.get("entity_type", "UNKNOWN")), _readable(known))


def _relation(edge: Mapping[str, Any]) -> Relation:
    known = edge["properties"]
    return Relation(
        str(edge["source"]),
        str(edge["target"]),
        str(known.get("keywords", "")),
        _readable(known),
        float(known.get("weight", 1.0)),
    )


def _readable(known: Mapping[str, Any]) -> str:
    return str(known.get("description", "")).replace(SEPARATOR, "\n")


def _nodes(entities: Iterable[tuple[str, Entity]], names: _Names, redactor: Redactor) -> Iterator[Node]:
    for batch in batches(entities):
        shown = redactor.redact_document(
            [{"name": one.name, "type": one.type, "description": one.description} for _, one in batch]
        )
        for (project, one), safe in zip(batch, shown, strict=True):
            name = names.give(project, one.name, writable(safe["name"]))
            yield Node(name, safe["name"], safe["type"], safe["description"], project)


def _edges(relations: Iterable[tuple[str, Relation]], names: _Names, redactor: Redactor) -> Iterator[Edge]:
    for batch in batches(relations):
        shown = redactor.redact_document(
            [{"keywords": one.keywords, "description": one.description} for _, one in batch]
        )
        for (project, one), safe in zip(batch, shown, strict=True):
            yield Edge(
                names.given[project, one.source],
                names.given[project, one.target],
                one.weight,
                safe["keywords"],
                safe["description"],
            )


def _between(relations: Iterable[tuple[str, Relation]], names: _Names) -> Iterator[tuple[str, Relation]]:
    """Yield the relations both of whose ends are in the file."""
    known = names.given
    return (
        (project, one)
        for project, one in relations
        if (project, one.source) in known and (project, one.target) in known
    )
