"""The routes on memories: list, one whole, connections, history, store, feedback, pin, forget."""

from typing import Annotated

from fastapi import APIRouter, Query

from ragmem.api.memory import Ragmem
from ragmem.server.http.workers import Workers
from ragmem.server.v1 import memory_reading as reading
from ragmem.server.v1 import memory_writing as writing
from ragmem.server.v1.fields import IdInPath
from ragmem.server.v1.memory_models import (
    Connections,
    FeedbackRequest,
    ForgetRequest,
    Forgotten,
    History,
    LifeAnswer,
    MemoryPage,
    PinRequest,
    Stored,
    StoreRequest,
    Whole,
)
from ragmem.server.v1.preconditions import require
from ragmem.server.v1.selection import Listing


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes over an open memory; what blocks runs in the workers."""
    router = APIRouter(tags=["memories"])
    for part in (_lists, _single, _writes, _verdicts):
        router.include_router(part(memory, workers))
    return router


def _lists(memory: Ragmem, workers: Workers) -> APIRouter:
    router = APIRouter()

    @router.get("/memories", operation_id="list_memories", summary="List memories")
    async def memories(
        wanted: Annotated[Listing, Query()],
    ) -> MemoryPage:
        """Return memories a page at a time, of all projects unless some are named.

        What is stored between two pages moves nothing from one to the other.
        """
        return await workers.run(lambda: reading.page(memory, wanted))

    return router


def _single(memory: Ragmem, workers: Workers) -> APIRouter:
    router = APIRouter()

    @router.get("/memories/{identifier}", operation_id="get_memory", summary="Get one memory whole")
    async def whole(identifier: IdInPath) -> Whole:
        """Return a memory: text, where it comes from, chunks, life, connections, what it replaced."""
        return await workers.run(lambda: reading.whole(memory, identifier))

    @router.get(
        "/memories/{identifier}/connections",
        operation_id="list_connections",
        summary="List a memory's connections",
    )
    async def connections(
        identifier: IdInPath, limit: Annotated[int, Query(ge=1, le=1_000)] = 100
    ) -> Connections:
        """Return the memories that it is connected with, strongest first."""
        return await workers.run(lambda: reading.connections(memory, identifier, limit=limit))

    @router.get(
        "/memories/{identifier}/history", operation_id="get_history", summary="Tell a memory's history"
    )
    async def history(identifier: IdInPath) -> History:
        """Return what happened to it, oldest first; also of one that lies in the archive."""
        return await workers.run(lambda: reading.history(memory, identifier))

    return router


def _writes(memory: Ragmem, workers: Workers) -> APIRouter:
    router = APIRouter()

    @router.post("/memories", operation_id="store_memory", summary="Store a text")
    async def store(request: StoreRequest) -> Stored:
        """Store a text; it is durable and can be found when this returns.

        The same request again gives the same id, and `change` is then `unchanged`. Secrets are replaced
        before anything is written.
        """
        return await workers.run(lambda: writing.store(memory, request))

    @router.post("/forget", operation_id="forget_memories", summary="Forget memories")
    async def forget(request: ForgetRequest) -> Forgotten:
        """Move memories into the archive, all of them or none; `confirm` must be true.

        Named by ids, or by sources, projects and the run that stored them; `dry_run` only counts them. They
        are found no more, and no seed or hook brings them back. `POST /v1/memory/gc/undo` with the run, or
        `POST /v1/memory/archive/{identifier}/restore`, brings them back.
        """
        return await workers.run(lambda: writing.forget(memory, request))

    return router


def _verdicts(memory: Ragmem, workers: Workers) -> APIRouter:
    router = APIRouter()

    @router.post(
        "/memories/{identifier}/feedback", operation_id="give_feedback", summary="Say whether it was of use"
    )
    async def feedback(identifier: IdInPath, request: FeedbackRequest) -> LifeAnswer:
        """Keep that a memory was of use or not; each call counts once."""

        def answer() -> LifeAnswer:
            require(memory)
            found = memory.feedback(identifier, request.verdict, session=request.session)
            return reading.life(memory, found.id)

        return await workers.run(answer)

    @router.put("/memories/{identifier}/pin", operation_id="pin_memory", summary="Pin a memory, or no longer")
    async def pin(identifier: IdInPath, request: PinRequest) -> LifeAnswer:
        """Let a memory never expire nor be merged, or no longer so; twice is once."""

        def answer() -> LifeAnswer:
            require(memory)
            found = memory.pin(identifier, pinned=request.pinned)
            return reading.life(memory, found.id)

        return await workers.run(answer)

    return router
