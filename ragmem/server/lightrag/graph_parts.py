"""Entities and relations of a project's graph by name, with the statements of the user."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.domain.entities.user_statements import (
    SOURCE,
    UserEntity,
    UserRelation,
    UserStatement,
    entity_uri,
    id_of,
    relation_uri,
    user_statements_of,
)
from ragmem.errors import ConflictError, NotFoundError
from ragmem.ports.graph_document import graph_document
from ragmem.server.http.answers import memory_ids_in
from ragmem.server.http.handlers import is_stored
from ragmem.services.ingestion.scope import resolve_project


@dataclass(frozen=True, slots=True)
class Place:
    """An entity of one project's graph."""

    project: str
    name: str
    properties: Mapping[str, Any]

    @property
    def type(self) -> str:
        """Its type according to texts."""
        return str(self.properties.get("entity_type", ""))


def find(memory: Ragmem, name: str, project: str) -> Place:
    """Return the entity of a name, in the given project or else in the only one that has it.

    A name may begin with the project, like the ids in a document of several graphs. Raises NotFoundError, and
    ConflictError if several projects have the name.
    """
    if is_stored(memory):
        found = _find_places(memory, name, memory.projects.resolve([project])[0] if project else None)
        if not found and not project and "/" in name:
            first, _, rest = name.partition("/")
            try:
                found = _find_places(memory, rest, resolve_project(memory.catalog, first))
            except NotFoundError:
                found = []
        if len(found) > 1:
            several = ", ".join(sorted(one.project for one in found))
            raise ConflictError(f'several projects have "{name}": {several}', hint="name one: `project`")
        if found:
            return found[0]
    raise NotFoundError(f'there is no entity "{name}"', hint="GET /graph/label/search finds names")


def _find_places(memory: Ragmem, name: str, project: str | None) -> list[Place]:
    if not name or name == "*":
        return []
    nodes = graph_document(memory.store, name, depth=0, limit=100, project=project)["nodes"]
    places = []
    for node in nodes:
        holder = project if project is not None else str(node["id"]).partition("/")[0]
        places.append(Place(holder, name, node["properties"]))
    return places


def relation_of(memory: Ragmem, source: Place, target: Place) -> Mapping[str, Any] | None:
    """Return the properties of the relation between two entities of one project; None for no relation."""
    ends = {source.name, target.name}
    edges = relations_of(memory, source)
    return next((edge["properties"] for edge in edges if {edge["source"], edge["target"]} == ends), None)


def relations_of(memory: Ragmem, place: Place) -> list[Mapping[str, Any]]:
    """Return the relations of an entity."""
    around = graph_document(memory.store, place.name, depth=1, limit=10_000, project=place.project)
    return [edge for edge in around["edges"] if place.name in {edge["source"], edge["target"]}]


def user_statement(memory: Ragmem, project: str, uri: str) -> UserStatement | None:
    """Return the statement of a uri; None if there is none."""
    key = present_id(memory, project, uri)
    found = memory.catalog.memories.get([key]).get(key)
    return user_statements_of(found) if found is not None and found.scope.project == project else None


def with_statements(memory: Ragmem, document: Mapping[str, Any], project: str | None) -> Mapping[str, Any]:
    """Return a graph document in which statements replace the properties from texts."""
    if not memory.catalog.overview.places(sources=[SOURCE]):
        return document
    wanted: dict[str, tuple[dict[str, Any], str]] = {}
    for node in document["nodes"]:
        holder, name = _split(str(node["id"]), project)
        wanted[id_of(entity_uri(name), holder)] = (node, holder)
    for edge in document["edges"]:
        holder, one = _split(str(edge["source"]), project)
        other = _split(str(edge["target"]), project)[1]
        wanted[id_of(relation_uri(one, other), holder)] = (edge, holder)
    moved = memory.catalog.projects.moved_ids(list(wanted))
    known = memory.catalog.memories.get(moved.get(key, key) for key in wanted)
    for key, (part, holder) in wanted.items():
        found = known.get(moved.get(key, key))
        # A moved statement still has the id of its former project.
        if found is None or found.scope.project != holder:
            continue
        part["properties"] = {**part["properties"], **statement_properties(user_statements_of(found))}
    return document


def present_id(memory: Ragmem, project: str, uri: str) -> str:
    """Return the id of a project's statement, also if it was moved there."""
    place = id_of(uri, project)
    return memory.catalog.projects.moved_ids([place]).get(place, place)


def distinguish_nodes(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a graph document in which `entity_id` of nodes with the same name is the id with the project.

    LightRAG's page sends the property `entity_id` in its edits.
    """
    holders = Counter(label for node in document["nodes"] for label in node["labels"])
    for node in document["nodes"]:
        if any(holders[label] > 1 for label in node["labels"]):
            node["properties"] = {**node["properties"], "entity_id": node["id"]}
    return document


def statement_properties(stated: UserStatement | None) -> dict[str, str]:
    """Return the properties that a statement sets."""
    match stated:
        case UserEntity():
            properties = {"entity_type": stated.type, "description": stated.description}
        case UserRelation():
            properties = {"description": stated.description, "keywords": stated.keywords}
        case _:
            properties = {}
    return {key: value for key, value in properties.items() if value}


def _split(identifier: str, project: str | None) -> tuple[str, str]:
    if project is not None:
        return project, identifier
    holder, _, name = identifier.partition("/")
    return holder, name


def supporting_memories(memory: Ragmem, parts: Iterable[Mapping[str, Any]]) -> tuple[list[str], int]:
    """Return the statements of parts of the graph, and the number of other memories that support them."""
    ids = {key for one in parts for key in memory_ids_in(str(one.get("file_path", "")))}
    outlines = memory.catalog.memories.outlines(ids)
    stated = [key for key, one in outlines.items() if one.source == SOURCE]
    return stated, len(outlines) - len(stated)
