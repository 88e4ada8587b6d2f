"""The parts of a project's graph as they are shown: found by name, with what a person states of them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.domain.entities.user_statements import (
    SOURCE,
    Stated,
    UserEntity,
    UserRelation,
    entity_uri,
    id_of,
    relation_uri,
    user_statements_of,
)
from ragmem.errors import ConflictError, NotFoundError
from ragmem.ports.graph_document import graph_document
from ragmem.server.http.answers import memory_ids_in
from ragmem.server.http.handlers import readable
from ragmem.services.ingestion.scope import named_project


@dataclass(frozen=True, slots=True)
class Place:
    """An entity of one project's graph."""

    project: str
    name: str
    properties: Mapping[str, Any]

    @property
    def type(self) -> str:
        """The type that texts give it."""
        return str(self.properties.get("entity_type", ""))


def find(memory: Ragmem, name: str, project: str) -> Place:
    """Return the entity of a name: of the project that is named, else of the only one that has it.

    A name may begin with the project, as ids do where several graphs stand side by side. Raises
    NotFoundError, and ConflictError where several projects have it.
    """
    if readable(memory):
        found = _found(memory, name, memory.projects.resolve([project])[0] if project else None)
        if not found and not project and "/" in name:
            first, _, rest = name.partition("/")
            try:
                found = _found(memory, rest, named_project(memory.catalog, first))
            except NotFoundError:
                found = []
        if len(found) > 1:
            several = ", ".join(sorted(one.project for one in found))
            raise ConflictError(f'several projects have "{name}": {several}', hint="name one: `project`")
        if found:
            return found[0]
    raise NotFoundError(f'there is no entity "{name}"', hint="GET /graph/label/search finds names")


def _found(memory: Ragmem, name: str, project: str | None) -> list[Place]:
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
    wanted = {source.name, target.name}
    for edge in relations_of(memory, source):
        if {edge["source"], edge["target"]} == wanted:
            properties: Mapping[str, Any] = edge["properties"]
            return properties
    return None


def relations_of(memory: Ragmem, place: Place) -> list[Mapping[str, Any]]:
    """Return the relations of an entity."""
    around = graph_document(memory.store, place.name, depth=1, limit=10_000, project=place.project)
    return [edge for edge in around["edges"] if place.name in {edge["source"], edge["target"]}]


def stated_of(memory: Ragmem, project: str, uri: str) -> Stated | None:
    """Return what is stated under a uri; None where nothing is."""
    key = present_id(memory, project, uri)
    found = memory.catalog.memories.get([key]).get(key)
    return user_statements_of(found) if found is not None and found.scope.project == project else None


def with_statements(memory: Ragmem, document: Mapping[str, Any], project: str | None) -> Mapping[str, Any]:
    """Return a graph document in which what is stated stands in the place of what texts say."""
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
        # One that was moved away has the id of its former place still.
        if found is None or found.scope.project != holder:
            continue
        if (stated := user_statements_of(found)) is not None:
            part["properties"] = {**part["properties"], **shown(stated)}
    return document


def present_id(memory: Ragmem, project: str, uri: str) -> str:
    """Return the id of the memory that states something of a project, perhaps one that was moved there."""
    place = id_of(uri, project)
    return memory.catalog.projects.moved_ids([place]).get(place, place)


def told_apart(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a graph document in which nodes of one name are edited by their ids, which name the project.

    LightRAG's page asks for changes by the property `entity_id`.
    """
    holders = Counter(label for node in document["nodes"] for label in node["labels"])
    for node in document["nodes"]:
        if any(holders[label] > 1 for label in node["labels"]):
            node["properties"] = {**node["properties"], "entity_id": node["id"]}
    return document


def shown(stated: Stated) -> dict[str, str]:
    """Return the properties that a statement sets."""
    match stated:
        case UserEntity():
            said = {"entity_type": stated.type, "description": stated.description}
        case UserRelation():
            said = {"description": stated.description, "keywords": stated.keywords}
        case _:
            said = {}
    return {key: value for key, value in said.items() if value}


def _split(identifier: str, project: str | None) -> tuple[str, str]:
    if project is not None:
        return project, identifier
    holder, _, name = identifier.partition("/")
    return holder, name


def said_by(memory: Ragmem, parts: Iterable[Mapping[str, Any]]) -> tuple[list[str], int]:
    """Return the memories that state parts of the graph, and how many others say them in their texts."""
    ids = {key for one in parts for key in memory_ids_in(str(one.get("file_path", "")))}
    outlines = memory.catalog.memories.outlines(ids)
    stated = [key for key, one in outlines.items() if one.source == SOURCE]
    return stated, len(outlines) - len(stated)
