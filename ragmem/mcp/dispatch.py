"""Call a tool by its name with an open memory; what is wrong is an answer with a next step."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.domain.injection.framing import escape_tags
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
from ragmem.mcp.framing import shorten
from ragmem.mcp.get import get
from ragmem.mcp.prompts import render_prompt
from ragmem.mcp.records import get_recent_episodes, search_episodes, search_knowledge
from ragmem.mcp.resources import resource
from ragmem.mcp.search import search
from ragmem.mcp.store import add_session_insight, record_episode, remember, store_knowledge
from ragmem.mcp.timeline import impact, status, timeline

__all__ = ["Result", "call", "prompt", "read_resource"]

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

MOST_TOLD = 600
"""Characters of an error: it quotes what was handed in, which may be long."""

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
    """Return what a tool says; `cwd` is the folder that the caller works in (None: this process's).

    `session` is the session of the assistant that calls, and counts what it reads as recalled; `agent` names
    who calls among several. Never raises RagmemError: that is a result with `is_error`. Blocks for as long as
    a question takes, and never waits for events: a tool that `waits` tells what is there, and its data has a
    `cursor` to call it again with.
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
    """Return an error as what a tool says; what it quotes of the call closes no frame of the assistant's."""
    detail, hint = (escape_tags(shorten(clean(told), MOST_TOLD)) for told in (str(error), error.hint))
    text = f"error: {detail}" + (f"\nhint: {hint}" if hint else "")
    return Result(text, {"detail": detail, "hint": hint}, is_error=True)


def read_resource(memory: "Ragmem", uri: str, *, session: str = "", cwd: Path | None = None) -> Result:
    """Return the text of a resource by its address; an unknown one is a result with `is_error`."""
    try:
        return resource(Call(memory, {}, session, "", cwd), clean(uri))
    except RagmemError as error:
        return error_result(error)


def prompt(
    memory: "Ragmem", name: str, arguments: Mapping[str, str], *, session: str = "", cwd: Path | None = None
) -> Result:
    """Return the text of a prompt, to be sent as the user's message; an unknown one is `is_error`."""
    try:
        given = {key: clean(value) for key, value in arguments.items()}
        return render_prompt(Call(memory, given, session, "", cwd), name)
    except RagmemError as error:
        return error_result(error)
