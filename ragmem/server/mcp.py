"""MCP over HTTP at /mcp, by the official SDK: the same tools, resources and prompts as `ragmem mcp`."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from ragmem import __version__
from ragmem.api.memory import Ragmem
from ragmem.errors import ForbiddenError
from ragmem.mcp import dispatch
from ragmem.mcp.definitions import INSTRUCTIONS, RESOURCES, SERVER_NAME
from ragmem.mcp.stdio import protocol
from ragmem.ports.principal import Principal, acting_as
from ragmem.server.http.workers import Workers
from ragmem.server.security.audit import AuditLog
from ragmem.server.security.guard import CREDENTIAL, PRINCIPAL

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from ragmem.mcp.definitions import Profile

PATH = "/mcp"
METHODS = ("GET", "POST", "DELETE")

PROFILES: "tuple[Profile, ...]" = ("default", "full")

START_DELAY_S = 10.0
"""Seconds until the SDK is loaded without a request; loading it takes two seconds of a processor."""

MOST_SESSIONS = 200
"""Maximum sessions of each profile; one more is refused."""

MOST_TEAM_SESSIONS = 2_000
"""The same on a team's server."""

_SESSION_HEADER = b"mcp-session-id"

IDLE_S = 1800.0
"""Seconds without a request after which a session ends; its client begins another."""

MOST_BODY = 2 * 1024 * 1024
"""Maximum bytes of a request."""

_Document = dict[str, Any]

_QUESTION_URIS = frozenset(resource.uri for resource in RESOURCES if resource.asks)


