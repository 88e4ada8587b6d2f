"""The resources: a memory, an entity of the graph, the briefing and the status, each by its address."""

from typing import Any
from urllib.parse import unquote

from ragmem.errors import NotFoundError, UsageError
from ragmem.mcp.call import Call, Result
from ragmem.mcp.definitions import PROMPTS
from ragmem.mcp.frame import frame_lines, one_line
from ragmem.mcp.get import get
from ragmem.mcp.timeline import session_briefing, status
from ragmem.services.graph.shapes import entity_shape

SCHEME = "ragmem://"
BUDGET = 20_000
"""Tokens of a memory that is read by its address, which only happens on purpose."""

MEMORIES, NEIGHBOURS = 10, 15


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


_LEAST, _MOST = 100, 20_000
"""Tokens of a briefing."""


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
