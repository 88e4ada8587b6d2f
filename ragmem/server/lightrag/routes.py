"""All routes of LightRAG's interface."""

from fastapi import APIRouter

from ragmem.api.memory import Ragmem
from ragmem.server.http.llm_workers import LlmWorkers
from ragmem.server.http.workers import Workers
from ragmem.server.lightrag import documents, graph, graph_edits, ollama, queries, server, uploads, webui
from ragmem.server.lightrag.pipeline import Pipeline
from ragmem.server.lightrag.uploaded_files import Tracks
from ragmem.server.security.rate_limit import RateLimit
from ragmem.server.security.team import Team


def routes(
    memory: Ragmem,
    workers: Workers,
    llm_workers: LlmWorkers,
    *,
    token: str,
    failures: RateLimit,
    team: Team | None = None,
) -> APIRouter:
    """Return the routes of an open memory; `failures` limits the answers to wrong passwords."""
    tracks = Tracks()
    pipeline = Pipeline(memory, workers)
    router = APIRouter(lifespan=pipeline.lifespan)
    for part in (
        server.routes(memory, workers, pipeline, token=token, failures=failures, team=team),
        queries.routes(memory, workers, llm_workers),
        documents.routes(memory, workers, tracks),
        uploads.routes(memory, workers, tracks, pipeline),
        graph.routes(memory, workers),
        graph_edits.routes(memory, workers),
        ollama.routes(memory, workers, llm_workers),
        webui.routes(),
    ):
        router.routes += part.routes
    return router
