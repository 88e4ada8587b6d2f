"""The routes that read the graph: parts of it, and names in it."""

from typing import Annotated

from fastapi import APIRouter, Query

from ragmem.api.memory import Ragmem
from ragmem.server.http.failure_models import EVERYWHERE, declared
from ragmem.server.http.models import GraphResponse
from ragmem.server.http.workers import Workers
from ragmem.server.lightrag import graph_reading as reading

Name = Annotated[str, Query(max_length=1_024, examples=["PostgreSQL"])]
Project = Annotated[
    str, Query(max_length=1_024, description="Ours: only this project (name, id, or `user`).", examples=[""])
]


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes over an open memory; what blocks runs in the workers."""
    router = APIRouter(tags=["graph"], responses=EVERYWHERE | declared(404))

    @router.get("/graphs")
    async def graphs(
        label: Name,
        max_depth: Annotated[int, Query(ge=1, description="Steps from the label; at most 10.")] = 3,
        max_nodes: Annotated[int, Query(ge=1, description="Nodes; at most 10,000.")] = 1_000,
        project: Project = "",
    ) -> GraphResponse:
        """Return the graph around an entity, or around the most connected ones for the label `*`.

        An unknown label gives an empty graph. Without `project` the graphs of all projects stand side by
        side, and an id may be "project/name"; the name is the only one of `labels`.
        """
        return await workers.run(
            lambda: reading.graph(memory, label, depth=max_depth, limit=max_nodes, project=project)
        )

    @router.get("/graph/entity/exists")
    async def entity_exists(name: Name, project: Project = "") -> dict[str, bool]:
        """Tell whether there is an entity of exactly this name."""
        return {"exists": await workers.run(lambda: reading.entity_exists(memory, name, project=project))}

    @router.get("/graph/label/list")
    async def label_list(project: Project = "") -> list[str]:
        """Return the names of all entities in order."""
        return await workers.run(lambda: reading.labels(memory, project=project))

    @router.get("/graph/label/popular")
    async def label_popular(
        limit: Annotated[int, Query(ge=1, le=1_000)] = 300, project: Project = ""
    ) -> list[str]:
        """Return the names of the most connected entities."""
        return await workers.run(lambda: reading.popular_labels(memory, limit=limit, project=project))

    @router.get("/graph/label/search")
    async def label_search(
        q: Name, limit: Annotated[int, Query(ge=1, le=100)] = 50, project: Project = ""
    ) -> list[str]:
        """Return names of entities that contain a text: the same, then beginnings, then the rest."""
        return await workers.run(lambda: reading.search_labels(memory, q, limit=limit, project=project))

    return router
