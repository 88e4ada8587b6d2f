"""Call a tool by its name with an open memory; errors are answers that name a next step."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from ragmem.mcp.arguments import check_arguments, clean
from ragmem.mcp.call import Call, Result
from ragmem.mcp.definitions import TOOLS, find_tool
from ragmem.mcp.frame import shorten
from ragmem.mcp.get import get
from ragmem.mcp.records import get_recent_episodes, search_episodes, search_knowledge
from ragmem.mcp.resources import render_prompt, resource
from ragmem.mcp.search import search
from ragmem.mcp.store import add_session_insight, record_episode, remember, store_knowledge
from ragmem.mcp.timeline import impact, status, timeline

__all__ = ["Result", "call", "prompt", "read_resource"]

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

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
    detail, hint = (escape_tags(shorten(clean(one), MAX_ERROR_CHARS)) for one in (str(error), error.hint))
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
