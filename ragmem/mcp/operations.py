"""Answer requests for tools, resources and prompts that come over a socket."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragmem.client.connection import MOST_BYTES
from ragmem.errors import RagmemError, UsageError
from ragmem.mcp import dispatch
from ragmem.mcp.arguments import folder_field, text_field

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

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
    return _as_json(dispatch.error_result(error))


def _dispatch(memory: "Ragmem", request: Mapping[str, Any]) -> dict[str, Any]:
    arguments = request.get("arguments") or {}
    if not isinstance(arguments, Mapping):
        raise UsageError("arguments is not an object", hint="send a JSON object")
    folder = folder_field(request, "cwd")
    name, session = text_field(request, "name"), text_field(request, "session")
    match request.get("op"):
        case "tool":
            agent = text_field(request, "agent")
            result = dispatch.call(memory, name, arguments, session=session, agent=agent, cwd=folder)
        case "resource":
            result = dispatch.read_resource(memory, name, session=session, cwd=folder)
        case "prompt":
            texts = {key: str(value) for key, value in arguments.items()}
            result = dispatch.prompt(memory, name, texts, session=session, cwd=folder)
        case _:
            raise UsageError(
                f'"{text_field(request, "op")[:40]}" is no operation', hint="tool, resource or prompt"
            )
    return _as_json(result)


def _as_json(result: dispatch.Result) -> dict[str, Any]:
    return {"text": result.text, "data": dict(result.data), "is_error": result.is_error}


def _limit_size(found: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that fits into one line of a socket: drop its data, then the end of its text."""
    if len(json.dumps(found)) <= MOST_ANSWER:
        return found
    found = {**found, "data": {}}
    while len(json.dumps(found)) > MOST_ANSWER:
        found["text"] = found["text"][: len(found["text"]) // 2]
    return {**found, "text": found["text"] + CUT}
