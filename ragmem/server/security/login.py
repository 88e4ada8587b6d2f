"""`/session`: a browser sends the token once and gets a cookie."""

from typing import Annotated

from fastapi import APIRouter, Header, HTTPException, Request, Response
from pydantic import BaseModel, Field

from ragmem.ports.principal import Principal
from ragmem.server.http.failure_models import Failure
from ragmem.server.security.auth import LONGEST_TOKEN, same_token
from ragmem.server.security.guard import CREDENTIAL, PRINCIPAL, SESSION, Credential
from ragmem.server.security.members import is_member_token, token_hash
from ragmem.server.security.rate_limit import RateLimit
from ragmem.server.security.sessions import ABSOLUTE_S, Session, Sessions
from ragmem.server.security.team import Team


class LoginRequest(BaseModel):
    """The token of the server, or of a member of its team."""

    token: str = Field(max_length=LONGEST_TOKEN, description="As in the token file and from `--print-token`.")


class SessionResponse(BaseModel):
    """Whether the browser is logged in, and the CSRF token of its session."""

    authenticated: bool
    csrf_token: str = Field(
        default="",
        description="Send it as `X-CSRF-Token` with each POST, PUT, PATCH and DELETE with the cookie.",
    )
    expires_in: int = Field(default=0, description="Seconds until an idle session expires.")
    by: str = Field(
        default="",
        description="The credential of the request: `token`, `session`, `member` (a member's token) or"
        " `issuer` (an issuer's); empty: none.",
    )
    member: str = Field(default="", description="The team member; empty: the owner, or not logged in.")
    role: str = Field(
        default="", description="`reader`, `writer` or `admin` (also for the owner); empty: not logged in."
    )


def routes(sessions: Sessions, wrong: RateLimit, *, token: str, team: Team | None = None) -> APIRouter:
    """Return the routes; `wrong` limits how often a wrong token is answered."""
    router = APIRouter(tags=["session"])

    def state(session: Session | None, by: Credential | None, who: Principal | None) -> SessionResponse:
        found = SessionResponse(authenticated=by is not None, by=by or "")
        if by is not None:
            found.member, found.role = (who.member, who.role) if who else ("", "admin")
        if session is not None and by in {"token", "session"}:
            found.by, found.csrf_token = "session", session.csrf
            found.expires_in = max(0, int(sessions.seconds_left(session)))
        return found

    @router.post(
        "/session",
        responses={
            401: {"model": Failure, "description": "The token is wrong."},
            429: {
                "model": Failure,
                "description": "Too many wrong tokens; Retry-After says how long to wait.",
            },
        },
    )
    async def begin(
        request: Request,
        response: Response,
        login: LoginRequest,
        origin: Annotated[str, Header(include_in_schema=False)] = "",
    ) -> SessionResponse:
        """Log a browser in: sets a cookie that no script can read and no other site can send.

        The right token always works, however many wrong ones came before.
        """
        hashed = ""
        grant = None
        if team is not None and is_member_token(login.token):
            hashed = token_hash(login.token)
            grant = team.grant_of(hashed)
        if grant is None and not same_token(login.token, token):
            if wait := wrong.wait("login"):
                raise HTTPException(429, "too many wrong tokens", {"Retry-After": str(wait)})
            raise HTTPException(401, "the token is wrong", {"WWW-Authenticate": "Bearer"})
        sessions.end(request.scope["headers"])
        identifier, session = sessions.begin(hashed if grant else "")
        response.set_cookie(
            sessions.cookie,
            identifier,
            max_age=int(ABSOLUTE_S),
            path="/",
            httponly=True,
            samesite="strict",
            # Only behind a proxy with TLS: over plain HTTP a browser would drop a secure cookie.
            secure=request.url.scheme == "https" or origin.startswith("https://"),
        )
        return state(session, "session", grant.principal if grant else None)

    @router.get("/session")
    async def tell(request: Request) -> SessionResponse:
        """Return whether this browser is logged in, with the CSRF token of its session."""
        return state(request.scope[SESSION], request.scope[CREDENTIAL], request.scope[PRINCIPAL])

    @router.delete("/session")
    async def end(request: Request, response: Response) -> SessionResponse:
        """Log this browser out; has no effect without a session."""
        sessions.end(request.scope["headers"])
        response.delete_cookie(sessions.cookie, path="/", httponly=True, samesite="strict")
        return SessionResponse(authenticated=False)

    return router
