"""Export the graph of some projects, or around an entity, to a file."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from typing import IO, Any

from ragmem.charts.svg_parts import replace_forbidden
from ragmem.domain.model import Entity, Relation
from ragmem.domain.secrets.redaction import Redactor
from ragmem.ports.graph_document import graph_document
from ragmem.services.graph.files import Edge, GraphFormat, Node, open_graph
from ragmem.services.graph.scope import GraphScope
from ragmem.storage.sql.batches import batches

AROUND = 1_000
"""Default number of entities around one."""

PICTURED, DRAWN = 60, 500
"""Maximum entities and relations of a readable Mermaid diagram; Mermaid rejects more than 500 edges."""

SEPARATOR = "<SEP>"
"""Separates the descriptions in LightRAG's graph document."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The number of exported entities and relations, and whether the graph has more."""

    entities: int
    relations: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class _Selection:
    """The selection of entities and relations, each with its project."""

    projects: tuple[str, ...]
    entities: Iterable[tuple[str, Entity]]
    relations: Iterable[tuple[str, Relation]]
    truncated: bool = False


@dataclass(slots=True)
class _Names:
    """Entities -> their unique names in the file, without secrets."""

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
    form: GraphFormat,
    file: IO[bytes],
    *,
    around: str = "",
    depth: int = 2,
    limit: int | None = None,
    redactor: Redactor,
) -> ExportReport:
    """Write the graph to a file; at most `limit` entities, the most connected or nearest to `around`.

    Secrets are replaced. Names in the file are unique: with several projects they start with the project.
    Of a whole graph only the names are kept in memory, if the store streams it. Concurrent writes may or may
    not be included. Raises NotFoundError for an unknown entity.
    """
    most = limit or (PICTURED if form == "mermaid" else None)
    if around:
        chosen = _neighbourhood(scope, around, depth=depth, most=most or AROUND)
    elif most:
        chosen = _top(scope, most)
    else:
        chosen = _select_all(scope)
    names = _Names(several=len(chosen.projects) > 1)
    output = open_graph(form, file)
    entities = drawn = 0
    truncated = chosen.truncated
    with output:
        for node in _nodes(chosen.entities, names, redactor=redactor):
            output.node(node)
            entities += 1
        relations = _relations_within(chosen.relations, names)
        if form == "mermaid":
            heaviest = nlargest(DRAWN + 1, relations, key=lambda pair: pair[1].weight)
            truncated = truncated or len(heaviest) > DRAWN
            relations = iter(heaviest[:DRAWN])
        for edge in _edges(relations, names, redactor=redactor):
            output.edge(edge)
            drawn += 1
    return ExportReport(entities, drawn, truncated)


def _select_all(scope: GraphScope) -> _Selection:
    store = scope.store
    return _Selection(
        scope.projects,
        ((project, entity) for project in scope.projects for entity, _ in store.nodes(project)),
        _every_relation(scope),
    )


def _every_relation(scope: GraphScope) -> Iterator[tuple[str, Relation]]:
    store = scope.store
    return ((project, relation) for project in scope.projects for relation in store.edges(project))


def _top(scope: GraphScope, most: int) -> _Selection:
    places = scope.top(most + 1)
    return _Selection(
        tuple(dict.fromkeys(place.project for place in places[:most])),
        [(place.project, place.entity) for place in places[:most]],
        _every_relation(scope),
        truncated=len(places) > most,
    )


def _neighbourhood(scope: GraphScope, name: str, *, depth: int, most: int) -> _Selection:
    entities: list[tuple[str, Entity]] = []
    relations: list[tuple[str, Relation]] = []
    truncated = False
    places = scope.find(name)
    for place in places:
        if len(entities) >= most:
            truncated = True
            break
        graph = graph_document(
            scope.store, place.entity.name, depth=depth, limit=most - len(entities), project=place.project
        )
        truncated = truncated or bool(graph["is_truncated"])
        entities += [(place.project, _entity(node)) for node in graph["nodes"]]
        relations += [(place.project, _relation(edge)) for edge in graph["edges"]]
    return _Selection(tuple(place.project for place in places), entities, relations, truncated)


def _entity(node: Mapping[str, Any]) -> Entity:
    known = node["properties"]
    return Entity(str(node["id"]), str(known.get("entity_type", "UNKNOWN")), _description(known))


def _relation(edge: Mapping[str, Any]) -> Relation:
    known = edge["properties"]
    return Relation(
        str(edge["source"]),
        str(edge["target"]),
        str(known.get("keywords", "")),
        _description(known),
        float(known.get("weight", 1.0)),
    )


def _description(known: Mapping[str, Any]) -> str:
    return str(known.get("description", "")).replace(SEPARATOR, "\n")


def _nodes(entities: Iterable[tuple[str, Entity]], names: _Names, redactor: Redactor) -> Iterator[Node]:
    for batch in batches(entities):
        shown = redactor.redact_document(
            [{"name": one.name, "type": one.type, "description": one.description} for _, one in batch]
        )
        for (project, one), safe in zip(batch, shown, strict=True):
            name = names.give(project, one.name, replace_forbidden(safe["name"]))
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


def _relations_within(
    relations: Iterable[tuple[str, Relation]], names: _Names
) -> Iterator[tuple[str, Relation]]:
    """Yield the relations with both ends in the file."""
    known = names.given
    return (
        (project, one)
        for project, one in relations
        if (project, one.source) in known and (project, one.target) in known
    )
