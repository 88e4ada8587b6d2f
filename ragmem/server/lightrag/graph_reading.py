"""Read the graph: a part of it, and names in it; plain functions that block, for the worker threads."""

from ragmem.api.memory import Ragmem
from ragmem.server.http import answers
from ragmem.server.http.handlers import readable
from ragmem.server.http.models import GraphResponse
from ragmem.server.lightrag.graph_parts import told_apart, with_statements

MAX_DEPTH = 10
MAX_NODES = 10_000
MAX_LABELS = 100_000


def graph(memory: Ragmem, label: str, *, depth: int, limit: int, project: str) -> GraphResponse:
    """Answer GET /graphs."""
    if not readable(memory):
        return GraphResponse(nodes=[], edges=[], is_truncated=False)
    of = _project(memory, project)
    document = memory.store.subgraph(
        label, depth=min(depth, MAX_DEPTH), limit=min(limit, MAX_NODES), project=of
    )
    return answers.graph(
        told_apart(with_statements(memory, document, of)),
        memory.catalog.memories.uris,
        redactor=memory.redactor,
    )


def labels(memory: Ragmem, *, project: str) -> list[str]:
    """Answer GET /graph/label/list: names in order."""
    return sorted(popular_labels(memory, limit=MAX_LABELS, project=project))


def popular_labels(memory: Ragmem, *, limit: int, project: str) -> list[str]:
    """Answer GET /graph/label/popular: the most connected names first."""
    if not readable(memory):
        return []
    return answers.popular_labels(
        memory.store, "", limit=limit, project=_project(memory, project), redactor=memory.redactor
    )


def search_labels(memory: Ragmem, text: str, *, limit: int, project: str) -> list[str]:
    """Answer GET /graph/label/search."""
    if not readable(memory):
        return []
    return answers.find_labels(
        memory.store, text, limit=limit, project=_project(memory, project), redactor=memory.redactor
    )


def entity_exists(memory: Ragmem, name: str, *, project: str) -> bool:
    """Tell whether there is an entity of exactly this name."""
    # The star is the label of the whole graph and no name.
    if name == "*" or not readable(memory):
        return False
    found = memory.store.subgraph(name, depth=0, limit=1, project=_project(memory, project))
    return bool(found["nodes"])


def _project(memory: Ragmem, name: str) -> str | None:
    return memory.named_projects([name])[0] if name else None
