"""All routes of `/v1/memory` over one open memory."""

from fastapi import APIRouter

from ragmem.memory import Ragmem
from ragmem.serve.failure_models import declared
from ragmem.serve.v1 import gc, given, graph, lifecycle, memories, overview, questions
from ragmem.serve.v1.fields import PREFIX
from ragmem.serve.workers import Workers


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes; what blocks runs in the workers."""
    router = APIRouter(prefix=PREFIX, responses=declared(404))
    for part in (questions, memories, graph, lifecycle, gc, overview, given):
        router.include_router(part.routes(memory, workers))
    return router
