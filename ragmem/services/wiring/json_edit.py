"""Edit a JSON text in its own style, leaving every other character unchanged."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragmem.services.wiring.json_text import Child, Node

DEFAULT_UNIT = "  "

_INDENTED = re.compile(r"\n([ \t]+)\S")
_LINE_COMMENT = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*(?=\r?\n))")
_BEFORE = re.compile(r"(?:\r?\n)?[ \t]*\Z")


@dataclass(frozen=True, slots=True)
class Cut:
    """A span of the text, from `start` to `end`, and its replacement."""

    start: int
    end: int
    text: str = ""


def apply_cuts(text: str, cuts: Sequence[Cut]) -> str:
    """Apply all cuts to a text; several at one place are applied in the given order."""
    parts: list[str] = []
    place = 0
    for cut in sorted(cuts, key=lambda one: (one.start, one.end)):
        parts += (text[place : cut.start], cut.text)
        place = max(place, cut.end)
    return "".join((*parts, text[place:]))


@dataclass(frozen=True, slots=True)
class Style:
    """The style of a text: its line ends, its indentation, and the space after a colon on one line."""

    line_end: str
    unit: str
    spaced: bool
    lines: bool


def style_of(text: str) -> Style:
    """Return the style of a text; two spaces and a line feed where it shows none."""
    found = _INDENTED.search(text)
    return Style(
        line_end="\r\n" if "\r\n" in text else "\n",
        unit=found[1] if found else DEFAULT_UNIT,
        spaced='": ' in text or '":' not in text,
        # A text without any entry shows no style; one on a single line should stay there.
        lines="\n" in text.strip() or '":' not in text,
    )


def render(value: Any, style: Style, *, indent: str | None) -> str:
    """Return a value as JSON: on one line without an indent, else in lines, indented from the second on."""
    if indent is None:
        separators = (", ", ": ") if style.spaced else (",", ":")
        return json.dumps(value, ensure_ascii=False, separators=separators)
    lines = json.dumps(value, ensure_ascii=False, indent=style.unit).split("\n")
    return f"{style.line_end}{indent}".join(lines)


def add_entries(text: str, node: Node, entries: Sequence[tuple[str | None, Any]], style: Style) -> list[Cut]:
    """Return the cuts that append entries (name or None, value) to an object or array."""
    indent = _indent_of_children(text, node, style)
    pieces = [_entry(name, value, style, indent) for name, value in entries]
    lead = " " if style.spaced else ""
    if indent is not None:
        lead = style.line_end + indent
    elif style.lines and node.children and node.kind == "object":
        # Several entries on one line of a text with many lines would be hard to read, as would the diff.
        lead = style.line_end + _indent_of_line(text, node.start) + style.unit
    joined = f",{lead}".join(pieces)
    if not node.children:
        if indent is None:
            return [Cut(node.start + 1, node.start + 1, joined)]
        inner = text[node.start + 1 : node.end - 1]
        gap = inner[len(inner.rstrip(" \t\r\n")) :]
        # A comment in an otherwise empty one stays above; the line end before the bracket is reused.
        if "\n" in gap:
            last_line = len(gap) - len(gap[: gap.rfind("\n")].removesuffix("\r"))
            place = node.end - 1 - last_line
            return [Cut(place, place, lead + joined)]
        tail = style.line_end + _indent_of_line(text, node.start)
        return [Cut(node.end - 1, node.end - 1, f"{lead}{joined}{tail}")]
    last = node.children[-1]
    if last.comma >= 0:
        place = last.comma + 1 if indent is None else _after_comment(text, last.comma + 1)
        return [Cut(place, place, f"{lead}{joined},")]
    place = last.node.end if indent is None else _after_comment(text, last.node.end)
    if place == last.node.end:
        return [Cut(place, place, f",{lead}{joined}")]
    return [Cut(last.node.end, last.node.end, ","), Cut(place, place, lead + joined)]


def _entry(name: str | None, value: Any, style: Style, indent: str | None) -> str:
    whole = render(value, style, indent=indent)
    if name is None:
        return whole
    colon = ":" if indent is None and not style.spaced else ": "
    return f"{json.dumps(name, ensure_ascii=False)}{colon}{whole}"


def _indent_of_children(text: str, node: Node, style: Style) -> str | None:
    """Return the indentation of the entries of an object or array, None where they are on one line."""
    if node.children:
        start = node.children[-1].start
        before = text[text.rfind("\n", 0, start) + 1 : start]
        if "\n" not in text[node.start : start]:
            return None
        # An entry may share its line with others: the new one is indented like that line.
        return before[: len(before) - len(before.lstrip(" \t"))]
    return _indent_of_line(text, node.start) + style.unit if style.lines else None


def _indent_of_line(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place].removeprefix("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _after_comment(text: str, place: int) -> int:
    """Return the end of a comment that follows on the same line; `place` without one."""
    found = _LINE_COMMENT.match(text, place)
    return found.end() if found else place


def remove_entries(text: str, node: Node, gone: Sequence[Child]) -> list[Cut]:
    """Return the cuts that remove entries of an object or array, with their lines and commas."""
    starts = {child.start for child in gone}
    kept = [child for child in node.children if child.start not in starts]
    if not kept:
        inner = text[node.start + 1 : node.end - 1]
        rest = apply_cuts(
            inner, [Cut(one.start - node.start - 1, _end(one) - node.start - 1) for one in gone]
        )
        if not rest.strip():
            return [Cut(node.start + 1, node.end - 1)]
    kept_first = kept[0].start if kept else node.end
    cuts = []
    for child in node.children:
        if child.start not in starts:
            continue
        start = child.start - _leading_space(text, node, child)
        end = _end(child)
        own_line = "\n" in text[start : child.start]
        if not own_line and child.start < kept_first:
            end += len(text[end:]) - len(text[end:].lstrip(" \t"))
        cuts.append(Cut(start, end))
    last = node.children[-1]
    if kept and last.start in starts and last.comma < 0 and kept[-1].comma >= 0:
        # The comma before a removed last entry: there was no trailing comma before either.
        cuts.append(Cut(kept[-1].comma, kept[-1].comma + 1))
    return cuts


def _end(child: Child) -> int:
    return child.comma + 1 if child.comma >= 0 else child.node.end


def _leading_space(text: str, node: Node, child: Child) -> int:
    found = _BEFORE.search(text, node.start + 1, child.start)
    return len(found[0]) if found else 0
