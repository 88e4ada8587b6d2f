"""Answers on the graph: all of it in a compact form, one entity, its neighbours, ways and communities."""

from typing import Any

from pydantic import Field

from ragmem.server.v1.fields import Moment, Shape, example

TOLD = {
    "id": "3q7hn2zk5x4m",
    "project": "user",
    "source": "memory",
    "title": "Deploy",
    "event_time": "2026-03-15T10:00:00Z",
    "chunks": 1,
    "text": "We decided to deploy PostgreSQL 16 with Kubernetes.",
}
NEAR = {
    "project": "user",
    "name": "Kubernetes",
    "type": "tool",
    "keywords": "deployed with",
    "weight": 1.0,
    "descriptions": ["PostgreSQL is deployed with Kubernetes."],
}
PLACE: dict[str, Any] = {
    "project": "user",
    "name": "PostgreSQL",
    "type": "tool",
    "degree": 2,
    "aliases": [],
    "spellings": [],
}


class Node(Shape):
    """A node of the compact graph; its number is its place in the list."""

    model_config = example(
        name="PostgreSQL", type="tool", degree=2, memories=3, project=0, first=1773568800, last=1773655200
    )

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

    model_config = example(
        projects=["user"],
        types={"tool": 2},
        nodes=[
            {
                "name": "PostgreSQL",
                "type": "tool",
                "degree": 2,
                "memories": 3,
                "project": 0,
                "first": 1773568800,
                "last": 1773655200,
            },
            {
                "name": "Kubernetes",
                "type": "tool",
                "degree": 1,
                "memories": 1,
                "project": 0,
                "first": 1773568800,
                "last": 1773568800,
            },
        ],
        edges=[[0, 1, 1.0]],
        total_nodes=2,
        total_edges=1,
        is_truncated=False,
    )

    projects: list[str]
    types: dict[str, int] = Field(description="How many nodes there are of each type, before `limit`.")
    nodes: list[Node]
    edges: list[tuple[int, int, float]]
    total_nodes: int = Field(description="Nodes that the filters let through.")
    total_edges: int = Field(description="Relations between these.")
    is_truncated: bool


class EntityItem(Shape):
    """An entity in one project with the number of its relations."""

    model_config = example(**PLACE)

    project: str
    name: str
    type: str
    degree: int
    aliases: list[dict[str, Any]] = Field(description="Names that were merged into it, and by which rule.")
    spellings: list[str] = Field(description="Other entities whose names differ in case only.")


class Entities(Shape):
    """Entities, most connected first."""

    model_config = example(entities=[PLACE])

    entities: list[EntityItem]


class Told(Shape):
    """A memory that speaks of an entity, with the sentence that does."""

    model_config = example(**TOLD)

    id: str
    project: str
    source: str
    title: str
    event_time: Moment
    chunks: int
    text: str


class NearEntity(Shape):
    """The entity at the other end of a relation."""

    model_config = example(**NEAR)

    project: str
    name: str
    type: str
    keywords: str
    weight: float
    descriptions: list[str]


class EntityWhole(Shape):
    """An entity: the best connected project's first, the lists of all of them; `inspect entity --json`."""

    model_config = example(
        entity={
            **PLACE,
            "descriptions": ["a database"],
            "projects": [{**PLACE, "memories": 3}],
            "also_in": [],
        },
        memories=[TOLD],
        neighbours=[NEAR],
    )

    entity: dict[str, Any]
    memories: list[Told]
    neighbours: list[NearEntity]


class EntityTimeline(Shape):
    """When an entity was spoken of, in the order of the events; `inspect timeline --json`."""

    model_config = example(
        entity={**PLACE, "projects": [PLACE]},
        total=1,
        first="2026-03-15T10:00:00Z",
        last="2026-03-15T10:00:00Z",
        events=[TOLD],
    )

    entity: dict[str, Any]
    total: int
    first: Moment | None
    last: Moment | None
    events: list[Told]


class Ways(Shape):
    """How two entities are connected; `inspect path --json`."""

    model_config = example(
        **{"from": "PostgreSQL", "to": "Kubernetes"},
        paths=[
            {
                "project": "user",
                "cost": 1.2,
                "names": ["PostgreSQL", "Kubernetes"],
                "steps": [
                    {
                        "from": "PostgreSQL",
                        "to": "Kubernetes",
                        "keywords": "deployed with",
                        "weight": 1.0,
                        "memory": TOLD,
                    }
                ],
            }
        ],
    )

    start: str = Field(alias="from")
    goal: str = Field(alias="to")
    paths: list[dict[str, Any]]


class Communities(Shape):
    """Groups of entities that belong together, the largest first; `inspect communities --json`."""

    model_config = example(
        entities=2,
        total=1,
        alone=0,
        communities=[
            {
                "project": "user",
                "name": "PostgreSQL, Kubernetes",
                "size": 2,
                "cohesion": 1.0,
                "members": ["PostgreSQL", "Kubernetes"],
                "memories": [TOLD],
            }
        ],
    )

    entities: int
    total: int
    alone: int = Field(description="Entities that are related to nothing.")
    communities: list[dict[str, Any]]
