"""Check every request before any route: Host, Origin, credentials, role, rate and size."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragmem.assistants.assistant import HOOK_PATH
from ragmem.ports.principal import NOBODY, Principal, acting_as
from ragmem.server.inference.api_errors import detail_of
from ragmem.server.security.access import role_for
from ragmem.server.security.auth import carries
from ragmem.server.security.guest_auth import HINT as KEY_HINT
from ragmem.server.security.guest_auth import refusal_of
from ragmem.server.security.oauth import InvalidTokenError
from ragmem.server.security.origin import Names, same_origin
from ragmem.server.security.rate_limit import RateLimit
from ragmem.server.security.security_headers import add_security_headers
from ragmem.server.security.sessions import Sessions
from ragmem.server.security.team import Grant, GrantKind, Team

MAX_BODY = 16 * 1024 * 1024
"""Maximum bytes of a body."""

MAX_OPEN_BODY = 16 * 1024
"""Maximum bytes of a body without credentials: a login needs no more."""

MAX_HELD = 16 * MAX_BODY
"""Maximum bytes of all bodies in progress."""

MAX_NESTING = 500_000
"""Maximum opening brackets and braces in a body: each becomes an object of 60 bytes or more."""

OPEN_PATHS = frozenset({"/health", "/session", "/auth-status", "/login", "/ui/customization"})
"""Paths that answer without the token; then they reveal nothing private."""

STATIC_PATHS = frozenset({"/", "/favicon.ico", "/favicon.svg", "/favicon.png", "/webui", "/workspace"})
STATIC_PREFIXES = ("/assets/", "/webui/", "/workspace/")
"""The files of web pages: they are the same for everybody, so they need no login."""

LOGIN_PATHS = frozenset({"/session", "/login"})
"""Paths whose POST has the token in its body, so that a cookie is irrelevant."""

READING_PATHS = frozenset(
    {
        *("/query", "/query/stream", "/query/data", "/context"),
        *("/documents/paginated", "/api/chat", "/api/generate"),
        *("/v1/memory/query", "/v1/memory/context", "/v1/memory/gc/plan"),
        *("/v1/embeddings", "/v1/chat/completions", "/mcp"),
    }
)
"""Paths whose POST changes nothing; the effect of a call over MCP is unknown here."""

MODELS_PREFIXES = ("/v1/models", "/v1/embeddings", "/v1/chat/")
"""The paths of OpenAI's clients."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

Credential: TypeAlias = Literal["token", "session"] | GrantKind

RESOURCE_PATH = "/.well-known/oauth-protected-resource"
"""Where a client finds the issuer of access tokens (RFC 9728); the path of a resource may follow."""

RESOURCE_PATHS = frozenset({RESOURCE_PATH, f"{RESOURCE_PATH}/mcp"})

AUTHORISED = "ragmem.authorised"
"""The key in the ASGI scope for whether the request has a token or the cookie of a session."""
CREDENTIAL = "ragmem.credential"
"""The key of the kind of credential: a Credential, or None."""
SESSION = "ragmem.session"
"""The key of the Session of the cookie, or None."""
PRINCIPAL = "ragmem.principal"
"""The key of the member's Principal; None for the owner, who has the server's token."""
_GRANT = "ragmem.grant"

_CLOSE = {"Connection": "close"}
_METHODS = SAFE_METHODS | {"POST", "PUT", "PATCH", "DELETE"}
_OTHER_PAGE = "requests from other web pages are refused"


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def changes(scope: Scope) -> bool:
    """Return whether a request may change stored data, by its method and path; the event of a hook asks."""
    path = scope["path"]
    if scope["method"] in SAFE_METHODS or path in READING_PATHS | LOGIN_PATHS:
        return False
    return not path.startswith(f"{HOOK_PATH}/")


