"""What every request passes first: Host, Origin, token and size, before any route sees it."""

from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragmem.serve.auth import carries
from ragmem.serve.origin import Names, same_origin

MAX_BODY = 16 * 1024 * 1024
"""Bytes of a request's body."""

OPEN_PATHS = frozenset({"/health"})
"""What answers without the token; it reveals nothing private then."""

AUTHORISED = "ragmem.authorised"
"""The key in the ASGI scope that tells an open path whether the token came along."""

_TOO_LARGE = f"the body is larger than {MAX_BODY // 1024**2} MB"
_HEADERS = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


class Guard:
    """ASGI middleware that refuses what should not come in.

    403 for a foreign Host or Origin, 401 without the token, 413 for a large body. The size is checked when
    it is announced, and again while the body comes in.
    """

    def __init__(self, app: ASGIApp, *, token: str, names: Names) -> None:
        self.app = app
        self.token = token
        self.names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a refused request at once, hand the others on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send_guarded)
        else:
            await self.app(scope, _limited(receive), send_guarded)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        hosts = _values(scope, b"host")
        if len(hosts) != 1 or not self.names.knows(hosts[0]):
            return _refuse(
                403, "the Host header names another machine", "ask for http://127.0.0.1 or http://localhost"
            )
        if any(not same_origin(origin, hosts[0]) for origin in _values(scope, b"origin")):
            return _refuse(403, "requests from other web pages are refused", "")
        scope[AUTHORISED] = carries(scope["headers"], self.token)
        if not scope[AUTHORISED] and scope["path"] not in OPEN_PATHS:
            return _refuse(
                401,
                "the token is missing or wrong",
                "send it as `Authorization: Bearer` or `X-API-Key`; `ragmem serve --print-token` prints it",
            )
        return _too_large(_values(scope, b"content-length"))


def _refuse(status: int, detail: str, hint: str) -> JSONResponse:
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {"Connection": "close"}
    return JSONResponse({"detail": detail, "hint": hint}, status_code=status, headers=headers)


def _too_large(lengths: Sequence[str]) -> JSONResponse | None:
    if any(length.isdigit() and int(length[:20]) > MAX_BODY for length in lengths):
        return _refuse(413, _TOO_LARGE, "send the text in parts")
    return None


def _limited(receive: Receive) -> Receive:
    came = 0

    async def receive_limited() -> Message:
        nonlocal came
        message = await receive()
        if message["type"] == "http.request":
            came += len(message.get("body", b""))
            if came > MAX_BODY:
                raise HTTPException(413, _TOO_LARGE, {"Connection": "close"})
        return message

    return receive_limited
