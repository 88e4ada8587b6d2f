"""The routes that change the graph."""

from fastapi import APIRouter

from ragmem.api.memory import Ragmem
from ragmem.server.http.failure_models import EVERYWHERE, declared
from ragmem.server.http.workers import Workers
from ragmem.server.lightrag import graph_editing as editing
from ragmem.server.lightrag.graph_models import (
    EntityCreateRequest,
    EntityDeleteRequest,
    EntityEditRequest,
    EntityMergeRequest,
    GraphChangeResponse,
    GraphDeleteResponse,
    RelationCreateRequest,
    RelationDeleteRequest,
    RelationEditRequest,
)


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes over an open memory; what blocks runs in the workers."""
    router = APIRouter(prefix="/graph", tags=["graph"], responses=EVERYWHERE | declared(404, 409))

    @router.post("/entity/edit")
    async def edit_entity(request: EntityEditRequest) -> GraphChangeResponse:
        """Give an entity another type, description or name.

        What is said holds in place of what texts say of it, for good; another name is a merge that
        `ragmem inspect merges` lists and takes back. 409 where the name is that of code, of a file, or of
        something of another sort.
        """
        return await workers.run(lambda: editing.edit_entity(memory, request))

    @router.post("/entity/create")
    async def create_entity(request: EntityCreateRequest) -> GraphChangeResponse:
        """Add an entity; it is kept as a memory of the source `graph`."""
        return await workers.run(lambda: editing.create_entity(memory, request))

    @router.delete("/entity/delete")
    async def delete_entity(request: EntityDeleteRequest) -> GraphDeleteResponse:
        """Take out an entity that was stated only; 409 for one that texts name, as they bring it back."""
        return await workers.run(lambda: editing.delete_entity(memory, request))

    @router.post("/entities/merge")
    async def merge_entities(request: EntityMergeRequest) -> GraphChangeResponse:
        """Let entities be one, now and in later texts; `ragmem inspect merges` takes it back."""
        return await workers.run(lambda: editing.merge_entities(memory, request))

    @router.post("/relation/edit")
    async def edit_relation(request: RelationEditRequest) -> GraphChangeResponse:
        """Give a relation another description or other keywords; its weight follows from the texts."""
        return await workers.run(lambda: editing.edit_relation(memory, request))

    @router.post("/relation/create")
    async def create_relation(request: RelationCreateRequest) -> GraphChangeResponse:
        """Relate two entities of one project; it is kept as a memory of the source `graph`."""
        return await workers.run(lambda: editing.create_relation(memory, request))

    @router.delete("/relation/delete")
    async def delete_relation(request: RelationDeleteRequest) -> GraphDeleteResponse:
        """Take out a relation that was stated only; 409 for one that texts say, as they bring it back."""
        return await workers.run(lambda: editing.delete_relation(memory, request))

    return router
