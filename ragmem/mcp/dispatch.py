"""Call tools, resources and prompts, and answer the requests for them that come over a socket."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.client.connection import MOST_BYTES
from ragmem.domain.injection.memory_frame import escape_tags
from ragmem.errors import RagmemError, UsageError
from ragmem.mcp.agents import (
    acknowledge,
    check_messages,
    list_agents,
    report_status,
    send_to_agent,
    wait_for_events,
)
from ragmem.mcp.arguments import check_arguments, clean, folder_field, text_field
from ragmem.mcp.call import Call, Result, hint_of
from ragmem.mcp.definitions import TOOLS, find_tool
from ragmem.mcp.frame import shorten
from ragmem.mcp.get import get
from ragmem.mcp.records import get_recent_episodes, search_episodes, search_knowledge
from ragmem.mcp.resources import render_prompt, resource
from ragmem.mcp.search import search
from ragmem.mcp.store import add_session_insight, record_episode, remember, store_knowledge
from ragmem.mcp.timeline import impact, status, timeline

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

__all__ = ["Result", "call", "prompt", "read_resource"]

MAX_ERROR_CHARS = 600
"""Characters of an error: it quotes the input, which may be long."""

_HANDLERS: Mapping[str, Callable[[Call], Result]] = {
    "search": search,
    "get": get,
    "remember": remember,
    "timeline": timeline,
    "impact": impact,
    "status": status,
    "store_knowledge": store_knowledge,
    "search_knowledge": search_knowledge,
    "record_episode": record_episode,
    "get_recent_episodes": get_recent_episodes,
    "search_episodes": search_episodes,
    "add_session_insight": add_session_insight,
    "report_status": report_status,
    "list_agents": list_agents,
    "send_to_agent": send_to_agent,
    "check_messages": check_messages,
    "acknowledge": acknowledge,
    "wait_for_events": wait_for_events,
}


def call(
    memory: "Ragmem",
    name: str,
    arguments: Mapping[str, Any],
    *,
    session: str = "",
    agent: str = "",
    cwd: Path | None = None,
) -> Result:
    """Return the result of a tool; `cwd` is the folder of the caller (None: that of this process).

    `session` is the session of the calling assistant; the memories that it reads count as recalled. `agent`
    is the name of the caller. Never raises RagmemError: an error is a result with `is_error`. Blocks as long
    as a question takes, and never waits for events: the result of a tool that `waits` has a `cursor` for the
    next call.
    """
    tool = find_tool(name)
    try:
        if tool is None or name not in _HANDLERS:
            raise UsageError(
                f'there is no tool "{name[:60]}"', hint=f"tools: {', '.join(each.name for each in TOOLS)}"
            )
        return _HANDLERS[name](Call(memory, check_arguments(tool, arguments), session, agent, cwd))
    except RagmemError as error:
        return error_result(error)


def error_result(error: RagmemError) -> Result:
    """Return an error as a result; nothing that it quotes can close a frame of the assistant."""
    detail, hint = (escape_tags(shorten(clean(one), MAX_ERROR_CHARS)) for one in (str(error), hint_of(error)))
    text = f"error: {detail}" + (f"\nhint: {hint}" if hint else "")
    return Result(text, {"detail": detail, "hint": hint}, is_error=True)


def read_resource(memory: "Ragmem", uri: str, *, session: str = "", cwd: Path | None = None) -> Result:
    """Return the text of a resource; for an unknown address, a result with `is_error`."""
    try:
        return resource(Call(memory, {}, session, "", cwd), clean(uri))
    except RagmemError as error:
        return error_result(error)


def prompt(
    memory: "Ragmem", name: str, arguments: Mapping[str, str], *, session: str = "", cwd: Path | None = None
) -> Result:
    """Return the text of a prompt, for the user's message; for an unknown name, a result with `is_error`."""
    try:
        given = {key: clean(value) for key, value in arguments.items()}
        return render_prompt(Call(memory, given, session, "", cwd), name)
    except RagmemError as error:
        return error_result(error)


MOST_ANSWER = MOST_BYTES - 64 * 1024
"""Bytes of an answer as JSON, with room for the transport's own fields."""

CUT = "\n\n[the rest is left out: it is too long for one answer; ask for less]"


def answer(memory: "Ragmem", request: Mapping[str, Any]) -> dict[str, Any]:
    """Return text, data and is_error for a request whose `op` is tool, resource or prompt.

    `name` is the name of a tool or prompt, or the address of a resource. A request may have `arguments`,
    `session`, `agent` and `cwd`. Never raises RagmemError: the text of an error comes with `is_error`.
    """
    try:
        return _limit_size(_dispatch(memory, request))
    except RagmemError as error:
        return failure(error)


def failure(error: RagmemError) -> dict[str, Any]:
    """Return an error in the form of an answer."""
    return _as_json(error_result(error))


def _dispatch(memory: "Ragmem", request: Mapping[str, Any]) -> dict[str, Any]:
    arguments = request.get("arguments") or {}
    if not isinstance(arguments, Mapping):
        raise UsageError("arguments is not an object", hint="send a JSON object")
    folder = folder_field(request, "cwd")
    name, session = text_field(request, "name"), text_field(request, "session")
    match request.get("op"):
        case "tool":
            agent = text_field(request, "agent")
            result = call(memory, name, arguments, session=session, agent=agent, cwd=folder)
        case "resource":
            result = read_resource(memory, name, session=session, cwd=folder)
        case "prompt":
            texts = {key: str(value) for key, value in arguments.items()}
            result = prompt(memory, name, texts, session=session, cwd=folder)
        case _:
            raise UsageError(
                f'"{text_field(request, "op")[:40]}" is not an operation', hint="tool, resource or prompt"
            )
    return _as_json(result)


def _as_json(result: Result) -> dict[str, Any]:
    return {"text": result.text, "data": dict(result.data), "is_error": result.is_error}


def _limit_size(found: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that fits into one line of a socket: drop its data, then the end of its text."""
    if len(json.dumps(found)) <= MOST_ANSWER:
        return found
    found = {**found, "data": {}}
    while len(json.dumps(found)) > MOST_ANSWER:
        found["text"] = found["text"][: len(found["text"]) // 2]
    return {**found, "text": found["text"] + CUT}
