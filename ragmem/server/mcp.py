"""MCP over HTTP at /mcp, by the official SDK: the same tools, resources and prompts as `ragmem mcp`."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ragmem import __version__
from ragmem.api.memory import Ragmem
from ragmem.mcp import operations
from ragmem.mcp.definitions import INSTRUCTIONS, RESOURCES, SERVER_NAME
from ragmem.mcp.stdio import protocol
from ragmem.server.http.workers import Workers
from ragmem.server.security.audit import AuditLog
from ragmem.server.security.guard import CREDENTIAL

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from ragmem.mcp.definitions import Profile

PATH = "/mcp"
METHODS = ("GET", "POST", "DELETE")

PROFILES: "tuple[Profile, ...]" = ("default", "full")

BEGINS_S = 10.0
"""Seconds from the start in which only a request for MCP loads the SDK, which keeps a processor for two."""

MOST_SESSIONS = 200
"""Sessions of each profile; one more is refused."""

IDLE_S = 1800.0
"""Seconds without a request after which a session is forgotten; its client begins another."""

MOST_BODY = 2 * 1024 * 1024
"""Bytes of a request."""

_Told = dict[str, Any]

_ASKING = frozenset(resource.uri for resource in RESOURCES if resource.asks)


class Mcp:
    """The ASGI application at /mcp; `hold` keeps it open for as long as the server runs."""

    def __init__(
        self, memory: Ragmem, workers: Workers, *, audit: AuditLog, warn: Callable[[str], None]
    ) -> None:
        self._memory = memory
        self._audit = audit
        self._workers = workers
        self._warn = warn
        self._managers: dict[str, StreamableHTTPSessionManager] = {}
        self._missing = ("the MCP SDK is missing or broken", "pip install 'ragmem[serve]'")
        self._ready = asyncio.Event()
        self._route = Route(PATH, self, methods=METHODS, include_in_schema=False)
        self._wanted = asyncio.Event()
        self._end = asyncio.Event()

    async def hold(self) -> None:
        """Import the SDK in a thread, which takes seconds, then answer until `end`; to be run as a task."""
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), BEGINS_S)
            managers = {} if self._end.is_set() else await self._workers.run(self._build)
            self._missing = ("the server ends", "try again when it is back")
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
        """Let `hold` return, and every open stream end."""
        self._end.set()
        self._wanted.set()

    def route(self) -> Route:
        """Return the route at which this answers."""
        return self._route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that has passed the guard."""
        # FastAPI's own routes say so of themselves; logs and metrics name the route.
        scope["route"] = self._route
        self._wanted.set()
        await self._ready.wait()
        wanted = _parameter(scope, "profile") or "default"
        if wanted not in PROFILES:
            refusal = {"detail": f'there is no profile "{wanted[:40]}"', "hint": "default or full"}
            await JSONResponse(refusal, status_code=422)(scope, receive, send)
        elif manager := self._managers.get(wanted):
            await manager.handle_request(scope, receive, send)
        else:
            refusal = dict(zip(("detail", "hint"), self._missing, strict=True))
            await JSONResponse(refusal, status_code=503)(scope, receive, send)

    def _build(self) -> "dict[str, StreamableHTTPSessionManager]":
        from mcp.server.lowlevel import Server
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        # What it logs quotes requests and answers, and a log would be a second, unguarded memory.
        logging.getLogger("mcp").setLevel(logging.CRITICAL)
        built: dict[str, StreamableHTTPSessionManager] = {}
        for profile in PROFILES:
            listed = partial(self._listed, profile)
            server: Server[Any] = Server(
                SERVER_NAME,
                version=__version__,
                title=SERVER_NAME,
                instructions=INSTRUCTIONS,
                on_list_tools=listed("tools/list"),
                on_list_prompts=listed("prompts/list"),
                on_list_resources=listed("resources/list"),
                on_list_resource_templates=listed("resources/templates/list"),
                on_call_tool=partial(self._tool, profile),
                on_read_resource=self._resource,
                on_get_prompt=self._prompt,
            )
            built[profile] = StreamableHTTPSessionManager(
                server,
                # The guard has looked at Host and Origin already.
                security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
                session_idle_timeout=IDLE_S,
                max_request_body_size=MOST_BODY,
                max_sessions=MOST_SESSIONS,
            )
        return built

    def _listed(self, profile: "Profile", method: str) -> Callable[..., Awaitable[Any]]:
        async def listed(context: Any, params: Any) -> _Told:
            told = _refusing(protocol.answer_without_memory, method, _plain(params), profile)
            return _dressed(method, told, context)

        return listed

    async def _tool(self, profile: "Profile", context: "ServerRequestContext[Any]", params: Any) -> Any:
        tool = _refusing(protocol.tool_of, profile, params.name)
        arguments = dict(params.arguments or {})
        until = time.monotonic() + (protocol.wait_seconds(arguments) if tool.waits else 0)
        while True:
            told = await self._ask(context, "tool", tool.name, arguments, quick=not tool.asks)
            if not tool.waits or protocol.is_over(told) or time.monotonic() >= until or self._end.is_set():
                if not tool.read_only:
                    self._audit.record_call(
                        tool.name,
                        who=_credential(context),
                        agent=_client(context),
                        failed=bool(told["is_error"]),
                        data=told.get("data"),
                    )
                return _dressed("tools/call", protocol.tool_result(told, structured=tool.structured), context)
            arguments = protocol.next_arguments(arguments, told)
            await asyncio.sleep(protocol.LOOK_S)

    async def _resource(self, context: "ServerRequestContext[Any]", params: Any) -> Any:
        quick = params.uri not in _ASKING
        told = await self._ask(context, "resource", params.uri, {}, quick=quick)
        if told["is_error"]:
            code = protocol.INVALID_PARAMS if _is_stateless(context) else protocol.NO_RESOURCE
            raise _error(protocol.Refused(code, told["text"], {"uri": params.uri}))
        return _dressed("resources/read", protocol.resource_result(params.uri, told["text"]), context)

    async def _prompt(self, context: "ServerRequestContext[Any]", params: Any) -> Any:
        told = await self._ask(context, "prompt", params.name, params.arguments or {})
        if told["is_error"]:
            raise _error(protocol.Refused(protocol.INVALID_PARAMS, told["text"]))
        return _dressed("prompts/get", protocol.prompt_result(told["text"]), context)

    async def _ask(
        self,
        context: "ServerRequestContext[Any]",
        operation: str,
        name: str,
        arguments: Mapping[str, Any],
        *,
        quick: bool = False,
    ) -> _Told:
        """Ask in a thread, past the questions where it is quick.

        No folder of a client is looked at: it may be another machine's.
        """
        request = {
            "op": operation,
            "name": name,
            "arguments": arguments,
            "session": _session(context),
            "agent": _client(context),
        }
        lane = self._workers.run if quick else self._workers.ask
        return await lane(lambda: operations.answer(self._memory, request))