class Guard:
    """ASGI middleware that refuses forbidden requests.

    400 for a target that is not a path, 403 for a foreign Host or Origin, for a cookie without the CSRF
    token and for a role that does not suffice, 401 without credentials, 413 for a large body, 429 for too
    many writes or wrong tokens. The size is checked in the header, and again while the body comes in.

    With a team, the request acts for its member; `record` gets an entry for each role that does not suffice.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str,
        names: Names,
        sessions: Sessions,
        unauthorised: RateLimit,
        writes: RateLimit,
        team: Team | None = None,
        record: Callable[..., None] = lambda **_: None,
    ) -> None:
        self.app = app
        self.token = token
        self.names = names
        self.sessions = sessions
        self.unauthorised = unauthorised
        self.writes = writes
        self.team = team
        self.record = record
        self.held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refused request at once; pass the others on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        over = False

        async def send_guarded(message: Message) -> None:
            nonlocal over
            if over:
                return
            if message["type"] == "http.response.start":
                headers = message.get("headers", ())
                message["headers"] = add_security_headers(
                    headers, path=scope["path"], status=message["status"]
                )
            elif message.get("more_body") and not _is_current(scope):
                # A stream ends with the credential that began it.
                message, over = {"type": "http.response.body", "body": b""}, True
            await send(message)

        refusal = (
            self._check_origin(scope)
            or await self._check_credentials(scope)
            or self._check_role(scope)
            or self._check_limits(scope)
        )
        if refusal is not None:
            await refusal.answer(scope["path"])(scope, receive, send_guarded)
        else:
            body = _Body(self, scope, receive)
            try:
                with acting_as(self._actor(scope)):
                    await self.app(scope, body.receive, send_guarded)
            finally:
                self.held -= body.size

    def _actor(self, scope: Scope) -> Principal | None:
        """Return who acts in a request: its member; nobody without credentials; None for the owner."""
        if self.team is not None and not scope[AUTHORISED]:
            return NOBODY
        principal: Principal | None = scope[PRINCIPAL]
        return principal

    def _check_origin(self, scope: Scope) -> "_Refusal | None":
        if not scope["path"].startswith("/"):
            return _Refusal(400, "the request target is not a path", "send `GET /path`, and the host as Host")
        hosts = _values(scope, b"host")
        if len(hosts) != 1 or not self.names.knows(hosts[0]):
            return _Refusal(
                403,
                "the Host header names another machine",
                "use http://127.0.0.1 or http://localhost; add other names to [serve] hosts",
            )
        origins = _values(scope, b"origin")
        if len(origins) > 1 or any(not same_origin(origin, hosts[0]) for origin in origins):
            return _Refusal(403, _OTHER_PAGE, "")
        sites = {site.strip().lower() for site in _values(scope, b"sec-fetch-site")}
        # A page on another port of this host is of the same site: its requests carry the cookie.
        if sites - {"same-origin", "none"} and not _is_visit(scope):
            return _Refusal(403, _OTHER_PAGE, "")
        return None

    async def _check_credentials(self, scope: Scope) -> "_Refusal | None":
        has_token = carries(scope["headers"], self.token)
        session = self.sessions.find(scope["headers"])
        grant: Grant | None = None
        refused = ""
        if self.team is not None and not has_token:
            try:
                grant = await self.team.authenticate(scope["headers"])
            except InvalidTokenError as error:
                refused = str(error)
        credential: Credential | None = "token" if has_token else grant.kind if grant else None
        if credential is None and session is not None:
            if session.member_hash:
                grant = self.team.grant_of(session.member_hash) if self.team is not None else None
            if session.member_hash and grant is None:
                self.sessions.end(scope["headers"])
                session = None
            else:
                credential = "session"
        scope[AUTHORISED] = credential is not None
        scope[CREDENTIAL] = credential
        scope[SESSION] = session
        scope[PRINCIPAL] = grant.principal if grant else None
        scope[_GRANT] = grant
        method = scope["method"]
        if credential is None:
            return None if _is_open(scope) else self._refuse_unauthorised(scope, refused)
        if session is not None and credential == "session" and method not in SAFE_METHODS:
            if method == "POST" and scope["path"] in LOGIN_PATHS:
                return None
            given = _values(scope, b"x-csrf-token")
            if len(given) != 1 or not session.accepts(given[0]):
                return _Refusal(
                    403, "the CSRF token is missing or wrong", "GET /session returns it to the page"
                )
        return None

    def _refuse_unauthorised(self, scope: Scope, refused: str) -> "_Refusal":
        if wait := self.unauthorised.wait("token"):
            return _Refusal(429, "too many requests without the token", "", wait=wait)
        if guest := refusal_of(scope["headers"]):
            return _Refusal(403, guest, KEY_HINT)
        return _Refusal(
            401,
            refused or "the token is missing or wrong",
            "get a new one from the issuer"
            if refused
            else "send it as `Authorization: Bearer` or `X-API-Key`; `ragmem serve --print-token` prints it",
            challenge=self._challenge(scope, 'error="invalid_token"' if refused else ""),
        )

    def _check_role(self, scope: Scope) -> "_Refusal | None":
        principal: Principal | None = scope[PRINCIPAL]
        if principal is None:
            return None
        if self.team is not None and (wait := self.team.requests.wait(principal.member)):
            return _Refusal(
                429,
                "too many requests of this member",
                "the limit is [serve] requests_per_minute in config.toml",
                wait=wait,
            )
        role, route = role_for(scope["method"], scope["path"])
        if not principal.may(role):
            method = scope["method"]
            self.record(
                who=scope[CREDENTIAL],
                member=principal.member,
                method=method if method in _METHODS else "other",
                route=route,
                status=403,
            )
            challenge = ""
            if self.team is not None and self.team.oauth is not None:
                scopes = f'error="insufficient_scope", scope="{self.team.oauth.scope(role)}"'
                challenge = self._challenge(scope, scopes)
            return _Refusal(
                403,
                f"this needs the role {role}; {principal.member} is {principal.role}",
                "an admin of the server assigns roles: ragmem serve members",
                challenge=challenge,
            )
        return None

    def _challenge(self, scope: Scope, error: str) -> str:
        """Return WWW-Authenticate, with the place of the resource's metadata where there is an issuer."""
        if self.team is None or self.team.oauth is None:
            return "Bearer"
        metadata = RESOURCE_PATH + ("/mcp" if scope["path"] == "/mcp" else "")
        parts = [error] if error else []
        return "Bearer " + ", ".join([*parts, f'resource_metadata="{origin_of(scope)}{metadata}"'])

    def _check_limits(self, scope: Scope) -> "_Refusal | None":
        if changes(scope):
            session, principal = scope[SESSION], scope[PRINCIPAL]
            who = f"session {session.csrf}" if session and scope[CREDENTIAL] == "session" else "token"
            who = f"member {principal.member}" if principal else who
            if wait := self.writes.wait(who):
                return _Refusal(
                    429,
                    "too many writes",
                    "the limit is [serve] writes_per_minute in config.toml",
                    wait=wait,
                )
        if any(_exceeds(length, _most(scope)) for length in _values(scope, b"content-length")):
            return _Refusal(413, _too_large(scope), "send the text in parts")
        return None


