"""The routes about the server: health, login, customization."""

import os
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, HTTPException, Query, Request

from ragmem import __version__
from ragmem.api.memory import Ragmem
from ragmem.ports.principal import Principal
from ragmem.server.http.failure_models import EVERYWHERE, failure_responses
from ragmem.server.http.handlers import is_stored
from ragmem.server.http.workers import QUERY_THREADS, Workers
from ragmem.server.lightrag.graph import MAX_NODES
from ragmem.server.lightrag.pipeline import Pipeline
from ragmem.server.lightrag.server_models import (
    DESCRIPTION,
    TITLE,
    AuthStatusResponse,
    CustomizationResponse,
    HealthResponse,
    LoginResponse,
    VerifyResponse,
)
from ragmem.server.lightrag.webui import Page, has_page
from ragmem.server.security.auth import LONGEST_TOKEN, same_token
from ragmem.server.security.guard import AUTHORISED, PRINCIPAL
from ragmem.server.security.guest_auth import GUEST
from ragmem.server.security.members import token_hash
from ragmem.server.security.rate_limit import RateLimit
from ragmem.server.security.team import Team
from ragmem.storage.memories.read_cache import ReadCache

SHOWN_NODES = 1_000
"""Default number of nodes that LightRAG's page draws; it is slow with several thousand."""

_GUEST = (
    "This token gives no access: send the server's token as X-API-Key, or log in with it as the password."
)
_KNOWN = "The password is the server's token."


def routes(
    memory: Ragmem,
    workers: Workers,
    pipeline: Pipeline,
    *,
    token: str,
    failures: RateLimit,
    team: Team | None = None,
) -> APIRouter:
    """Return the routes; `failures` limits how often a wrong password is answered."""
    router = APIRouter(tags=["server"])
    counter = MemoryCounter(memory)

    @router.get("/health", response_model_exclude_none=True, responses=EVERYWHERE)
    async def tell_health(request: Request) -> HealthResponse:
        """Return that the server is up; for the owner and admins, also its content and configuration."""
        principal: Principal | None = request.scope[PRINCIPAL]
        authorised = request.scope[AUTHORISED] and (principal is None or principal.may("admin"))
        return await workers.run(lambda: health(memory, pipeline, counter, authorised=authorised))

    @router.get("/auth-status", responses=EVERYWHERE)
    async def auth_status() -> AuthStatusResponse:
        """Return to LightRAG's page that there is no login by name; it then asks for the API key."""
        return AuthStatusResponse(core_version=core_version(), api_version=__version__)

    @router.get("/auth/verify", responses=EVERYWHERE)
    async def verify() -> VerifyResponse:
        """Confirm the credentials of the request; wrong ones are refused before."""
        return VerifyResponse()

    @router.post("/login", responses=EVERYWHERE)
    async def login(
        password: Annotated[
            str,
            Form(max_length=LONGEST_TOKEN, description="The server's token; empty for LightRAG's guest."),
        ] = "",
        username: Annotated[str, Form(max_length=200, description="Any: there is one user.")] = "",
        grant_type: Annotated[str, Form(max_length=64)] = "password",
    ) -> LoginResponse:
        """Log in as LightRAG's clients do: the password is the token, which is returned as access token."""
        del username, grant_type

        def respond(access_token: str, mode: Literal["enabled", "disabled"], message: str) -> LoginResponse:
            return LoginResponse(
                access_token=access_token,
                auth_mode=mode,
                message=message,
                core_version=core_version(),
                api_version=__version__,
            )

        if not password:
            return respond(GUEST, "disabled", _GUEST)
        known = team is not None and team.grant_of(token_hash(password)) is not None
        if not known and not same_token(password, token):
            if wait := failures.wait("login"):
                raise HTTPException(429, "too many wrong passwords", {"Retry-After": str(wait)})
            raise HTTPException(401, "the password is not the token", {"WWW-Authenticate": "Bearer"})
        return respond(password, "enabled", _KNOWN)

    _customize(router)
    return router


def _customize(router: APIRouter) -> None:
    @router.get("/ui/customization", responses=EVERYWHERE)
    async def customization(
        locale: Annotated[str, Query(max_length=64, description="Has no effect.")] = "",
    ) -> CustomizationResponse:
        """Return to LightRAG's page that it is not customized."""
        del locale
        return CustomizationResponse(brand={"title": TITLE, "description": DESCRIPTION})

    @router.get(
        "/ui/customization/assets/{asset_hash}/{asset_id}", responses=EVERYWHERE | failure_responses(404)
    )
    async def customization_asset(asset_hash: str, asset_id: str) -> None:
        """Refuse: there are no assets of a customized page."""
        del asset_hash, asset_id
        raise HTTPException(404, "the page is not customised")


@cache
def core_version() -> str:
    """Return the version of LightRAG without an import; "" if it is not installed.

    It is cached: reading its long metadata took most of the time of /health.
    """
    try:
        return version("lightrag-hku")
    except PackageNotFoundError:
        return ""


@dataclass(frozen=True, slots=True)
class Counts:
    """The content of a memory; empty if nothing was ever stored."""

    states: dict[str, int] = field(default_factory=dict)
    projects: int = 0
    stored: dict[str, int] = field(default_factory=dict)


class MemoryCounter:
    """Counts the content of a memory, again only after a write: pages poll it every few seconds."""

    def __init__(self, memory: Ragmem) -> None:
        self._memory = memory
        self._kept = ReadCache(memory.catalog.database, self._count)
        # LightRAG's own storages change independently of the catalog, and open only outside its transactions.
        self._is_whole = memory.settings.store.profile == "sqlite"

    def counts(self) -> Counts:
        """Return the current counts."""
        if not is_stored(self._memory):
            return Counts()
        # It opens before the read, because the first opening may write.
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


def health(memory: Ragmem, pipeline: Pipeline, counter: MemoryCounter, *, authorised: bool) -> HealthResponse:
    """Answer GET /health; without the token the database is not read."""
    response = HealthResponse(
        version=__version__,
        core_version=core_version(),
        api_version=__version__,
        webui_available=has_page(Page.ADMIN),
        workspace_available=has_page(Page.WORKSPACE),
        pipeline_busy=pipeline.busy,
        pipeline_active=pipeline.busy,
    )
    if not authorised:
        return response
    counts = counter.counts()
    response.states, response.projects, response.counts = counts.states, counts.projects, counts.stored
    response.backends = {"models": memory.settings.models.backend, "store": memory.settings.store.backend}
    response.working_directory = str(memory.settings.places.data)
    response.input_directory = "sources.toml"
    response.configuration = _configuration(memory)
    response.pipeline_scanning = pipeline.busy
    response.pipeline_destructive_busy = False
    response.pipeline_pending_enqueues = 0
    response.server_mode, response.workers = "uvicorn", 1
    response.keyed_locks = {
        "process_id": os.getpid(),
        "current_status": {"total_mp_locks": 0, "total_async_locks": 0},
    }
    return response


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
        "max_async": QUERY_THREADS,
        "embedding_func_max_async": QUERY_THREADS,
        "max_parallel_insert": 1,
        "summary_language": "the text's",
        "force_llm_summary_on_merge": 0,
        "enable_llm_cache": False,
        "enable_llm_cache_for_extract": True,
        "vlm_process_enable": False,
        "parser_routing": "ragmem",
        "role_llm_config": {},
    }
