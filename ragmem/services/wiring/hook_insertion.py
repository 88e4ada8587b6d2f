"""Insert hooks into a settings file of JSON and remove them, leaving every other character unchanged."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ragmem.assistants.assistant import HOOK_PATH, Assistant
from ragmem.services.wiring.command import Program
from ragmem.services.wiring.json_edit import (
    Cut,
    Style,
    add_entries,
    apply_cuts,
    remove_entries,
    render,
    style_of,
)
from ragmem.services.wiring.json_hooks import HOOKS, Hook, iterate_hooks, own_hooks
from ragmem.services.wiring.json_text import Node, read_json

VERSION = "version"

CONTEXT = 24
"""Characters before an insertion that are kept with it: enough to recognize the place of a comma."""


class ShapeError(ValueError):
    """The text is JSON, but not of the shape of the assistant's settings."""


@dataclass(frozen=True, slots=True)
class Insertion:
    """An inserted text, and the text before it."""

    left: str
    text: str


@dataclass(frozen=True, slots=True)
class InsertionRecord:
    """What a connection has inserted into a text: the texts, and the names of the containers it created."""

    insertions: tuple[Insertion, ...] = ()
    made: frozenset[str] = frozenset()


def insert_hooks(
    text: str, assistant: Assistant, program: Program, before: InsertionRecord
) -> tuple[str, InsertionRecord]:
    """Return the text with the hooks of an assistant, and what we inserted into it.

    Existing hooks of ours are updated in their place; nothing changes if all are up to date. Raises
    JsonTextError for invalid JSON, ShapeError for settings of another shape.
    """
    if not text.strip("\ufeff \t\r\n"):
        return _whole(text, assistant, program)
    if program.handler is None:
        program = as_present(program, own_hooks(list(iterate_hooks(read_json(text))), assistant, program))
    renewed, wiring = _update_own(text, assistant, program, before)
    root = read_json(renewed)
    _check(root, assistant)
    present = {hook.event for hook in own_hooks(list(iterate_hooks(root)), assistant, program)}
    missing = {event: entry for event, entry in _entries(assistant, program).items() if event not in present}
    cuts, made = _additions(renewed, root, assistant, missing)
    after = apply_cuts(renewed, cuts)
    put = tuple(insertions(after, cuts))
    return after, InsertionRecord((*wiring.insertions, *put), wiring.made | made)


def as_present(program: Program, ours: Collection[Hook]) -> Program:
    """Return the program with the handler of our hooks within a session, and the address where it is one."""
    for hook in ours:
        if hook.handler != "command":
            server = hook.command.partition(HOOK_PATH)[0] if hook.handler == "http" else ""
            return replace(program, handler=hook.handler, server=server)
    return program


def _entries(assistant: Assistant, program: Program) -> dict[str, Any]:
    return {event: program.entry(assistant, event) for event in assistant.hook_events()}


def _whole(text: str, assistant: Assistant, program: Program) -> tuple[str, InsertionRecord]:
    entries = _entries(assistant, program)
    document: dict[str, Any] = {} if assistant.version is None else {VERSION: assistant.version}
    document[HOOKS] = {event: [entry] for event, entry in entries.items()}
    return fill_blank(text, document, made={*document, *(f"{HOOKS}.{event}" for event in entries)})


