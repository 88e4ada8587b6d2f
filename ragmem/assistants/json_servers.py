"""An MCP server into a settings file of JSON and out again, every other character left where it is."""

from dataclasses import replace

from ragmem.assistants import servers
from ragmem.assistants.command import Program
from ragmem.assistants.json_edit import Cut, added, applied, rendered, style_of, without
from ragmem.assistants.json_text import Child, Node, read_json
from ragmem.assistants.json_wiring import (
    Insertion,
    ShapeError,
    Wiring,
    by_letter,
    exchanged,
    insertions,
    pruned,
    same,
)
from ragmem.assistants.model import Assistant

BLANK = "\ufeff \t\r\n"


def found_in(text: str, assistant: Assistant) -> Child | None:
    """Return the server of our name in a text, whoever wrote it; raises JsonTextError for what is no JSON."""
    return _found(read_json(text), assistant) if text.strip(BLANK) else None


def put_in(text: str, assistant: Assistant, program: Program, before: Wiring) -> tuple[str, Wiring]:
    """Return the text with the server in it, and what is ours in it then.

    One of ours that is there is brought up to date where it stands; what somebody else has given our name is
    left alone. Raises JsonTextError for what is no JSON, ShapeError for what are no settings.
    """
    holder = servers.holder(assistant)
    entry = servers.entry(assistant, program)
    if not text.strip(BLANK):
        style = replace(style_of(text), lines=True)
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        blank = text.removeprefix(mark)
        whole = rendered({holder: {servers.NAME: entry}}, style, indent="") + (
            "" if blank else style.line_end
        )
        return mark + whole + blank, Wiring((Insertion(mark, whole),), frozenset({"", holder}))
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
        cuts = added(text, root, [(holder, {servers.NAME: entry})], style)
        made = frozenset({holder})
    else:
        cuts, made = added(text, listed, [(servers.NAME, entry)], style), frozenset()
    after = applied(text, cuts)
    return after, Wiring((*before.insertions, *insertions(after, cuts)), before.made | made)


def _found(root: Node, assistant: Assistant) -> Child | None:
    listed = root.get(servers.holder(assistant)) if root.kind == "object" else None
    children = listed.children if listed is not None and listed.kind == "object" else ()
    return next((child for child in reversed(children) if child.name == servers.NAME), None)


def _renewed(
    text: str, there: Child, assistant: Assistant, program: Program, before: Wiring
) -> tuple[str, Wiring]:
    node = there.node
    if not servers.is_ours(node.value, program):
        return text, before
    wanted = servers.renewed(node.value, assistant, program)
    if wanted == node.value:
        return text, before
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    indent = line[: len(line) - len(line.lstrip(" \t"))] if "\n" in text[node.start : node.end] else None
    new = rendered(wanted, style_of(text), indent=indent)
    old = text[node.start : node.end]
    return applied(text, [Cut(node.start, node.end, new)]), exchanged(before, old, new)


def taken_out(text: str, assistant: Assistant, program: Program, wiring: Wiring | None) -> str:
    """Return the text without the server, where it is ours, and with every other change made since.

    Raises JsonTextError for what is no JSON.
    """
    there = found_in(text, assistant)
    if there is None or not servers.is_ours(there.node.value, program):
        return text
    holder = servers.holder(assistant)
    listed = read_json(text).get(holder)
    assert listed is not None
    by_sense = applied(text, without(text, listed, [there]))
    if wiring is None or holder in wiring.made:
        by_sense = pruned(by_sense, read_json(by_sense), {holder})
    exact = by_letter(text, wiring.insertions) if wiring is not None else None
    return exact if exact is not None and same(exact, by_sense) else by_sense
