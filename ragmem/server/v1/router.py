"""All routes of `/v1/memory`."""

from fastapi import APIRouter

from ragmem.api.memory import Ragmem
from ragmem.server.http.workers import Workers
from ragmem.server.v1 import (
    approval,
    gc,
    graph,
    injections,
    lifecycle,
    memories,
    overview,
    projects,
    questions,
    sharing,
)


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes of an open memory; blocking work runs in the workers."""
    router = APIRouter()
    for part in (
        questions,
        memories,
        graph,
        lifecycle,
        approval,
        sharing,
        gc,
        overview,
        projects,
        injections,
    ):
        router.routes += part.routes(memory, workers).routes
    return router
