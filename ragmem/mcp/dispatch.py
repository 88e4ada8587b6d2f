"""Call tools, resources and prompts, and answer the requests for them that come over a socket."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ragmem.client.connection import MOST_BYTES
from ragmem.domain.injection.memory_frame import escape_tags
from ragmem.errors import NotFoundError, RagmemError, UsageError
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
from ragmem.mcp.definitions import PROMPTS, TOOLS, find_tool
from ragmem.mcp.frame import frame_lines, one_line, shorten
from ragmem.mcp.get import get
from ragmem.mcp.records import get_recent_episodes, search_episodes, search_knowledge
from ragmem.mcp.search import search
from ragmem.mcp.store import add_session_insight, record_episode, remember, store_knowledge
from ragmem.mcp.timeline import impact, session_briefing, status, timeline
from ragmem.services.graph.shapes import entity_shape

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

SCHEME = "ragmem://"
BUDGET = 20_000
"""Tokens of a memory that is read by its address, which only happens on purpose."""

MEMORIES, NEIGHBOURS = 10, 15

_LEAST, _MOST = 100, 20_000
"""Tokens of a briefing."""


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

CUT = "\n\n[truncated: the answer is too long; request less]"


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


def resource(call: Call, uri: str) -> Result:
    """Return the text of a resource; raises NotFoundError for an unknown address."""
    sort, _, rest = uri.removeprefix(SCHEME).partition("/")
    name = unquote(rest).strip()
    if uri.startswith(SCHEME):
        if sort == "memory" and name:
            return get(call.with_arguments({"ids": [name], "budget": BUDGET, "offset": 0}))
        if sort == "entity" and name:
            return _entity(call, name)
        if sort == "briefing" and not name:
            return session_briefing(call.with_arguments({}))
        if sort == "status" and not name:
            return status(call.with_arguments({}))
    raise NotFoundError(
        f'there is no resource "{uri[:200]}"', hint="ragmem://memory/ID or ragmem://entity/NAME"
    )


def _entity(call: Call, name: str) -> Result:
    call.memory.require()
    views = call.memory.graph(call.projects()).entity(name, limit=NEIGHBOURS)
    shape = entity_shape(views, (), redactor=call.redactor)
    lines: list[str] = []
    for place in shape["entity"]["projects"]:
        project = place["project"]
        lines.append(
            f"{place['name']}: {place['type']}, {place['degree']} relations, {call.project_label(project)}"
        )
        if place["aliases"]:
            lines.append("also " + ", ".join(one["name"] for one in place["aliases"]))
        lines += [
            f"  [{one['id']}] {one['event_time'][:10]} {one_line(one['text'], 240, redactor=call.redactor)}"
            for one in shape["memories"][:MEMORIES]
            if one["project"] == project
        ]
        lines += [
            f"  {one['name']} ({one['type']}): {call.redactor.redact(one['keywords'])[0]}"
            for one in shape["neighbours"]
            if one["project"] == project
        ]
    return Result(frame_lines(lines), shape)


def render_prompt(call: Call, name: str) -> Result:
    """Return the text of a prompt; raises NotFoundError for an unknown one, UsageError for a bad argument."""
    known = next((prompt for prompt in PROMPTS if prompt.name == name), None)
    if known is None:
        names = ", ".join(prompt.name for prompt in PROMPTS)
        raise NotFoundError(f'there is no prompt "{name[:60]}"', hint=f"prompts: {names}")
    given: dict[str, Any] = {key: value.strip() for key, value in call.arguments.items() if value.strip()}
    for key in given:
        if key not in known.arguments:
            raise UsageError(
                f'{name} has no argument "{key[:60]}"', hint=f"it has: {', '.join(known.arguments)}"
            )
    if "budget" in given:
        given["budget"] = _tokens(given["budget"])
    return session_briefing(call.with_arguments(given))


def _tokens(text: str) -> int:
    wanted = int(text) if text.isdecimal() and len(text) < 10 else 0
    if not _LEAST <= wanted <= _MOST:
        raise UsageError(f'the budget is "{text[:60]}"', hint=f"give tokens, from {_LEAST} to {_MOST:,}")
    return wanted
