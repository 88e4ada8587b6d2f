"""The part of MCP that needs no memory: versions, the handshake, lists, errors.

Two forms of the protocol are served. Up to 2025-11-25 a client begins with `initialize`; since 2026-07-28
there is no handshake, and each request carries its version in `_meta`.
"""

from ragmem import __version__
from ragmem.mcp.definitions import (
    INSTRUCTIONS,
    MAX_TIMEOUT_S,
    PROMPTS,
    RESOURCES,
    SERVER_NAME,
    find_tool,
    tools_of,
)

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ragmem.mcp.definitions import Profile, Tool

    Params = dict[str, Any]

HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions that begin with `initialize`, newest first."""

STATELESS_VERSIONS = ("2026-07-28",)
"""Versions without a handshake."""

BATCH_VERSIONS = frozenset({"2024-11-05", "2025-03-26"})
"""Versions that allow an array of messages."""

PARSE_ERROR = -32700
INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL_ERROR = -32600, -32601, -32602, -32603
NO_RESOURCE, UNSUPPORTED_VERSION = -32002, -32022

DEFAULT_TIMEOUT_S = 60.0
"""Seconds that a call waits which does not give a timeout."""

LOOK_S = 0.25
"""Seconds between two checks for events."""

_META = "io.modelcontextprotocol/"
VERSION_KEY, CLIENT_KEY = f"{_META}protocolVersion", f"{_META}clientInfo"
CAPABILITIES_KEY, SERVER_KEY = f"{_META}clientCapabilities", f"{_META}serverInfo"

CALLS = frozenset({"tools/call", "resources/read", "prompts/get"})
"""Requests that the memory answers."""

_CACHED = {
    "server/discover": 3_600_000,
    "tools/list": 3_600_000,
    "prompts/list": 3_600_000,
    "resources/list": 3_600_000,
    "resources/templates/list": 3_600_000,
    "resources/read": 0,
}
"""Milliseconds for which a client of a stateless version may cache an answer; lists change with releases."""

# A tuple, because the value to look up may be any JSON, and objects cannot be hashed.
_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_ONLY_HANDSHAKE = frozenset({"initialize", "ping", "logging/setLevel"})
_ONLY_STATELESS = frozenset({"server/discover"})


class ProtocolError(Exception):
    """A request that is answered with an error of JSON-RPC."""

    def __init__(self, code: int, message: str, data: "Any" = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    @property
    def error(self) -> "Params":
        """The member `error` of the answer."""
        found: Params = {"code": self.code, "message": str(self)}
        return found if self.data is None else {**found, "data": self.data}


def is_stateless(params: "Params") -> bool:
    """Return whether a request carries its version itself."""
    meta = params.get("_meta")
    return isinstance(meta, dict) and VERSION_KEY in meta


def check_version(method: str, params: "Params") -> bool:
    """Return whether a request is of a stateless version; raises ProtocolError for a method it lacks."""
    stateless = is_stateless(params)
    if stateless:
        meta = params["_meta"]
        version = meta[VERSION_KEY]
        if not isinstance(version, str):
            raise ProtocolError(INVALID_PARAMS, f"{VERSION_KEY} is not a text")
        if CAPABILITIES_KEY not in meta:
            raise ProtocolError(INVALID_PARAMS, f"_meta lacks {CAPABILITIES_KEY}")
        if version not in STATELESS_VERSIONS:
            said = {"supported": list(STATELESS_VERSIONS), "requested": version}
            raise ProtocolError(UNSUPPORTED_VERSION, "unsupported protocol version", said)
    if method in (_ONLY_HANDSHAKE if stateless else _ONLY_STATELESS):
        raise ProtocolError(NO_METHOD, "method not found", method)
    return stateless


def negotiate_version(asked: "Any") -> str:
    """Return the version to use with a client that requests this one in `initialize`."""
    return asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]


def answer_without_memory(method: str, params: "Params", profile: "Profile") -> "Params":
    """Return the result of a request that needs no memory; raises ProtocolError for other methods."""
    if method in _LISTS:
        if params.get("cursor") is not None:
            raise ProtocolError(INVALID_PARAMS, "there is no further page", params["cursor"])
        return _LISTS[method](profile)
    match method:
        case "ping":
            return {}
        case "initialize":
            if not isinstance(params.get("protocolVersion"), str):
                raise ProtocolError(INVALID_PARAMS, "initialize needs protocolVersion, a text")
            return {
                "protocolVersion": negotiate_version(params["protocolVersion"]),
                **_about(),
                "serverInfo": server(),
            }
        case "server/discover":
            return {"supportedVersions": list(STATELESS_VERSIONS), **_about()}
        case "logging/setLevel":
            if params.get("level") not in _LEVELS:
                raise ProtocolError(
                    INVALID_PARAMS, "logging/setLevel needs level, one of the levels of syslog"
                )
            return {}
    raise ProtocolError(NO_METHOD, "method not found", method)


_LISTS: "dict[str, Callable[[Profile], Params]]" = {
    "tools/list": lambda profile: {"tools": [tool.to_json() for tool in tools_of(profile)]},
    "prompts/list": lambda _: {"prompts": [prompt.to_json() for prompt in PROMPTS]},
    "resources/list": lambda _: {"resources": [one.to_json() for one in RESOURCES if not one.is_template]},
    "resources/templates/list": lambda _: {
        "resourceTemplates": [one.to_json() for one in RESOURCES if one.is_template]
    },
}


def add_stateless_fields(method: str, result: "Params", *, stateless: bool) -> "Params":
    """Return a result with the extra fields of stateless versions."""
    if not stateless:
        return result
    told: Params = {**result, "resultType": "complete", "_meta": {SERVER_KEY: server()}}
    if method in _CACHED:
        told |= {"ttlMs": _CACHED[method], "cacheScope": "private"}
    return told


def tool_result(told: "Params", *, structured: bool) -> "Params":
    """Return the answer of a tool as the result of `tools/call`, with its data if `structured`."""
    result: Params = {"content": [{"type": "text", "text": told["text"]}], "isError": told["is_error"]}
    return {**result, "structuredContent": told["data"]} if structured and not told["is_error"] else result


def resource_result(uri: str, text: str) -> "Params":
    """Return the text of a resource as the result of `resources/read`."""
    return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]}


def prompt_result(text: str) -> "Params":
    """Return the text of a prompt as the result of `prompts/get`."""
    return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


def tool_of(profile: "Profile", name: str) -> "Tool":
    """Return a tool of a profile by its name; raises ProtocolError for an unknown one."""
    tool = find_tool(name)
    if tool is None or tool not in tools_of(profile):
        of_full = "" if tool is None else " (it is of the profile full)"
        raise ProtocolError(INVALID_PARAMS, f"unknown tool: {name[:60]}{of_full}")
    return tool


def wait_seconds(arguments: "Params") -> float:
    """Return the timeout in the arguments of a tool that waits, in seconds."""
    said = arguments.get("timeout_seconds", DEFAULT_TIMEOUT_S)
    usable = isinstance(said, int | float) and not isinstance(said, bool)
    return float(min(said, MAX_TIMEOUT_S)) if usable else 0.0


def is_over(told: "Params") -> bool:
    """Return whether the answer of a tool that waits has events or is an error."""
    return bool(told["is_error"] or told["data"].get("events"))


def waits_for_events(params: "Params") -> bool:
    """Return whether a call is of a tool that waits for events."""
    name = params.get("name")
    tool = find_tool(name) if isinstance(name, str) else None
    return tool is not None and tool.waits


def next_arguments(arguments: "Params", told: "Params") -> "Params":
    """Return the arguments for the next call of a tool that waits, after this answer."""
    cursor = told["data"].get("cursor")
    return arguments if cursor is None else {**arguments, "cursor": cursor}


def server() -> "Params":
    """Return name and version of this server."""
    return {"name": SERVER_NAME, "title": SERVER_NAME, "version": __version__}


def client_of(method: str, params: "Params") -> str:
    """Return the name of the client in a request; empty without one."""
    meta = params.get("_meta")
    said = params.get("clientInfo") if method == "initialize" else (meta or {}).get(CLIENT_KEY)
    name = said.get("name") if isinstance(said, dict) else None
    return name if isinstance(name, str) else ""


def _about() -> "Params":
    offered: Params = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}
    return {"capabilities": offered, "instructions": INSTRUCTIONS}
