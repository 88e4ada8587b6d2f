"""Insert an MCP server into Codex' config.toml, and the switch without which no hook runs; remove both."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from ragmem.assistants.assistant import Assistant
from ragmem.config.toml_edit import plan
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

_HEADER = r"(?:\r?\n)?^[ \t]*\[{}\][ \t]*(?:\r?\n|\Z)"


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


def flag_state(text: str, assistant: Assistant) -> bool | None:
    """Return whether the file turns hooks on or off, None without the switch; raises TOMLDecodeError."""
    table, *keys = assistant.switch
    values = _values(text).get(table, {})
    found = [values[key] for key in keys if key in values] if isinstance(values, dict) else []
    return found[0] if found and isinstance(found[0], bool) else None


def insert_flag(path: Path, text: str, assistant: Assistant) -> tuple[str, InsertionRecord]:
    """Return the text with the switch on, and what was inserted; an existing switch is left alone.

    Raises ConfigError for a file that is not TOML, or in which a line cannot be added.
    """
    # `plan` reads the file itself and reports faults, also where nothing has to be done.
    table, key, *_ = assistant.switch
    change = plan(path, {table: {key: True}})
    if change.before != text or flag_state(text, assistant) is not None:
        return text, InsertionRecord()
    after = change.after
    start = next((n for n, (a, b) in enumerate(zip(text, after, strict=False)) if a != b), len(text))
    put = after[start : start + len(after) - len(text)]
    made = frozenset() if table in _values(text) else frozenset({table})
    return after, InsertionRecord((Insertion(after[max(0, start - CONTEXT) : start], put),), made)


def remove_flag(path: Path, text: str, assistant: Assistant, wiring: InsertionRecord) -> str:
    """Return the text without the inserted switch, unless somebody has turned it off since.

    Raises ConfigError for a file that is not TOML.
    """
    table, key, *_ = assistant.switch
    change = plan(path, {table: {key: None}})
    as_put = change.before == text and flag_state(text, assistant) is True
    if not wiring.insertions or not as_put or change.after == text:
        return text
    by_content = change.after
    if table in wiring.made and not _values(by_content).get(table):
        header = re.compile(_HEADER.format(re.escape(table)), re.MULTILINE)
        by_content = header.sub("", by_content, count=1)
    put = wiring.insertions[0]
    place = text.find(put.left + put.text)
    if place >= 0:
        place += len(put.left)
        by_letter = text[:place] + text[place + len(put.text) :]
        if _same(by_letter, by_content):
            return by_letter
    return by_content


def _same(one: str, other: str) -> bool:
    try:
        return _values(one) == _values(other)
    except tomllib.TOMLDecodeError:
        return False