class Mcp:
    """The ASGI application at /mcp; the task `hold` keeps it open while the server runs."""

    def __init__(
        self,
        memory: Ragmem,
        workers: Workers,
        *,
        audit: AuditLog,
        warn: Callable[[str], None],
        sessions: int = MOST_SESSIONS,
    ) -> None:
        """Allow `sessions` sessions of each profile."""
        self._memory = memory
        self._sessions = sessions
        # The member of each session; "" is the owner. Those that ended are forgotten when others come.
        self._members: OrderedDict[str, str] = OrderedDict()
        self._audit = audit
        self._workers = workers
        self._warn = warn
        self._managers: dict[str, StreamableHTTPSessionManager] = {}
        self._missing = ("the MCP SDK is missing or broken", "pip install 'ragmem[serve]'")
        self._ready = asyncio.Event()
        self.route = Route(PATH, self, methods=METHODS, include_in_schema=False)
        self._requested = asyncio.Event()
        self._end = asyncio.Event()

    async def hold(self) -> None:
        """Import the SDK in a thread, which takes seconds, then answer until `end`; run it as a task."""
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._requested.wait(), START_DELAY_S)
            managers = {} if self._end.is_set() else await self._workers.run(self._build)
            self._missing = ("the server is shutting down", "try again when it is back")
            async with AsyncExitStack() as stack:
                for manager in managers.values():
                    await stack.enter_async_context(manager.run())
                self._managers = managers
                self._ready.set()
                await self._end.wait()
        except Exception as error:  # noqa: BLE001 - the other routes are served without it
            self._warn(f"MCP is not served: {type(error).__name__}: {error}")
        finally:
            self._managers = {}
            self._ready.set()

    def end(self) -> None:
        """End `hold` and all open streams."""
        self._end.set()
        self._requested.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that has passed the guard."""
        # FastAPI sets it only for its own routes; logs and metrics need it.
        scope["route"] = self.route
        self._requested.set()
        await self._ready.wait()
        wanted = parse_qs(scope["query_string"].decode("latin-1")).get("profile", ["default"])[-1]
        if wanted not in PROFILES:
            refusal = {"detail": f'there is no profile "{wanted[:40]}"', "hint": "default or full"}
            await JSONResponse(refusal, status_code=422)(scope, receive, send)
        elif not self._is_own_session(scope):
            refusal = {"detail": "there is no such session", "hint": "start another: initialize"}
            await JSONResponse(refusal, status_code=404)(scope, receive, send)
        elif manager := self._managers.get(wanted):
            await manager.handle_request(scope, receive, self._noting(scope, send))
        else:
            refusal = dict(zip(("detail", "hint"), self._missing, strict=True))
            await JSONResponse(refusal, status_code=503)(scope, receive, send)

    def _is_own_session(self, scope: Scope) -> bool:
        """Return whether the session of a request, if it has one, was begun by the same member."""
        for name, value in scope["headers"]:
            if name == _SESSION_HEADER:
                session = value.decode("latin-1")
                if session in self._members:
                    self._members.move_to_end(session)
                # The SDK answers the owner, whatever the session is.
                if _member(scope) and self._members.get(session) != _member(scope):
                    return False
        return True

    def _noting(self, scope: Scope, send: Send) -> Send:
        """Return a `send` that notes whose session an answer begins."""

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                for name, value in message.get("headers", ()):
                    if name.lower() == _SESSION_HEADER:
                        self._members[value.decode("latin-1")] = _member(scope)
                # More than there can be open sessions, of all profiles together.
                while len(self._members) > 2 * len(PROFILES) * self._sessions:
                    self._members.popitem(last=False)
            await send(message)

        return noting

    def _build(self) -> "dict[str, StreamableHTTPSessionManager]":
        from mcp.server.lowlevel import Server
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        # Its log quotes requests and answers: that would be a second, unprotected memory.
        logging.getLogger("mcp").setLevel(logging.CRITICAL)
        built: dict[str, StreamableHTTPSessionManager] = {}
        for profile in PROFILES:
            listing = partial(self._list_handler, profile)
            server: Server[Any] = Server(
                SERVER_NAME,
                version=__version__,
                title=SERVER_NAME,
                instructions=INSTRUCTIONS,
                on_list_tools=listing("tools/list"),
                on_list_prompts=listing("prompts/list"),
                on_list_resources=listing("resources/list"),
                on_list_resource_templates=listing("resources/templates/list"),
                on_call_tool=partial(self._tool, profile),
                on_read_resource=self._resource,
                on_get_prompt=self._prompt,
            )
            built[profile] = StreamableHTTPSessionManager(
                server,
                # The guard has already checked Host and Origin.
                security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
                session_idle_timeout=IDLE_S,
                max_request_body_size=MOST_BODY,
                max_sessions=self._sessions,
            )
        return built

    def _list_handler(self, profile: "Profile", method: str) -> Callable[..., Awaitable[Any]]:
        async def answer(context: Any, params: Any) -> _Document:
            result = _translate_refusal(
                protocol.answer_without_memory, method, _list_parameters(params), profile
            )
            return _add_protocol_fields(method, result, context)

        return answer

    async def _tool(self, profile: "Profile", context: "ServerRequestContext[Any]", params: Any) -> Any:
        tool = _translate_refusal(protocol.tool_of, profile, params.name)
        principal = _principal(context)
        if principal is not None and not tool.read_only and not principal.may("writer"):
            result = dispatch.failure(
                ForbiddenError(
                    f"{tool.name} needs the role writer; {principal.member} is {principal.role}",
                    hint="an admin of the server assigns roles: ragmem serve members",
                )
            )
            self._record(context, tool.name, result)
            return _add_protocol_fields(
                "tools/call", protocol.tool_result(result, structured=tool.structured), context
            )
        arguments = dict(params.arguments or {})
        until = time.monotonic() + (protocol.wait_seconds(arguments) if tool.waits else 0)
        while True:
            result = await self._ask(context, "tool", tool.name, arguments, quick=not tool.asks)
            if not tool.waits or protocol.is_over(result) or time.monotonic() >= until or self._end.is_set():
                if not tool.read_only:
                    self._record(context, tool.name, result)
                return _add_protocol_fields(
                    "tools/call", protocol.tool_result(result, structured=tool.structured), context
                )
            arguments = protocol.next_arguments(arguments, result)
            await asyncio.sleep(protocol.LOOK_S)

    def _record(self, context: "ServerRequestContext[Any]", name: str, result: _Document) -> None:
        self._audit.record_call(
            name,
            who=_credential(context),
            principal=_principal(context),
            agent=_client(context),
            failed=bool(result["is_error"]),
            data=result.get("data"),
        )

    async def _resource(self, context: "ServerRequestContext[Any]", params: Any) -> Any:
        quick = params.uri not in _QUESTION_URIS
        result = await self._ask(context, "resource", params.uri, {}, quick=quick)
        if result["is_error"]:
            code = protocol.INVALID_PARAMS if _is_stateless(context) else protocol.NO_RESOURCE
            raise _error(protocol.ProtocolError(code, result["text"], {"uri": params.uri}))
        return _add_protocol_fields(
            "resources/read", protocol.resource_result(params.uri, result["text"]), context
        )

    async def _prompt(self, context: "ServerRequestContext[Any]", params: Any) -> Any:
        result = await self._ask(context, "prompt", params.name, params.arguments or {})
        if result["is_error"]:
            raise _error(protocol.ProtocolError(protocol.INVALID_PARAMS, result["text"]))
        return _add_protocol_fields("prompts/get", protocol.prompt_result(result["text"]), context)

    async def _ask(
        self,
        context: "ServerRequestContext[Any]",
        operation: str,
        name: str,
        arguments: Mapping[str, Any],
        *,
        quick: bool = False,
    ) -> _Document:
        """Ask in a thread; a quick operation does not wait behind questions.

        The client's folders are not read: they may be on another machine.
        """
        request = {
            "op": operation,
            "name": name,
            "arguments": arguments,
            "session": _session(context),
            "agent": _client(context),
        }
        lane = self._workers.run if quick else self._workers.ask
        # The SDK runs all calls of a session in the context of the request that began it.
        with acting_as(_principal(context)):
            return await lane(lambda: dispatch.answer(self._memory, request))


def _member(scope: Scope) -> str:
    principal: Principal | None = scope[PRINCIPAL]
    return principal.member if principal else ""


def _principal(context: "ServerRequestContext[Any]") -> Principal | None:
    """Return who acts in a call; raises RuntimeError for one that came without a request."""
    if context.request is None:
        raise RuntimeError("a call over HTTP has no request")
    principal: Principal | None = context.request.scope[PRINCIPAL]
    return principal


def _session(context: "ServerRequestContext[Any]") -> str:
    name = context.request.headers.get("mcp-session-id") if context.request is not None else None
    return f"mcp-{name}" if isinstance(name, str) else ""


def _credential(context: "ServerRequestContext[Any]") -> str:
    credential = context.request.scope.get(CREDENTIAL) if context.request is not None else None
    return credential or "nobody"


def _client(context: "ServerRequestContext[Any]") -> str:
    params = context.session.client_params
    info = None if params is None else params.client_info
    return "" if info is None else info.name


def _is_stateless(context: "ServerRequestContext[Any]") -> bool:
    return context.protocol_version in protocol.STATELESS_VERSIONS


def _add_protocol_fields(method: str, result: _Document, context: "ServerRequestContext[Any]") -> _Document:
    return protocol.add_stateless_fields(method, result, stateless=_is_stateless(context))


def _list_parameters(params: Any) -> _Document:
    return {"cursor": params.cursor} if params is not None and params.cursor is not None else {}


def _translate_refusal(call: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a call; its refusal becomes an error of the SDK."""
    try:
        return call(*arguments)
    except protocol.ProtocolError as refused:
        raise _error(refused) from None


def _error(refused: protocol.ProtocolError) -> Exception:
    from mcp.shared.exceptions import MCPError

    return MCPError(code=refused.code, message=str(refused), data=refused.data)
