"""The routes that read the graph: subgraphs and names of entities."""

from typing import Annotated

from fastapi import APIRouter, Query

from ragmem.api.memory import Ragmem
from ragmem.ports.graph_document import graph_document
from ragmem.server.http import answers
from ragmem.server.http.failure_models import EVERYWHERE, failure_responses
from ragmem.server.http.handlers import is_stored
from ragmem.server.http.models import GraphResponse
from ragmem.server.http.workers import Workers, worker_router
from ragmem.server.lightrag.graph_parts import distinguish_nodes, with_statements

MAX_DEPTH = 10
MAX_NODES = 10_000
MAX_LABELS = 100_000

Name = Annotated[str, Query(max_length=1_024, examples=["PostgreSQL"])]
Project = Annotated[
    str,
    Query(max_length=1_024, description="Extension: only this project (name, id, or `user`).", examples=[""]),
]


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes of an open memory; blocking work runs in the workers."""
    router = worker_router(workers, memory, tags=["graph"], responses=EVERYWHERE | failure_responses(404))
    router.get("/graphs")(graphs)
    router.get("/graph/entity/exists")(entity_exists)
    router.get("/graph/label/list")(label_list)
    router.get("/graph/label/popular")(label_popular)
    router.get("/graph/label/search")(label_search)
    return router


def graphs(
    memory: Ragmem,
    label: Name,
    max_depth: Annotated[int, Query(ge=1, description="Steps from the label; at most 10.")] = 3,
    max_nodes: Annotated[int, Query(ge=1, description="Nodes; at most 10,000.")] = 1_000,
    project: Project = "",
) -> GraphResponse:
    """Return the graph around an entity, or around the most connected ones for the label `*`.

    An unknown label gives an empty graph. Without `project` the result has the graphs of all projects, and
    an id may be "project/name"; the only item of `labels` is the name.
    """
    if not is_stored(memory):
        return GraphResponse(nodes=[], edges=[], is_truncated=False)
    of = _project(memory, project)
    document = graph_document(
        memory.store, label, depth=min(max_depth, MAX_DEPTH), limit=min(max_nodes, MAX_NODES), project=of
    )
    return answers.graph(
        distinguish_nodes(with_statements(memory, document, of)),
        memory.catalog.memories.uris,
        redactor=memory.redactor,
    )


def entity_exists(memory: Ragmem, name: Name, project: Project = "") -> dict[str, bool]:
    """Return whether there is an entity of exactly this name."""
    # The star is the label of the whole graph, not a name.
    if name == "*" or not is_stored(memory):
        return {"exists": False}
    found = graph_document(memory.store, name, depth=0, limit=1, project=_project(memory, project))
    return {"exists": bool(found["nodes"])}


def label_list(memory: Ragmem, project: Project = "") -> list[str]:
    """Return the names of all entities, sorted."""
    return sorted(label_popular(memory, MAX_LABELS, project))


def label_popular(
    memory: Ragmem, limit: Annotated[int, Query(ge=1, le=1_000)] = 300, project: Project = ""
) -> list[str]:
    """Return the names of the most connected entities."""
    if not is_stored(memory):
        return []
    return answers.popular_labels(
        memory.store, limit=limit, project=_project(memory, project), redactor=memory.redactor
    )


def label_search(
    memory: Ragmem, q: Name, limit: Annotated[int, Query(ge=1, le=100)] = 50, project: Project = ""
) -> list[str]:
    """Return names of entities that contain a text: equal ones, then prefixes, then the rest."""
    if not is_stored(memory):
        return []
    return answers.find_labels(
        memory.store, q, limit=limit, project=_project(memory, project), redactor=memory.redactor
    )


def _project(memory: Ragmem, name: str) -> str | None:
    return memory.projects.resolve([name])[0] if name else None
