"""What MCP asks of every server that needs no memory for its answer: versions, the handshake, lists, errors.

Two ways of talking are served. Up to 2025-11-25 a client begins with `initialize`; since 2026-07-28 there is
no beginning, and each request carries its version in `_meta`.
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
"""Versions that begin with `initialize`, the newest first."""

STATELESS_VERSIONS = ("2026-07-28",)
"""Versions whose requests stand alone."""

BATCH_VERSIONS = frozenset({"2024-11-05", "2025-03-26"})
"""Versions in which several messages may come as one array."""

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL_ERROR = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32603,
)
NO_RESOURCE, UNSUPPORTED_VERSION = -32002, -32022

DEFAULT_TIMEOUT_S = 60.0
"""Seconds that a call of a tool waits which says nothing of them."""

LOOK_S = 0.25
"""Seconds between two looks at whether what is waited for has come."""

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
"""Milliseconds for which a client of a stateless version may keep an answer; lists change with releases."""

# A tuple: what is asked of it may be any JSON, and an object can be looked up in no set.
_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_ONLY_HANDSHAKE = frozenset({"initialize", "ping", "logging/setLevel"})
_ONLY_STATELESS = frozenset({"server/discover"})


class Refused(Exception):  # noqa: N818 - an answer that JSON-RPC has for it
    """A request that is answered by an error of this code."""

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
    """Tell whether a request says its version itself."""
    meta = params.get("_meta")
    return isinstance(meta, dict) and VERSION_KEY in meta


def check_version(method: str, params: "Params") -> bool:
    """Return whether a request is of a stateless version; raises Refused where that lacks the method."""
    stateless = is_stateless(params)
    if stateless:
        meta = params["_meta"]
        version = meta[VERSION_KEY]
        if not isinstance(version, str):
            raise Refused(INVALID_PARAMS, f"{VERSION_KEY} is no text")
        if CAPABILITIES_KEY not in meta:
            raise Refused(INVALID_PARAMS, f"_meta lacks {CAPABILITIES_KEY}")
        if version not in STATELESS_VERSIONS:
            said = {"supported": list(STATELESS_VERSIONS), "requested": version}
            raise Refused(UNSUPPORTED_VERSION, "unsupported protocol version", said)
    if method in (_ONLY_HANDSHAKE if stateless else _ONLY_STATELESS):
        raise Refused(NO_METHOD, "method not found", method)
    return stateless


def negotiate_version(asked: "Any") -> str:
    """Return the version to speak with a client that begins with `initialize` and asks for this one."""
    return asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]


def answer_without_memory(method: str, params: "Params", profile: "Profile") -> "Params":
    """Return the result of a request that needs no memory; raises Refused for every other method."""
    if method in _LISTS:
        if params.get("cursor") is not None:
            raise Refused(INVALID_PARAMS, "there is no further page", params["cursor"])
        return _LISTS[method](profile)
    match method:
        case "ping":
            return {}
        case "initialize":
            if not isinstance(params.get("protocolVersion"), str):
                raise Refused(INVALID_PARAMS, "initialize needs protocolVersion, a text")
            return {
                "protocolVersion": negotiate_version(params["protocolVersion"]),
                **_about(),
                "serverInfo": server(),
            }
        case "server/discover":
            return {"supportedVersions": list(STATELESS_VERSIONS), **_about()}
        case "logging/setLevel":
            if params.get("level") not in _LEVELS:
                raise Refused(INVALID_PARAMS, "logging/setLevel needs level, one of the levels of syslog")
            return {}
    raise Refused(NO_METHOD, "method not found", method)


_LISTS: "dict[str, Callable[[Profile], Params]]" = {
    "tools/list": lambda profile: {"tools": [tool.listed() for tool in tools_of(profile)]},
    "prompts/list": lambda _: {"prompts": [prompt.listed() for prompt in PROMPTS]},
    "resources/list": lambda _: {"resources": [one.listed() for one in RESOURCES if not one.is_template]},
    "resources/templates/list": lambda _: {
        "resourceTemplates": [one.listed() for one in RESOURCES if one.is_template]
    },
}


def add_stateless_fields(method: str, result: "Params", *, stateless: bool) -> "Params":
    """Return a result with what the answers of a stateless version carry besides."""
    if not stateless:
        return result
    told: Params = {**result, "resultType": "complete", "_meta": {SERVER_KEY: server()}}
    if method in _CACHED:
        told |= {"ttlMs": _CACHED[method], "cacheScope": "private"}
    return told


def tool_result(told: "Params", *, structured: bool) -> "Params":
    """Return what a tool told as the result of `tools/call`, with its data beside it where that is wanted."""
    result: Params = {"content": [{"type": "text", "text": told["text"]}], "isError": told["is_error"]}
    return {**result, "structuredContent": told["data"]} if structured and not told["is_error"] else result


def resource_result(uri: str, text: str) -> "Params":
    """Return the text of a resource as the result of `resources/read`."""
    return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]}


def prompt_result(text: str) -> "Params":
    """Return the text of a prompt as the result of `prompts/get`."""
    return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


def tool_of(profile: "Profile", name: str) -> "Tool":
    """Return a tool of a profile by its name; raises Refused for one that it has not."""
    tool = find_tool(name)
    if tool is None or tool not in tools_of(profile):
        of_full = "" if tool is None else " (it is of the profile full)"
        raise Refused(INVALID_PARAMS, f"unknown tool: {name[:60]}{of_full}")
    return tool


def wait_seconds(arguments: "Params") -> float:
    """Return for how many seconds a call of a tool that waits wants to wait."""
    said = arguments.get("timeout_seconds", DEFAULT_TIMEOUT_S)
    usable = isinstance(said, int | float) and not isinstance(said, bool)
    return float(min(said, MAX_TIMEOUT_S)) if usable else 0.0


def is_over(told: "Params") -> bool:
    """Tell whether a tool that waits has something to tell."""
    return bool(told["is_error"] or told["data"].get("events"))


def next_arguments(arguments: "Params", told: "Params") -> "Params":
    """Return the arguments with which a tool that waits is called again, after it told this."""
    cursor = told["data"].get("cursor")
    return arguments if cursor is None else {**arguments, "cursor": cursor}


def server() -> "Params":
    """Return who answers."""
    return {"name": SERVER_NAME, "title": SERVER_NAME, "version": __version__}


def client_of(method: str, params: "Params") -> str:
    """Return the name of the client that a request gives, empty where it gives none."""
    meta = params.get("_meta")
    said = params.get("clientInfo") if method == "initialize" else (meta or {}).get(CLIENT_KEY)
    name = said.get("name") if isinstance(said, dict) else None
    return name if isinstance(name, str) else ""


def _about() -> "Params":
    offered: Params = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}
    return {"capabilities": offered, "instructions": INSTRUCTIONS}
