"""Answers on the graph: a compact form of all of it, entities, neighbours, paths and communities."""

from typing import Any

from pydantic import Field

from ragmem.server.v1.fields import Moment, Shape


class Node(Shape):
    """A node of the compact graph; its number is its index in the list."""

    name: str
    type: str
    degree: int = Field(description="Relations in the whole graph, including omitted ones.")
    memories: int = Field(description="Memories that mention it, within the time asked for.")
    project: int = Field(description="The index of its project in `projects`.")
    first: int | None = Field(description="Unix seconds of the first event that mentions it.")
    last: int | None = Field(description="Unix seconds of the last one.")


class CompactGraph(Shape):
    """The most connected entities and the relations between them.

    An edge is [number of a node, number of a node, weight].
    """

    projects: list[str]
    types: dict[str, int] = Field(description="The number of nodes of each type, before `limit`.")
    nodes: list[Node]
    edges: list[tuple[int, int, float]]
    total_nodes: int = Field(description="Nodes that match the filters.")
    total_edges: int = Field(description="Relations between these.")
    is_truncated: bool


class EntityItem(Shape):
    """An entity in one project with the number of its relations."""

    project: str
    name: str
    type: str
    degree: int
    aliases: list[dict[str, Any]] = Field(description="Names that were merged into it, and by which rule.")
    spellings: list[str] = Field(description="Other entities whose names differ only in case.")


class Entities(Shape):
    """Entities, most connected first."""

    entities: list[EntityItem]


class EntityMention(Shape):
    """A memory that mentions an entity, with the sentence."""

    id: str
    project: str
    source: str
    title: str
    event_time: Moment
    chunks: int
    text: str


class NearEntity(Shape):
    """The entity at the other end of a relation."""

    project: str
    name: str
    type: str
    keywords: str
    weight: float
    descriptions: list[str]


class EntityWhole(Shape):
    """An entity of the best connected project, and lists of all projects; `inspect entity --json`."""

    entity: dict[str, Any]
    memories: list[EntityMention]
    neighbours: list[NearEntity]


class EntityTimeline(Shape):
    """The mentions of an entity, in the order of the events; `inspect timeline --json`."""

    entity: dict[str, Any]
    total: int
    first: Moment | None
    last: Moment | None
    events: list[EntityMention]


class Ways(Shape):
    """The paths between two entities; `inspect path --json`."""

    start: str = Field(alias="from")
    goal: str = Field(alias="to")
    paths: list[dict[str, Any]]


class Communities(Shape):
    """Communities of entities, the largest first; `inspect communities --json`."""

    entities: int
    total: int
    alone: int = Field(description="Entities without relations.")
    communities: list[dict[str, Any]]
