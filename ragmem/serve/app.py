"""The FastAPI application over an open memory."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI

from ragmem import __version__
from ragmem.domain.model import USER
from ragmem.errors import RagmemError
from ragmem.memory import Ragmem
from ragmem.serve import failures, rest
from ragmem.serve.activity import Activity, Watched
from ragmem.serve.guard import Guard
from ragmem.serve.origin import Names
from ragmem.serve.tending import tend_when_idle
from ragmem.serve.workers import Workers

DESCRIPTION = """Memory for AI coding assistants, on this machine.

The paths and the JSON are those of LightRAG's server.

Every path but /health wants the token, as `Authorization: Bearer` or `X-API-Key`. No language model is
configured in this release: an answer is the context that was found, and not a generated text."""

_WARMING = "warm up"


def create_app(
    memory: Ragmem,
    *,
    token: str,
    names: Names,
    warn: Callable[[str], None] = lambda _: None,
) -> FastAPI:
    """Return the application; the memory stays the caller's, to be closed after the application has ended.

    At its start it loads models and engine; `warn` gets a line when they cannot load, and full text serves.
    While nobody asks, it tends the memory (see `serve.tending`).
    """
    workers = Workers()
    activity = Activity()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await workers.run(lambda: warm_up(memory, warn))
        tending = asyncio.create_task(tend_when_idle(memory, activity, workers, warn))
        tending.add_done_callback(lambda task: _tell_bug(task, warn))
        try:
            yield
        finally:
            activity.end()
            tending.cancel()
            try:
                with suppress(asyncio.CancelledError):
                    await tending
            finally:
                workers.close()

    # The pages of documentation would load scripts from elsewhere; the description itself stays.
    app = FastAPI(
        title="ragmem",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    failures.install(app)
    # Within the guard: what is refused is no use of the memory.
    app.add_middleware(Watched, activity=activity)
    app.add_middleware(Guard, token=token, names=names)
    app.include_router(rest.routes(memory, workers))
    return app


def _tell_bug(task: asyncio.Task[None], warn: Callable[[str], None]) -> None:
    """Tell of what ended it: it raises at the end of the server, which may be days later."""
    if not task.cancelled() and (error := task.exception()) is not None:
        warn(f"the memory is no longer tended: this is a bug in ragmem: {error!r}")


def warm_up(memory: Ragmem, warn: Callable[[str], None]) -> None:
    """Load models and engine by a first question, so that nobody waits for them; never raises RagmemError."""
    try:
        memory.take_in()
        if not memory.catalog.exists():
            return
        memory.store.native_query(_WARMING, "naive", keywords=[_WARMING], limit=1, project=USER)
        if problem := memory.model_standing().problem:
            warn(problem)
    except RagmemError as error:
        warn(str(error))