def fill_blank(text: str, document: dict[str, Any], *, made: Collection[str]) -> tuple[str, InsertionRecord]:
    """Return a blank text with a document, and what we inserted."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    blank = text.removeprefix(mark)
    style = replace(style_of(text), lines=True)
    whole = render(document, style, indent="") + ("" if blank else style.line_end)
    return mark + whole + blank, InsertionRecord((Insertion(mark, whole),), frozenset({"", *made}))


def _check(root: Node, assistant: Assistant) -> None:
    if root.kind != "object":
        raise ShapeError("the settings are not an object")
    hooks = root.get(HOOKS)
    if hooks is not None and hooks.kind != "object":
        raise ShapeError('"hooks" is not an object')
    for name in assistant.hook_events():
        event = hooks.get(name) if hooks is not None else None
        if event is not None and event.kind != "array":
            raise ShapeError(f'"hooks.{name}" is not a list')


def _update_own(
    text: str, assistant: Assistant, program: Program, before: InsertionRecord
) -> tuple[str, InsertionRecord]:
    """Update our hooks in their place, and remove duplicate and obsolete ones."""
    wanted = _entries(assistant, program)
    seen: set[str] = set()
    style = style_of(text)
    while True:
        root = read_json(text)
        for hook in own_hooks(list(iterate_hooks(root)), assistant, program):
            if hook.event not in wanted or hook.event in seen:
                text = _remove_hook(text, root, hook)
                break
            seen.add(hook.event)
            cut = _replacement(text, hook, wanted[hook.event], style)
            if cut is not None:
                old = text[cut.start : cut.end]
                text = apply_cuts(text, [cut])
                before = exchange_text(before, old, cut.text)
                break
        else:
            return text, before
        # Every change moves the text after it: start again.
        seen.clear()


def _replacement(text: str, hook: Hook, entry: Mapping[str, Any], style: Style) -> Cut | None:
    """Return the cut that updates a hook, None for a current one; a shared group keeps its matcher."""
    whole = hook.alone or HOOKS not in entry
    node = hook.group.node if whole else hook.child.node
    value = entry if whole else entry[HOOKS][0]
    return None if node.value == value else replacement(text, node, value, style)


def replacement(text: str, node: Node, value: Any, style: Style) -> Cut:
    """Return the cut that replaces a value, on several lines if the old one is."""
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    indent = line[: len(line) - len(line.lstrip(" \t"))] if "\n" in text[node.start : node.end] else None
    return Cut(node.start, node.end, render(value, style, indent=indent))


def exchange_text(wiring: InsertionRecord, old: str, new: str) -> InsertionRecord:
    """Return the record after a part of the inserted text was replaced."""
    put = tuple(
        Insertion(one.left.replace(old, new), one.text.replace(old, new)) for one in wiring.insertions
    )
    return replace(wiring, insertions=put)


def _additions(
    text: str, root: Node, assistant: Assistant, entries: Mapping[str, Any]
) -> tuple[list[Cut], set[str]]:
    style = style_of(text)
    made: set[str] = set()
    cuts: list[Cut] = []
    at_root: list[tuple[str | None, Any]] = []
    if assistant.version is not None and root.get(VERSION) is None:
        at_root.append((VERSION, assistant.version))
        made.add(VERSION)
    hooks = root.get(HOOKS)
    fresh: list[tuple[str | None, Any]] = []
    for event, entry in entries.items():
        listed = hooks.get(event) if hooks is not None else None
        if listed is not None:
            cuts += add_entries(text, listed, [(None, entry)], style)
        else:
            fresh.append((event, [entry]))
            made.add(f"{HOOKS}.{event}")
    if hooks is None and fresh:
        at_root.append((HOOKS, {name: value for name, value in fresh if name is not None}))
        made.add(HOOKS)
    elif hooks is not None and fresh:
        cuts += add_entries(text, hooks, fresh, style)
    if at_root:
        cuts += add_entries(text, root, at_root, style)
    return cuts, made


def insertions(after: str, cuts: Collection[Cut]) -> Iterator[Insertion]:
    """Yield the texts that cuts have inserted, with the text before each."""
    moved = 0
    for cut in sorted(cuts, key=lambda one: (one.start, one.end)):
        place = cut.start + moved
        yield Insertion(after[max(0, place - CONTEXT) : place], cut.text)
        moved += len(cut.text)


def remove_hooks(text: str, assistant: Assistant, program: Program, wiring: InsertionRecord | None) -> str:
    """Return the text without our hooks, keeping every change that somebody else has made since.

    Unchanged insertions are removed exactly; otherwise our entries are found by their content. Without a
    `wiring` empty containers are removed too. Raises JsonTextError for invalid JSON.
    """
    if not text.strip("\ufeff \t\r\n"):
        return text
    by_content = _remove_by_content(text, assistant, program, wiring)
    exact = remove_insertions(text, wiring.insertions) if wiring is not None else None
    return exact if exact is not None and is_same_value(exact, by_content) else by_content


def is_same_value(one: str, other: str) -> bool:
    """Return whether two texts hold the same value; an empty text equals an empty object."""
    if not one.strip("\ufeff \t\r\n"):
        return not read_json(other).value
    try:
        return bool(read_json(one).value == read_json(other).value)
    except ValueError:
        return False


def remove_insertions(text: str, put_in_before: Collection[Insertion]) -> str | None:
    """Return the text without the insertions; None where one is missing, changed or ambiguous."""
    for put in reversed(tuple(put_in_before)):
        place = _only(text, put.left + put.text)
        if place is not None:
            place += len(put.left)
        elif len(put.text) > CONTEXT:
            place = _only(text, put.text)
        if place is None:
            return None
        text = text[:place] + text[place + len(put.text) :]
    return text


def _only(text: str, part: str) -> int | None:
    place = text.find(part)
    return place if place >= 0 and text.find(part, place + 1) < 0 else None


def _remove_by_content(
    text: str, assistant: Assistant, program: Program, wiring: InsertionRecord | None
) -> str:
    emptied: set[str] = set()
    root = read_json(text)
    while ours := own_hooks(list(iterate_hooks(root)), assistant, program):
        emptied.add(ours[0].event)
        text = _remove_hook(text, root, ours[0])
        root = read_json(text)
    if wiring is None and not emptied:
        return text
    made = wiring.made if wiring is not None else {HOOKS, *(f"{HOOKS}.{event}" for event in emptied)}
    hooks = root.get(HOOKS)
    if hooks is not None:
        text = remove_empty_members(text, hooks, {event for event in emptied if f"{HOOKS}.{event}" in made})
    if HOOKS in made:
        text = remove_empty_members(text, read_json(text), {HOOKS})
    root = read_json(text)
    # Hooks that somebody else has added since need the version that we inserted.
    needed = HOOKS in made and root.get(HOOKS) is not None
    if VERSION in made and not needed and root.value.get(VERSION) == assistant.version:
        text = apply_cuts(
            text, remove_entries(text, root, [one for one in root.children if one.name == VERSION])
        )
    return text


def _remove_hook(text: str, root: Node, hook: Hook) -> str:
    hooks = root.get(HOOKS)
    listed = hooks.get(hook.event) if hooks is not None else None
    if listed is None:
        return text
    inner = hook.group.node.get(HOOKS)
    holder = listed if hook.alone or inner is None else inner
    return apply_cuts(text, remove_entries(text, holder, [hook.group if holder is listed else hook.child]))


def remove_empty_members(text: str, holder: Node, names: Collection[str]) -> str:
    """Remove the empty ones among these members of an object."""
    empty = [one for one in holder.children if one.name in names and not one.node.value]
    return apply_cuts(text, remove_entries(text, holder, empty)) if empty else text
