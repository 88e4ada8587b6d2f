"""Tools, resources and prompts as requests over a socket: checked, answered, and kept in bounds."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.client import MOST_BYTES
from ragmem.errors import RagmemError, UsageError
from ragmem.mcp import dispatch

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

MOST_ANSWER = MOST_BYTES - 64 * 1024
"""Bytes of an answer as JSON, with room for what a transport adds."""

CUT = "\n\n[the rest is left out: it is too long for one answer; ask for less]"


def answer(memory: "Ragmem", request: Mapping[str, Any]) -> dict[str, Any]:
    """Return text, data and is_error of a request whose `op` is tool, resource or prompt, and `name` which.

    The name of a resource is its address. A request may have `arguments`, `session`, `agent` and `cwd`. Never
    raises RagmemError: what is wrong is the text, and `is_error` says so.
    """
    try:
        return _bounded(_answered(memory, request))
    except RagmemError as error:
        return failure(error)


def failure(error: RagmemError) -> dict[str, Any]:
    """Return an error in the form of an answer."""
    return _plain(dispatch.error_result(error))


def _answered(memory: "Ragmem", request: Mapping[str, Any]) -> dict[str, Any]:
    arguments = request.get("arguments") or {}
    if not isinstance(arguments, Mapping):
        raise UsageError("arguments is no object", hint="send a JSON object")
    cwd = _text(request, "cwd")
    folder = Path(cwd) if cwd.startswith("/") and "\0" not in cwd else None
    name, session = _text(request, "name"), _text(request, "session")
    match request.get("op"):
        case "tool":
            agent = _text(request, "agent")
            result = dispatch.call(memory, name, arguments, session=session, agent=agent, cwd=folder)
        case "resource":
            result = dispatch.read_resource(memory, name, session=session, cwd=folder)
        case "prompt":
            texts = {key: str(value) for key, value in arguments.items()}
            result = dispatch.prompt(memory, name, texts, session=session, cwd=folder)
        case _:
            raise UsageError(
                f'"{_text(request, "op")[:40]}" is no operation', hint="tool, resource or prompt"
            )
    return _plain(result)


def _plain(result: dispatch.Result) -> dict[str, Any]:
    return {"text": result.text, "data": dict(result.data), "is_error": result.is_error}


def _text(request: Mapping[str, Any], name: str) -> str:
    value = request.get(name, "")
    if not isinstance(value, str):
        raise UsageError(f"{name} is no text", hint="send a JSON string")
    # Half of a pair that stands for a character: neither the database nor a terminal takes it.
    return value.encode("utf-8", "replace").decode()


def _bounded(found: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that fits into one line of a socket: without its data, then without its end."""
    if len(json.dumps(found)) <= MOST_ANSWER:
        return found
    found = {**found, "data": {}}
    while len(json.dumps(found)) > MOST_ANSWER:
        found["text"] = found["text"][: len(found["text"]) // 2]
    return {**found, "text": found["text"] + CUT}
