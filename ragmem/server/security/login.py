"""`/session`: a browser sends the token once and gets a cookie."""

from typing import Annotated

from fastapi import APIRouter, Header, HTTPException, Request, Response
from pydantic import BaseModel, Field

from ragmem.server.http.failure_models import Failure
from ragmem.server.security.auth import LONGEST_TOKEN, same_token
from ragmem.server.security.guard import CREDENTIAL, SESSION, Credential
from ragmem.server.security.rate_limit import RateLimit
from ragmem.server.security.sessions import ABSOLUTE_S, Session, Sessions


class LoginRequest(BaseModel):
    """The token of the server."""

    token: str = Field(
        max_length=LONGEST_TOKEN, description="As in the token file, and as `--print-token` prints it."
    )


class SessionResponse(BaseModel):
    """Whether the browser is logged in, and the CSRF token of its session."""

    authenticated: bool
    csrf_token: str = Field(
        default="",
        description="Send it as `X-CSRF-Token` with each POST, PUT, PATCH and DELETE with the cookie.",
    )
    expires_in: int = Field(default=0, description="Seconds until the session ends if nobody uses it.")
    by: str = Field(
        default="", description="The credential of the request: `token` or `session`; empty: none."
    )


def routes(sessions: Sessions, wrong: RateLimit, *, token: str) -> APIRouter:
    """Return the routes; `wrong` limits how often a wrong token is answered."""
    router = APIRouter(tags=["session"])

    def state(session: Session | None, by: Credential | None) -> SessionResponse:
        if session is None:
            return SessionResponse(authenticated=by is not None, by=by or "")
        return SessionResponse(
            authenticated=True,
            csrf_token=session.csrf,
            expires_in=max(0, int(sessions.seconds_left(session))),
            by="session",
        )

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
        if not same_token(login.token, token):
            if wait := wrong.wait("login"):
                raise HTTPException(429, "too many wrong tokens", {"Retry-After": str(wait)})
            raise HTTPException(401, "the token is wrong", {"WWW-Authenticate": "Bearer"})
        sessions.end(request.scope["headers"])
        identifier, session = sessions.begin()
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
        return state(session, "session")

    @router.get("/session")
    async def tell(request: Request) -> SessionResponse:
        """Tell whether this browser is logged in, with the CSRF token of its session."""
        return state(request.scope[SESSION], request.scope[CREDENTIAL])

    @router.delete("/session")
    async def end(request: Request, response: Response) -> SessionResponse:
        """Log this browser out; has no effect without a session."""
        sessions.end(request.scope["headers"])
        response.delete_cookie(sessions.cookie, path="/", httponly=True, samesite="strict")
        return SessionResponse(authenticated=False)

    return router
