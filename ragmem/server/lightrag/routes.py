"""All of LightRAG's paths, put together."""

from fastapi import APIRouter

from ragmem.api.memory import Ragmem
from ragmem.server.http.llm_workers import LlmWorkers
from ragmem.server.http.workers import Workers
from ragmem.server.lightrag import documents, graph, graph_edits, ollama, queries, server, uploads, webui
from ragmem.server.lightrag.pipeline import Pipeline
from ragmem.server.lightrag.upload_tracking import Tracks
from ragmem.server.security.rate_limit import RateLimit


def routes(
    memory: Ragmem, workers: Workers, speaking: LlmWorkers, *, token: str, failures: RateLimit
) -> APIRouter:
    """Return the routes over an open memory; what blocks runs in the workers, language models in `speaking`.

    `failures` limits how often a wrong password is answered.
    """
    tracks = Tracks()
    pipeline = Pipeline(memory, workers)
    router = APIRouter(lifespan=pipeline.lifespan)
    router.include_router(server.routes(memory, workers, pipeline, token=token, failures=failures))
    router.include_router(queries.routes(memory, workers, speaking))
    router.include_router(documents.routes(memory, workers, tracks))
    router.include_router(uploads.routes(memory, workers, tracks, pipeline))
    router.include_router(graph.routes(memory, workers))
    router.include_router(graph_edits.routes(memory, workers))
    router.include_router(ollama.routes(memory, workers, speaking))
    router.include_router(webui.routes())
    return router
