"""Insert an MCP server as a table at the end of Codex' config.toml, and remove it."""

import json
import re
import tomllib
from typing import Any

from ragmem.assistants.assistant import Assistant
from ragmem.services.wiring import servers
from ragmem.services.wiring.command import Program
from ragmem.services.wiring.hook_insertion import (
    CONTEXT,
    Insertion,
    InsertionRecord,
    ShapeError,
    remove_insertions,
)

_NAME = r"[ \t]*mcp_servers[ \t]*\.[ \t]*\"?ragmem\"?[ \t]*(?:\.[^\]\r\n]*)?"
_TABLE = re.compile(rf"^[ \t]*\[{_NAME}\][^\r\n]*(?:\r?\n(?![ \t]*\[)[^\r\n]*)*(?:\r?\n)?", re.MULTILINE)


def find_server(text: str, assistant: Assistant) -> Any:
    """Return the server with our name, None without one; raises TOMLDecodeError."""
    listed = _values(text).get(assistant.servers_key)
    return listed.get(servers.NAME) if isinstance(listed, dict) else None


def insert_server(
    text: str, assistant: Assistant, program: Program, before: InsertionRecord
) -> tuple[str, InsertionRecord]:
    """Return the text with the server, and what we inserted into it.

    Raises TOMLDecodeError for invalid TOML, ShapeError where a table cannot be added.
    """
    there = find_server(text, assistant)
    if there is not None:
        if not servers.is_ours(there, program) or servers.update_entry(there, assistant, program) == there:
            return text, before
        text, before = remove_server(text, assistant, program, before), InsertionRecord()
        value = servers.update_entry(there, assistant, program)
    else:
        value = servers.make_entry(assistant, program)
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text.strip("\ufeff") else end if text.endswith("\n") else end * 2
    put = gap + _table(assistant, value, end)
    after = text + put
    try:
        fits = find_server(after, assistant) == value
    except tomllib.TOMLDecodeError:
        fits = False
    if not fits:
        raise ShapeError(f'"{assistant.servers_key}" is not written as tables')
    return after, InsertionRecord((Insertion(text[-CONTEXT:], put),), before.made)


def remove_server(text: str, assistant: Assistant, program: Program, wiring: InsertionRecord | None) -> str:
    """Return the text without the server, if it is ours.

    Raises TOMLDecodeError for invalid TOML, ShapeError where the server has no table of its own.
    """
    if not servers.is_ours(find_server(text, assistant), program):
        return text
    wanted = _values_without_server(text, assistant)
    exact = remove_insertions(text, wiring.insertions) if wiring is not None and wiring.insertions else None
    for after in (exact, _TABLE.sub("", text)):
        if after is not None and _reads(after, wanted, assistant):
            return after
    raise ShapeError(f'"{assistant.servers_key}.{servers.NAME}" is not written as a table')


def _table(assistant: Assistant, value: dict[str, Any], end: str) -> str:
    lines = [f"[{assistant.servers_key}.{servers.NAME}]"]
    lines += [f"{name} = {_render_value(said)}" for name, said in value.items()]
    return end.join(lines) + end


def _render_value(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(f"{json.dumps(name)} = {_render_value(said)}" for name, said in value.items())
            + " }"
        )
    if isinstance(value, list):
        return "[" + ", ".join(_render_value(said) for said in value) + "]"
    # A basic string of TOML is a string of JSON, except for one unprintable character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _values(text: str) -> dict[str, Any]:
    return tomllib.loads(text.removeprefix("\ufeff"))


def _values_without_server(text: str, assistant: Assistant) -> dict[str, Any]:
    values = _values(text)
    values[assistant.servers_key].pop(servers.NAME)
    return _without_empty_table(values, assistant)


def _reads(text: str, wanted: dict[str, Any], assistant: Assistant) -> bool:
    try:
        return _without_empty_table(_values(text), assistant) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _without_empty_table(values: dict[str, Any], assistant: Assistant) -> dict[str, Any]:
    """Leave out an empty table of servers: the file may never have had it."""
    holder = assistant.servers_key
    return {name: value for name, value in values.items() if name != holder or value}
