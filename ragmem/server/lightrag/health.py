"""What the server tells of itself, with the fields that LightRAG's page reads; plain functions that block."""

import os
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ragmem import __version__
from ragmem.api.memory import Ragmem
from ragmem.server.http.handlers import readable
from ragmem.server.http.workers import ASKING
from ragmem.server.lightrag.graph import MAX_NODES
from ragmem.server.lightrag.pipeline import Pipeline
from ragmem.server.lightrag.server_models import HealthResponse
from ragmem.server.lightrag.webui import Page, has_page
from ragmem.storage.memories.read_cache import ReadCache

SHOWN_NODES = 1_000
"""Nodes that LightRAG's page draws unless somebody wants more; it slows down with several thousand."""


@cache
def core_version() -> str:
    """Return the version of LightRAG, which is not imported for it; "" where it is not installed.

    Read once: its file of metadata is long, and read anew it was most of what /health cost.
    """
    try:
        return version("lightrag-hku")
    except PackageNotFoundError:
        return ""


@dataclass(frozen=True, slots=True)
class Counts:
    """What a memory holds; all empty where nothing was ever stored."""

    states: dict[str, int] = field(default_factory=dict)
    projects: int = 0
    stored: dict[str, int] = field(default_factory=dict)


class Counting:
    """Counts what a memory holds, anew only once it was written: pages ask for it every few seconds."""

    def __init__(self, memory: Ragmem) -> None:
        self._memory = memory
        self._kept = ReadCache(memory.catalog.database, self._count)
        # LightRAG's own storages change without the catalog, and open outside of its transactions alone.
        self._is_whole = memory.settings.store.profile == "sqlite"

    def counts(self) -> Counts:
        """Return the counts as they are now."""
        if not readable(self._memory):
            return Counts()
        # Opened before the reading begins, for the first one may write.
        store = self._memory.store
        counted = self._kept.value()
        if self._is_whole:
            return counted
        return replace(counted, stored={**counted.stored, **store.statistics()})

    def _count(self) -> Counts:
        overview = self._memory.catalog.overview
        states = overview.count_by("state")
        stored = {"memories": sum(states.values()), "chunks": overview.chunks()}
        if self._is_whole:
            stored |= self._memory.store.statistics()
        return Counts(states, len(overview.count_by("project")), stored)


def health(memory: Ragmem, pipeline: Pipeline, counting: Counting, *, authorised: bool) -> HealthResponse:
    """Answer GET /health; without the token the database is not even looked at."""
    told = HealthResponse(
        version=__version__,
        core_version=core_version(),
        api_version=__version__,
        webui_available=has_page(Page.ADMIN),
        workspace_available=has_page(Page.WORKSPACE),
        pipeline_busy=pipeline.busy,
        pipeline_active=pipeline.busy,
    )
    if not authorised:
        return told
    counts = counting.counts()
    told.states, told.projects, told.counts = counts.states, counts.projects, counts.stored
    told.backends = {"models": memory.settings.models.backend, "store": memory.settings.store.backend}
    told.working_directory = str(memory.settings.places.data)
    told.input_directory = "sources.toml"
    told.configuration = _configuration(memory)
    told.pipeline_scanning = pipeline.busy
    told.pipeline_destructive_busy = False
    told.pipeline_pending_enqueues = 0
    told.server_mode, told.workers = "uvicorn", 1
    told.keyed_locks = {
        "process_id": os.getpid(),
        "current_status": {"total_mp_locks": 0, "total_async_locks": 0},
    }
    return told


def _configuration(memory: Ragmem) -> dict[str, Any]:
    settings = memory.settings
    model, embedding, reranker = settings.language_model, settings.models, settings.reranker
    storage = settings.store.backend
    return {
        "llm_binding": model.backend or None,
        "llm_binding_host": None,
        "llm_model": model.model or None,
        "embedding_binding": embedding.backend,
        "embedding_binding_host": None,
        "embedding_model": embedding.model or embedding.backend,
        "kv_storage": storage,
        "doc_status_storage": storage,
        "graph_storage": storage,
        "vector_storage": storage,
        "workspace": settings.store.profile,
        "max_graph_nodes": min(SHOWN_NODES, MAX_NODES),
        "enable_rerank": bool(reranker.model),
        "rerank_binding": reranker.backend or None,
        "rerank_model": reranker.model or None,
        "rerank_binding_host": None,
        "min_rerank_score": 0,
        "cosine_threshold": settings.query.min_similarity,
        "related_chunk_number": settings.query.candidates,
        "max_async": ASKING,
        "embedding_func_max_async": ASKING,
        "max_parallel_insert": 1,
        "summary_language": "the text's",
        "force_llm_summary_on_merge": 0,
        "enable_llm_cache": False,
        "enable_llm_cache_for_extract": True,
        "vlm_process_enable": False,
        "parser_routing": "ragmem",
        "role_llm_config": {},
    }
