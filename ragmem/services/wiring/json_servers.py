"""An MCP server into a settings file of JSON and out again, every other character left where it is."""

from ragmem.assistants.assistant import Assistant
from ragmem.services.wiring import servers
from ragmem.services.wiring.command import Program
from ragmem.services.wiring.json_edit import add_entries, apply_cuts, remove_entries, style_of
from ragmem.services.wiring.json_text import Child, Node, read_json
from ragmem.services.wiring.json_wiring import (
    ShapeError,
    Wiring,
    exchange_text,
    fill_blank,
    insertions,
    is_same_value,
    remove_empty_members,
    remove_insertions,
    replacement,
)

BLANK = "\ufeff \t\r\n"


def found_in(text: str, assistant: Assistant) -> Child | None:
    """Return the server with our name, whoever wrote it; raises JsonTextError for invalid JSON."""
    return _found(read_json(text), assistant) if text.strip(BLANK) else None


def put_in(text: str, assistant: Assistant, program: Program, before: Wiring) -> tuple[str, Wiring]:
    """Return the text with the server in it, and what is ours in it then.

    One of ours that is there is brought up to date where it stands; what somebody else has given our name is
    left alone. Raises JsonTextError for invalid JSON, ShapeError for settings of another shape.
    """
    holder = assistant.servers_key
    entry = servers.make_entry(assistant, program)
    if not text.strip(BLANK):
        return fill_blank(text, {holder: {servers.NAME: entry}}, made={holder})
    root = read_json(text)
    if root.kind != "object":
        raise ShapeError("the settings are no object")
    listed = root.get(holder)
    if listed is not None and listed.kind != "object":
        raise ShapeError(f'"{holder}" is no object')
    there = _found(root, assistant)
    if there is not None:
        return _renewed(text, there, assistant, program, before)
    style = style_of(text)
    if listed is None:
        cuts = add_entries(text, root, [(holder, {servers.NAME: entry})], style)
        made = frozenset({holder})
    else:
        cuts, made = add_entries(text, listed, [(servers.NAME, entry)], style), frozenset()
    after = apply_cuts(text, cuts)
    return after, Wiring((*before.insertions, *insertions(after, cuts)), before.made | made)


def _found(root: Node, assistant: Assistant) -> Child | None:
    listed = root.get(assistant.servers_key) if root.kind == "object" else None
    children = listed.children if listed is not None and listed.kind == "object" else ()
    return next((child for child in reversed(children) if child.name == servers.NAME), None)


def _renewed(
    text: str, there: Child, assistant: Assistant, program: Program, before: Wiring
) -> tuple[str, Wiring]:
    node = there.node
    if not servers.is_ours(node.value, program):
        return text, before
    wanted = servers.update_entry(node.value, assistant, program)
    if wanted == node.value:
        return text, before
    cut = replacement(text, node, wanted, style_of(text))
    return apply_cuts(text, [cut]), exchange_text(before, text[node.start : node.end], cut.text)


def taken_out(text: str, assistant: Assistant, program: Program, wiring: Wiring | None) -> str:
    """Return the text without the server, where it is ours, and with every other change made since.

    Raises JsonTextError for invalid JSON.
    """
    there = found_in(text, assistant)
    if there is None or not servers.is_ours(there.node.value, program):
        return text
    holder = assistant.servers_key
    listed = read_json(text).get(holder)
    assert listed is not None
    by_sense = apply_cuts(text, remove_entries(text, listed, [there]))
    if wiring is None or holder in wiring.made:
        by_sense = remove_empty_members(by_sense, read_json(by_sense), {holder})
    exact = remove_insertions(text, wiring.insertions) if wiring is not None else None
    return exact if exact is not None and is_same_value(exact, by_sense) else by_sense
