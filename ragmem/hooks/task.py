"""The task of a subagent that starts, from the transcript of the session that started it."""

import os

from ragmem import json_text

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

TAIL = 262_144
"""Bytes of the transcript's end that are read: the task was written a moment ago."""

MOST_LINES = 40
"""Lines of the transcript's end that are searched."""

_KINDS = ("subagent_type", "agent_type")
_RESULTS = ("tool_use_id", "call_id")


def last_task(path: str, tools: "Mapping[str, tuple[str, ...]]", *, kind: str = "", agent: str = "") -> str:
    """Return the task that the last unanswered call of one of these tools gave; "" if that is not clear.

    `tools` has the fields that may hold the task; `kind` is that of the agent, `agent` its id. Only the
    launch of this agent is certain. Of several calls that wait, of the same kind, none is the one for sure.
    Never raises OSError.
    """
    waiting: list[str] = []
    done: set[str] = set()
    for line in reversed(_last_lines(path)[-MOST_LINES:]):
        try:
            record = json_text.read(line)
        except ValueError:  # cut off by the beginning of what is read, or not written completely yet
            continue
        if agent and (task := _launched_task(record, agent)):
            return task
        for call in _dicts(record):
            done.update(
                answered
                for name in _RESULTS
                if isinstance(answered := call.get(name), str)
                and call.get("type") in ("tool_result", "function_call_output")
            )
            name = call.get("name")
            if not isinstance(name, str) or name not in tools or call.get("id", call.get("call_id")) in done:
                continue
            given = _arguments(call)
            if kind and (told := json_text.text_of(given, *_KINDS)) and told != kind:
                continue
            if task := json_text.text_of(given, *tools[name]):
                waiting.append(task)
    return waiting[0] if len(set(waiting)) == 1 else ""


def _launched_task(record: "Any", agent: str) -> str:
    """Return the task with which a record says that this agent was launched in the background."""
    result = record.get("toolUseResult") if isinstance(record, dict) else None
    if not isinstance(result, dict) or result.get("agentId") != agent:
        return ""
    return json_text.text_of(result, "prompt")


def _last_lines(path: str) -> list[str]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:  # it was not written yet
        return []
    try:
        size = os.fstat(descriptor).st_size
        raw = os.pread(descriptor, TAIL, max(0, size - TAIL))
    except OSError:  # it is no regular file
        return []
    finally:
        os.close(descriptor)
    return raw.decode("utf-8", "replace").splitlines()


def _dicts(value: "Any") -> "Iterator[dict[str, Any]]":
    """Yield the parts of a record of a transcript that may be a call of a tool, or its result."""
    if isinstance(value, dict):
        yield value
        for name in ("message", "content", "payload"):
            yield from _dicts(value.get(name))
    elif isinstance(value, list):
        for item in value:
            yield from _dicts(item)


def _arguments(call: "Mapping[str, Any]") -> "Mapping[str, Any]":
    given = call.get("input", call.get("arguments"))
    if isinstance(given, str):
        try:
            given = json_text.read(given)
        except ValueError:
            return {}
    return given if isinstance(given, dict) else {}
