"""An MCP server as a table of Codex' config.toml, put in behind the last line and taken out again."""

import json
import re
import tomllib
from typing import Any

from ragmem.assistants.assistant import Assistant
from ragmem.services.wiring import servers
from ragmem.services.wiring.command import Program
from ragmem.services.wiring.json_wiring import LEFT, Insertion, ShapeError, Wiring, remove_insertions

_NAME = r"[ \t]*mcp_servers[ \t]*\.[ \t]*\"?ragmem\"?[ \t]*(?:\.[^\]\r\n]*)?"
_TABLE = re.compile(rf"^[ \t]*\[{_NAME}\][^\r\n]*(?:\r?\n(?![ \t]*\[)[^\r\n]*)*(?:\r?\n)?", re.MULTILINE)


def found_in(text: str, assistant: Assistant) -> Any:
    """Return the server of our name, None where there is none; raises TOMLDecodeError."""
    listed = _values(text).get(assistant.servers_key)
    return listed.get(servers.NAME) if isinstance(listed, dict) else None


def put_in(text: str, assistant: Assistant, program: Program, before: Wiring) -> tuple[str, Wiring]:
    """Return the text with the server in it, and what is ours in it then.

    Raises TOMLDecodeError for invalid TOML, ShapeError where a table cannot be added.
    """
    there = found_in(text, assistant)
    if there is not None:
        if not servers.is_ours(there, program) or servers.update_entry(there, assistant, program) == there:
            return text, before
        text, before = taken_out(text, assistant, program, before), Wiring()
        value = servers.update_entry(there, assistant, program)
    else:
        value = servers.make_entry(assistant, program)
    end = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text.strip("\ufeff") else end if text.endswith("\n") else end * 2
    put = gap + _table(assistant, value, end)
    after = text + put
    try:
        fits = found_in(after, assistant) == value
    except tomllib.TOMLDecodeError:
        fits = False
    if not fits:
        raise ShapeError(f'"{assistant.servers_key}" is written in another way than as tables')
    return after, Wiring((Insertion(text[-LEFT:], put),), before.made)


def taken_out(text: str, assistant: Assistant, program: Program, wiring: Wiring | None) -> str:
    """Return the text without the server, where it is ours.

    Raises TOMLDecodeError for invalid TOML, ShapeError where it stands in no table of its own.
    """
    if not servers.is_ours(found_in(text, assistant), program):
        return text
    wanted = _values_without_server(text, assistant)
    exact = remove_insertions(text, wiring.insertions) if wiring is not None and wiring.insertions else None
    for after in (exact, _TABLE.sub("", text)):
        if after is not None and _reads(after, wanted, assistant):
            return after
    raise ShapeError(f'"{assistant.servers_key}.{servers.NAME}" is written in another way than as a table')


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
    # A basic string of TOML is one of JSON, but for a character that neither prints.
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
    """Leave out the table of servers where it holds none: it may never have been written down."""
    holder = assistant.servers_key
    return {name: value for name, value in values.items() if name != holder or value}
