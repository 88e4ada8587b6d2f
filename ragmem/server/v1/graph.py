"""The routes on the graph: a compact form of all of it, entities, paths and communities."""

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import Field

from ragmem.api.memory import Ragmem
from ragmem.server.http.handlers import is_stored
from ragmem.server.http.workers import Workers, worker_router
from ragmem.server.v1.fields import ROUTER, Label, Moment, Projects, Shape, Since, Until
from ragmem.server.v1.preconditions import (
    NOT_MODIFIED,
    etag,
    etag_response,
    matches,
    moment_of,
    not_modified,
    projects_of,
    require,
)
from ragmem.services.graph.compact_graph import CompactGraphs, GraphFilter
from ragmem.services.graph.shapes import (
    communities_shape,
    entity_shape,
    path_shape,
    timeline_shape,
    top_shape,
)


class Node(Shape):
    """A node of the compact graph; its number is its index in the list."""

    name: str
    type: str
    degree: int = Field(description="Relations in the whole graph, including omitted ones.")
    memories: int = Field(description="Memories that mention it, within the requested time.")
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


Name = Annotated[
    Label,
    Query(
        min_length=1,
        description="An entity's name, in any case, or a unique prefix.",
        examples=["PostgreSQL"],
    ),
]


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes of an open memory; blocking work runs in the workers."""
    router = worker_router(workers, memory, **ROUTER, tags=["graph"])
    for part in (_compact, _entities, _between):
        part(router, memory)
    return router


def _compact(router: APIRouter, memory: Ragmem) -> None:
    graphs = CompactGraphs()

    @router.get(
        "/graph",
        operation_id="get_graph",
        summary="Get the compact graph",
        response_model=CompactGraph,
        responses=NOT_MODIFIED,
    )
    def graph(
        *,
        request: Request,
        project: Projects = None,
        kind: Annotated[
            list[Label] | None, Query(max_length=50, description="Only entities of these types; repeatable.")
        ] = None,
        since: Since | None = None,
        until: Until | None = None,
        limit: Annotated[int, Query(ge=1, le=10_000, description="Nodes, the most connected first.")] = 2_000,
        edges: Annotated[int, Query(ge=0, le=50_000, description="Edges, the heaviest first.")] = 20_000,
        alone: Annotated[bool, Query(description="Also entities without relations.")] = True,
    ) -> Response:
        """Return the most connected entities and their relations, for a page to draw.

        The `ETag` stays the same while nothing changes. With a time, only memories with events in it count.
        `GET /v1/memory/entity` returns the memories that mention a node.
        """
        stored = is_stored(memory)
        # A span ends now, rounded to the minute, so that repeated requests are equal.
        first, last = (
            one.replace(second=0, microsecond=0) if one else None
            for one in (moment_of(since), moment_of(until))
        )
        cut = GraphFilter(
            projects_of(memory, project) if stored else None,
            frozenset(kind or ()),
            first,
            last,
            limit,
            edges,
            alone,
        )
        tag = etag(graphs.mark(memory.catalog) if stored else "", cut.projects, sorted(cut.types), cut)
        if matches(request, tag):
            return not_modified(tag)
        found: dict[str, Any] = graphs.graph(memory.catalog, memory.store, cut) if stored else _EMPTY
        return etag_response(tag, orjson.dumps(found))


_EMPTY: dict[str, Any] = {
    "projects": [],
    "types": {},
    "nodes": [],
    "edges": [],
    "total_nodes": 0,
    "total_edges": 0,
    "is_truncated": False,
}


def _entities(router: APIRouter, memory: Ragmem) -> None:
    @router.get("/entities", operation_id="list_entities", summary="List entities")
    def entities(
        prefix: Annotated[Label, Query(description="Only names with this prefix, in any case.")] = "",
        project: Projects = None,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    ) -> Entities:
        """Return entities by a prefix of their names, most connected first."""
        if not is_stored(memory):
            return Entities(entities=[])
        scope = memory.graph(projects_of(memory, project)).scope
        return Entities.model_validate(top_shape(scope.top(limit, prefix), redactor=memory.redactor))

    @router.get("/entity", operation_id="get_entity", summary="Get an entity, its neighbours and memories")
    def entity(
        name: Name, project: Projects = None, limit: Annotated[int, Query(ge=1, le=500)] = 50
    ) -> EntityWhole:
        """Return an entity, the memories that mention it, latest first, and its neighbours.

        `limit` is the maximum of memories and of neighbours per project; neighbours are sorted by weight.
        """
        require(memory)
        views = memory.graph(projects_of(memory, project))
        found = views.entity(name, limit=limit)
        elsewhere = views.scope.elsewhere(found[0].place.entity.name)
        return EntityWhole.model_validate(entity_shape(found, elsewhere, redactor=memory.redactor))

    @router.get(
        "/entity/timeline",
        operation_id="get_entity_timeline",
        summary="List the mentions of an entity by date",
    )
    def entity_timeline(
        name: Name,
        since: Since | None = None,
        project: Projects = None,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    ) -> EntityTimeline:
        """Return the latest mentions of an entity, in the order of the events."""
        require(memory)
        views = memory.graph(projects_of(memory, project))
        return EntityTimeline.model_validate(
            timeline_shape(
                views.timeline(name, since=moment_of(since), limit=limit), redactor=memory.redactor
            )
        )


def _between(router: APIRouter, memory: Ragmem) -> None:
    @router.get("/path", operation_id="find_path", summary="Get paths between two entities")
    def path(
        start: Annotated[Label, Query(alias="from", min_length=1, examples=["PostgreSQL"])],
        goal: Annotated[Label, Query(alias="to", min_length=1, examples=["Kubernetes"])],
        project: Projects = None,
        limit: Annotated[int, Query(ge=1, le=20)] = 3,
    ) -> Ways:
        """Return the most informative paths between two entities; none if nothing connects them."""
        require(memory)
        found = memory.graph(projects_of(memory, project)).path(start, goal, count=limit)
        return Ways.model_validate(path_shape(start, goal, found, redactor=memory.redactor))

    @router.get("/communities", operation_id="list_communities", summary="List communities of entities")
    def communities(
        around: Annotated[Label, Query(description="Only the community of this entity.")] = "",
        project: Projects = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 20,
    ) -> Communities:
        """Return communities of entities, the largest first, with their memories."""
        if not is_stored(memory):
            return Communities(entities=0, total=0, alone=0, communities=[])
        views = memory.graph(projects_of(memory, project))
        return Communities.model_validate(
            communities_shape(views.communities(limit=limit, around=around), redactor=memory.redactor)
        )
