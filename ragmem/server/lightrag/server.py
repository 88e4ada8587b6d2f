"""The routes about the server: health, login, customization."""

from typing import Annotated, Literal

from fastapi import APIRouter, Form, HTTPException, Query, Request

from ragmem import __version__
from ragmem.api.memory import Ragmem
from ragmem.ports.principal import Principal
from ragmem.server.http.failure_models import EVERYWHERE, failure_responses
from ragmem.server.http.workers import Workers
from ragmem.server.lightrag.health import MemoryCounter, core_version, health
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
from ragmem.server.security.auth import LONGEST_TOKEN, same_token
from ragmem.server.security.guard import AUTHORISED, PRINCIPAL
from ragmem.server.security.guest_auth import GUEST
from ragmem.server.security.members import token_hash
from ragmem.server.security.rate_limit import RateLimit
from ragmem.server.security.team import Team

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
        """Tell that the server is up; to the owner and admins, also its content and configuration."""
        principal: Principal | None = request.scope[PRINCIPAL]
        authorised = request.scope[AUTHORISED] and (principal is None or principal.may("admin"))
        return await workers.run(lambda: health(memory, pipeline, counter, authorised=authorised))

    @router.get("/auth-status", responses=EVERYWHERE)
    async def auth_status() -> AuthStatusResponse:
        """Tell LightRAG's page that there is no login by name; it then asks for the API key."""
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
        """Tell LightRAG's page that it is not customized."""
        del locale
        return CustomizationResponse(brand={"title": TITLE, "description": DESCRIPTION})

    @router.get(
        "/ui/customization/assets/{asset_hash}/{asset_id}", responses=EVERYWHERE | failure_responses(404)
    )
    async def customization_asset(asset_hash: str, asset_id: str) -> None:
        """Refuse: there are no assets of a customized page."""
        del asset_hash, asset_id
        raise HTTPException(404, "the page is not customised")
