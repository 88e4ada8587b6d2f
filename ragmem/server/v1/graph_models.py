"""Answers on the graph: all of it in a compact form, one entity, its neighbours, ways and communities."""

from typing import Any

from pydantic import Field

from ragmem.server.v1.fields import Moment, Shape


class Node(Shape):
    """A node of the compact graph; its number is its place in the list."""

    name: str
    type: str
    degree: int = Field(description="Relations in the whole graph, those left out included.")
    memories: int = Field(description="Memories that mention it, within the time asked for.")
    project: int = Field(description="The place of its project in `projects`.")
    first: int | None = Field(description="Unix seconds of the first event that mentions it.")
    last: int | None = Field(description="Unix seconds of the last one.")


class CompactGraph(Shape):
    """The most connected entities and the relations between them.

    An edge is [number of a node, number of a node, weight].
    """

    projects: list[str]
    types: dict[str, int] = Field(description="How many nodes there are of each type, before `limit`.")
    nodes: list[Node]
    edges: list[tuple[int, int, float]]
    total_nodes: int = Field(description="Nodes that the filters let through.")
    total_edges: int = Field(description="Relations between these.")
    is_truncated: bool


class EntityItem(Shape):
    """An entity in one project with the number of its relations."""

    project: str
    name: str
    type: str
    degree: int
    aliases: list[dict[str, Any]] = Field(description="Names that were merged into it, and by which rule.")
    spellings: list[str] = Field(description="Other entities whose names differ in case only.")


class Entities(Shape):
    """Entities, most connected first."""

    entities: list[EntityItem]


class EntityMention(Shape):
    """A memory that speaks of an entity, with the sentence that does."""

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
    """An entity: the best connected project's first, the lists of all of them; `inspect entity --json`."""

    entity: dict[str, Any]
    memories: list[EntityMention]
    neighbours: list[NearEntity]


class EntityTimeline(Shape):
    """When an entity was spoken of, in the order of the events; `inspect timeline --json`."""

    entity: dict[str, Any]
    total: int
    first: Moment | None
    last: Moment | None
    events: list[EntityMention]


class Ways(Shape):
    """How two entities are connected; `inspect path --json`."""

    start: str = Field(alias="from")
    goal: str = Field(alias="to")
    paths: list[dict[str, Any]]


class Communities(Shape):
    """Groups of entities that belong together, the largest first; `inspect communities --json`."""

    entities: int
    total: int
    alone: int = Field(description="Entities that are related to nothing.")
    communities: list[dict[str, Any]]
