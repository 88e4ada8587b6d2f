"""Insert an MCP server into a settings file of JSON and remove it, leaving all other text unchanged."""

from ragmem.assistants.assistant import Assistant
from ragmem.services.wiring import servers
from ragmem.services.wiring.command import Program
from ragmem.services.wiring.hook_insertion import (
    InsertionRecord,
    ShapeError,
    exchange_text,
    fill_blank,
    insertions,
    is_same_value,
    remove_empty_members,
    remove_insertions,
    replacement,
)
from ragmem.services.wiring.json_edit import add_entries, apply_cuts, remove_entries, style_of
from ragmem.services.wiring.json_text import Child, Node, read_json

BLANK = "\ufeff \t\r\n"


def find_server(text: str, assistant: Assistant) -> Child | None:
    """Return the server with our name, whoever wrote it; raises JsonTextError for invalid JSON."""
    return _find_member(read_json(text), assistant) if text.strip(BLANK) else None


def insert_server(
    text: str, assistant: Assistant, program: Program, before: InsertionRecord
) -> tuple[str, InsertionRecord]:
    """Return the text with the server, and what we inserted into it.

    An existing server of ours is updated in its place; another server with our name is left alone. Raises
    JsonTextError for invalid JSON, ShapeError for settings of another shape.
    """
    holder = assistant.servers_key
    entry = servers.make_entry(assistant, program)
    if not text.strip(BLANK):
        return fill_blank(text, {holder: {servers.NAME: entry}}, made={holder})
    root = read_json(text)
    if root.kind != "object":
        raise ShapeError("the settings are not an object")
    listed = root.get(holder)
    if listed is not None and listed.kind != "object":
        raise ShapeError(f'"{holder}" is not an object')
    there = _find_member(root, assistant)
    if there is not None:
        return _update_server(text, there, assistant, program, before)
    style = style_of(text)
    if listed is None:
        cuts = add_entries(text, root, [(holder, {servers.NAME: entry})], style)
        made = frozenset({holder})
    else:
        cuts, made = add_entries(text, listed, [(servers.NAME, entry)], style), frozenset()
    after = apply_cuts(text, cuts)
    return after, InsertionRecord((*before.insertions, *insertions(after, cuts)), before.made | made)


def _find_member(root: Node, assistant: Assistant) -> Child | None:
    listed = root.get(assistant.servers_key) if root.kind == "object" else None
    children = listed.children if listed is not None and listed.kind == "object" else ()
    return next((child for child in reversed(children) if child.name == servers.NAME), None)


def _update_server(
    text: str, there: Child, assistant: Assistant, program: Program, before: InsertionRecord
) -> tuple[str, InsertionRecord]:
    node = there.node
    if not servers.is_ours(node.value, program):
        return text, before
    wanted = servers.update_entry(node.value, assistant, program)
    if wanted == node.value:
        return text, before
    cut = replacement(text, node, wanted, style_of(text))
    return apply_cuts(text, [cut]), exchange_text(before, text[node.start : node.end], cut.text)


def remove_server(text: str, assistant: Assistant, program: Program, wiring: InsertionRecord | None) -> str:
    """Return the text without the server, if it is ours, keeping every other change made since.

    Raises JsonTextError for invalid JSON.
    """
    there = find_server(text, assistant)
    if there is None or not servers.is_ours(there.node.value, program):
        return text
    holder = assistant.servers_key
    listed = read_json(text).get(holder)
    assert listed is not None
    by_content = apply_cuts(text, remove_entries(text, listed, [there]))
    if wiring is None or holder in wiring.made:
        by_content = remove_empty_members(by_content, read_json(by_content), {holder})
    exact = remove_insertions(text, wiring.insertions) if wiring is not None else None
    return exact if exact is not None and is_same_value(exact, by_content) else by_content
