"""The routes on memories: list, one whole, connections, history, store, feedback, pin, forget."""

from fastapi import APIRouter

from ragmem.api.memory import Ragmem
from ragmem.server.http.workers import Workers, worker_router
from ragmem.server.v1 import memory_reading as reading
from ragmem.server.v1 import memory_writing as writing

_ONE = "/memories/{identifier}"
_ROUTES = (
    ("GET", "/memories", reading.page, "list_memories", "List memories"),
    ("GET", _ONE, reading.whole, "get_memory", "Get one memory whole"),
    ("GET", f"{_ONE}/connections", reading.connections, "list_connections", "List a memory's connections"),
    ("GET", f"{_ONE}/history", reading.history, "get_history", "Tell a memory's history"),
    ("POST", "/memories", writing.store, "store_memory", "Store a text"),
    ("POST", "/forget", writing.forget, "forget_memories", "Forget memories"),
    ("POST", f"{_ONE}/feedback", writing.feedback, "give_feedback", "Say whether it was of use"),
    ("PUT", f"{_ONE}/pin", writing.pin, "pin_memory", "Pin a memory, or no longer"),
)


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes over an open memory; what blocks runs in the workers."""
    router = worker_router(workers, memory, tags=["memories"])
    for method, path, endpoint, name, summary in _ROUTES:
        router.add_api_route(path, endpoint, methods=[method], operation_id=name, summary=summary)
    return router