def origin_of(scope: Scope) -> str:
    """Return scheme and host of a request whose Host header was checked, as the begin of a URL."""
    return f"{scope.get('scheme', 'http')}://{_values(scope, b'host')[0]}"


def _is_current(scope: Scope) -> bool:
    grant: Grant | None = scope.get(_GRANT)
    return grant is None or grant.is_current()


def _is_visit(scope: Scope) -> bool:
    """Return whether a user follows a link to a page without private content."""
    modes = _values(scope, b"sec-fetch-mode")
    pages = STATIC_PATHS | {"/webui/", "/workspace/"}
    return scope["method"] == "GET" and scope["path"] in pages and modes == ["navigate"]


def _is_open(scope: Scope) -> bool:
    path = scope["path"]
    if path in OPEN_PATHS or (path in RESOURCE_PATHS and scope["method"] == "GET"):
        return True
    static = path in STATIC_PATHS or path.startswith(STATIC_PREFIXES)
    return static and scope["method"] in {"GET", "HEAD"}


@dataclass(frozen=True, slots=True)
class _Refusal:
    """The reason to refuse a request, and the seconds until it may succeed."""

    status: int
    detail: str
    hint: str
    wait: int = 0
    challenge: str = ""

    def answer(self, path: str) -> JSONResponse:
        """Return the answer; for the paths of models also in OpenAI's format."""
        # The rejected request may have a body on the way, which is never read.
        headers = dict(_CLOSE)
        if self.challenge:
            headers["WWW-Authenticate"] = self.challenge
        if self.wait:
            headers["Retry-After"] = str(self.wait)
        document: dict[str, Any] = {"detail": self.detail, "hint": self.hint}
        if path.startswith(MODELS_PREFIXES):
            message = f"{self.detail}; {self.hint}" if self.hint else self.detail
            document["error"] = detail_of(
                self.status, message, code="invalid_api_key" if self.status == 401 else None
            )
        return JSONResponse(document, status_code=self.status, headers=headers)


def _exceeds(length: str, most: int) -> bool:
    return length.isdigit() and int(length[:20]) > most


def _most(scope: Scope) -> int:
    return MAX_BODY if scope[AUTHORISED] else MAX_OPEN_BODY


def _too_large(scope: Scope) -> str:
    return f"the body is larger than {_most(scope) // 1024:,} KB"


class _Body:
    """The incoming body of a request, checked against the limits."""

    def __init__(self, guard: Guard, scope: Scope, receive: Receive) -> None:
        self._guard = guard
        self._scope = scope
        self._receive = receive
        self._nested = 0
        self.size = 0

    async def receive(self) -> Message:
        """Return the next part; raises HTTPException above a limit."""
        message = await self._receive()
        if message["type"] != "http.request":
            return message
        part = message.get("body", b"")
        self.size += len(part)
        self._guard.held += len(part)
        self._nested += part.count(b"[") + part.count(b"{")
        if self.size > _most(self._scope):
            raise HTTPException(413, _too_large(self._scope), _CLOSE)
        if self._nested > MAX_NESTING:
            raise HTTPException(413, "the body holds too many lists and objects", _CLOSE)
        if self._guard.held > MAX_HELD and self.size > MAX_OPEN_BODY:
            raise HTTPException(503, "too many large requests at once", {**_CLOSE, "Retry-After": "2"})
        return message
