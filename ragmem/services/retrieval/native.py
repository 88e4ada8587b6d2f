"""Let the store search in one of LightRAG's own modes; its hits are scored like any candidate."""

from collections.abc import Mapping, Sequence
from typing import Any

from ragmem.domain.model import Hit
from ragmem.domain.retrieval.scoring import ScoredMemory
from ragmem.domain.text.keywords import levels
from ragmem.errors import UsageError
from ragmem.ports import Store
from ragmem.services.retrieval.question import Question
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.names.aliases import entities_of

SEPARATOR = "<SEP>"
"""Separates the source chunks of an entity or a relation in LightRAG."""


def native_hits(
    catalog: Catalog, store: Store, question: Question, *, candidates: int
) -> tuple[list[Hit], dict[str, list[Any]]]:
    """Return the chunks that the store finds in each project, with their ranks, and its graph.

    At least `candidates` chunks are requested. The store returns ranks without scores, one list for each
    project. Raises UsageError for a back end without native modes, BackendError if the mode fails.
    """
    native, mode = store.native, question.mode or "mix"
    if native is None:
        raise UsageError(f'the back end "{store.name}" has no mode "{mode}"', hint="omit the mode")
    projects = question.projects
    if projects is None:
        projects = tuple(catalog.overview.count_by("project"))
    by_rule = levels(question.text)
    words, themes = question.keywords or by_rule.low, question.themes or by_rule.high
    ranks: dict[str, int] = {}
    graph: dict[str, list[Any]] = {"entities": [], "relationships": []}
    for project in projects:
        data = native.native_query(
            question.text,
            mode,
            # The graph has an entity under only one of its names.
            keywords=[*words, *entities_of(catalog.database, project, words)],
            themes=themes,
            limit=max(question.limit * 3, candidates),
            project=project,
        ).get("data", {})
        graph["entities"] += data.get("entities", [])
        graph["relationships"] += data.get("relationships", [])
        for rank, chunk in enumerate(data.get("chunks", []), start=1):
            ranks[chunk["chunk_id"]] = min(rank, ranks.get(chunk["chunk_id"], rank))
    owners = catalog.memories.chunks_by_id(ranks)
    ordered = sorted((rank, key) for key, rank in ranks.items() if key in owners)
    return [Hit(key, owners[key][0], rank, 0.0) for rank, key in ordered], graph


def sort_graph(
    graph: Mapping[str, Sequence[Any]], hits: Sequence[Hit], scores: Sequence[ScoredMemory]
) -> dict[str, list[Any]]:
    """Return entities and relations sorted by the best relevance of their memories.

    Equal ones keep the store's order, project by project.
    """
    relevance = {item.memory_id: item.relevance for item in scores}
    of_chunk = {hit.chunk_id: relevance.get(hit.memory_id, 0.0) for hit in hits}

    def best(row: Mapping[str, Any]) -> float:
        sources = str(row.get("source_id", "")).split(SEPARATOR)
        return -max((of_chunk.get(source, 0.0) for source in sources), default=0.0)

    return {name: sorted(rows, key=best) for name, rows in graph.items()}