def _session(context: "ServerRequestContext[Any]") -> str:
    named = context.request.headers.get("mcp-session-id") if context.request is not None else None
    return f"mcp-{named}" if isinstance(named, str) else ""


def _credential(context: "ServerRequestContext[Any]") -> str:
    known = context.request.scope.get(CREDENTIAL) if context.request is not None else None
    return known or "nobody"


def _client(context: "ServerRequestContext[Any]") -> str:
    said = context.session.client_params
    info = None if said is None else said.client_info
    return "" if info is None else info.name


def _is_stateless(context: "ServerRequestContext[Any]") -> bool:
    return context.protocol_version in protocol.STATELESS_VERSIONS


def _dressed(method: str, told: _Told, context: "ServerRequestContext[Any]") -> _Told:
    return protocol.add_stateless_fields(method, told, stateless=_is_stateless(context))


def _plain(params: Any) -> _Told:
    return {"cursor": params.cursor} if params is not None and params.cursor is not None else {}


def _refusing(call: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a call returns; what it refuses becomes the SDK's error."""
    try:
        return call(*arguments)
    except protocol.Refused as refused:
        raise _error(refused) from None


def _error(refused: protocol.Refused) -> Exception:
    from mcp.shared.exceptions import MCPError

    return MCPError(code=refused.code, message=str(refused), data=refused.data)


def _parameter(scope: Scope, name: str) -> str:
    from urllib.parse import parse_qs

    query: bytes = scope["query_string"]
    return parse_qs(query.decode("latin-1")).get(name, [""])[-1]
