"""All of LightRAG's paths, put together."""

from fastapi import APIRouter

from ragmem.memory import Ragmem
from ragmem.serve.lightrag import documents, graph, graph_edits, ollama, queries, server, uploads, webui
from ragmem.serve.lightrag.handing_in import Tracks
from ragmem.serve.lightrag.pipeline import Pipeline
from ragmem.serve.pace import Pace
from ragmem.serve.speaking import Speaking
from ragmem.serve.workers import Workers


def routes(memory: Ragmem, workers: Workers, speaking: Speaking, *, token: str, failures: Pace) -> APIRouter:
    """Return the routes over an open memory; what blocks runs in the workers, language models in `speaking`.

    `failures` says how often a wrong password is answered before it is told to wait.
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
