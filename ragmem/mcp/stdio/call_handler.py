"""Make the calls of tools, resources and prompts in the warm process, or in this one without it."""

import _thread
import sys
import time

from ragmem import client, json_text
from ragmem.assistants.assistant import HOOK_TOOL
from ragmem.client import connection, runtime
from ragmem.mcp.definitions import find_tool
from ragmem.mcp.stdio.protocol import (
    INVALID_PARAMS,
    LOOK_S,
    NO_RESOURCE,
    ProtocolError,
    is_over,
    next_arguments,
    prompt_result,
    resource_result,
    tool_of,
    tool_result,
    wait_seconds,
)

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ragmem.api.memory import Ragmem
    from ragmem.mcp.definitions import Profile, Tool
    from ragmem.mcp.stdio.protocol import Params
    from ragmem.mcp.stdio.session import Call

PATIENCE_S = 55.0
"""Seconds that a call waits for the warm process, including its start; clients give up after 60 or more."""

UNSURE = (
    "error: no answer came within {:.0f} seconds, and what was sent may be stored all the same\n"
    "hint: search for it before you send it again"
)


class CallHandler:
    """Answers the calls of one client; several threads may use it."""

    def __init__(self, data: str, *, session: str, profile: "Profile", structured: bool = False) -> None:
        self._data = data
        self._session = session
        self._profile = profile
        self._structured = structured
        self._guard = _thread.allocate_lock()
        self._memory: Ragmem | None = None

    def answer(self, call: "Call") -> "Params":
        """Return the result of a call; raises ProtocolError where MCP answers with an error."""
        match call.method:
            case "tools/call":
                return self._tool(call)
            case "resources/read":
                return self._resource(call)
            case _:
                return self._prompt(call)

    def close(self) -> None:
        """Close the memory of this process, if it is open."""
        if self._memory is not None:
            self._memory.close()

    def _tool(self, call: "Call") -> "Params":
        name = _text(call.params, "name")
        if name == HOOK_TOOL:
            return _answer_hook(_object(call.params, "arguments"), call.began)
        tool = tool_of(self._profile, name)
        arguments = _object(call.params, "arguments")
        told = self._poll(tool, arguments, call) if tool.waits else self._ask("tool", name, arguments, call)
        return tool_result(told, structured=tool.structured or self._structured)

    def _poll(self, tool: "Tool", arguments: "Params", call: "Call") -> "Params":
        """Repeat the call until there is an event, the call is cancelled, or the time is over."""
        until = time.monotonic() + wait_seconds(arguments)
        while True:
            told = self._ask("tool", tool.name, arguments, call)
            if is_over(told) or call.cancelled or time.monotonic() >= until:
                return told
            arguments = next_arguments(arguments, told)
            time.sleep(LOOK_S)

    def _resource(self, call: "Call") -> "Params":
        uri = _text(call.params, "uri")
        told = self._ask("resource", uri, {}, call)
        if told["is_error"]:
            raise ProtocolError(INVALID_PARAMS if call.stateless else NO_RESOURCE, told["text"], {"uri": uri})
        return resource_result(uri, told["text"])

    def _prompt(self, call: "Call") -> "Params":
        told = self._ask("prompt", _text(call.params, "name"), _object(call.params, "arguments"), call)
        if told["is_error"]:
            raise ProtocolError(INVALID_PARAMS, told["text"])
        return prompt_result(told["text"])

    def _ask(self, operation: str, name: str, arguments: "Params", call: "Call") -> "Params":
        request = {
            "op": operation,
            "name": name,
            "arguments": arguments,
            "session": self._session,
            "agent": call.agent,
            "cwd": call.folder,
        }
        try:
            if len(connection.encode_request(request, 0.0)) > connection.MOST_BYTES:
                raise ProtocolError(
                    INVALID_PARAMS, f"the arguments have more than {connection.MOST_BYTES:,} bytes"
                )
        except RecursionError:
            raise ProtocolError(INVALID_PARAMS, "the arguments are nested too deep") from None
        began = time.monotonic()
        told = client.ask(self._data, request, deadline=began + PATIENCE_S, unanswered={})
        if told and "text" in told and "is_error" in told:
            return told
        tool = find_tool(name)
        if told == {} and tool is not None and not tool.read_only:
            return {"text": UNSURE.format(time.monotonic() - began), "data": {}, "is_error": True}
        return self._alone(request)

    def _alone(self, request: "Params") -> "Params":
        """Answer in this process."""
        # These imports are heavy, and not needed with a warm process.
        from ragmem.api.memory import Ragmem  # noqa: PLC0415
        from ragmem.errors import RagmemError  # noqa: PLC0415
        from ragmem.mcp.dispatch import answer, failure  # noqa: PLC0415

        try:
            with self._guard:
                if self._memory is None:
                    self._memory = Ragmem.open()
        except RagmemError as error:
            # The settings are wrong: a person can fix them without a new session.
            return failure(error)
        return answer(self._memory, request)


def _answer_hook(arguments: "Params", began: float) -> "Params":
    """Return the reply to a hook's event as the text of a result; an empty one for no reply, never an error.

    This tool is in no list: an assistant's settings call it, and no model. Its argument `call` is the command
    that it stands for, the others are the fields of the event.
    """
    nothing: Params = {"content": [], "isError": False}
    if runtime.is_outdated() and "ragmem.hooks.entry" not in sys.modules:
        # The modules on the disk are of another version than this process.
        return nothing
    from ragmem.hooks.entry import reply  # noqa: PLC0415 - few clients call it
    from ragmem.hooks.event import fields_of_texts  # noqa: PLC0415

    said = json_text.text_of(arguments, "call")
    words = said.rpartition(" hook ")[2].split()
    document = reply(words, fields_of_texts(arguments), began=began)
    if document is None:
        return nothing
    return {**nothing, "content": [{"type": "text", "text": json_text.write(document)}]}


def _text(params: "Params", name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise ProtocolError(INVALID_PARAMS, f"{name} is missing or not a text")
    return value


def _object(params: "Params", name: str) -> "dict[str, Any]":
    value = params.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ProtocolError(INVALID_PARAMS, f"{name} is not an object")
    return value
