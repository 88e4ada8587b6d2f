"""The text of shapes on slides (DrawingML) as Markdown: paragraphs, lists, links, equations, tables."""

import re
from collections.abc import Mapping
from typing import Any

from ragmem.readers.documents.formats import equations, marks, spans
from ragmem.readers.documents.formats.package import (
    Relation,
    child,
    every,
    local,
    relation_id,
    value,
    whole,
    within,
)
from ragmem.readers.documents.formats.spans import Cell

_MONOSPACED = re.compile(r"courier|consol|mono|menlo|monaco|fixed", re.IGNORECASE)
_FROM_LAYOUT = frozenset({"slidenum"})
_MOST_LEVELS = 8
_MOST_SPAN = 500


def body(node: Any, relations: Mapping[str, Relation], *, is_list: bool = False) -> str:
    """Return the paragraphs of a text body, by default as a list if `is_list`."""
    found: list[tuple[str, bool]] = []
    code: list[str] = []
    counts: dict[int, int] = {}
    paragraphs = [each for each in node if local(each) == "p"] if node is not None else []
    told = [(each, line(each, relations)) for each in paragraphs]
    is_list = is_list and sum(1 for _, text in told if text.strip()) > 1
    for paragraph, text in told:
        if text.strip() and _is_code(paragraph):
            code.append(text)
            continue
        if code:
            found.append((marks.fence("\n".join(code)), False))
            code = []
        if text.strip():
            found.append(_paragraph(paragraph, text, is_list=is_list, counts=counts))
    if code:
        found.append((marks.fence("\n".join(code)), False))
    return marks.blocks(found)


def _paragraph(node: Any, text: str, *, is_list: bool, counts: dict[int, int]) -> tuple[str, bool]:
    properties = child(node, "pPr")
    deep = whole(properties.get("lvl"), 0) if properties is not None else 0
    level = min(max(deep, 0), _MOST_LEVELS)
    for deeper in [each for each in counts if each > level]:
        del counts[deeper]
    numbered = child(properties, "buAutoNum")
    if numbered is not None:
        counts[level] = counts.get(level, whole(numbered.get("startAt"), 1) - 1) + 1
        return marks.item(text, level=level, label=f"{counts[level]}."), True
    counts.pop(level, None)
    has_bullet = child(properties, "buChar") is not None or child(properties, "buBlip") is not None
    if "\n\n" not in text and (has_bullet or (is_list and child(properties, "buNone") is None)):
        return marks.item(text, level=level), True
    return marks.paragraph(text), False


def line(paragraph: Any, relations: Mapping[str, Relation]) -> str:
    """Return the text of a paragraph."""
    text = ""
    for each in paragraph:
        name = local(each)
        if name == "r":
            text += _run(each, relations)
        elif name == "br":
            text += "\n"
        elif name == "fld" and (each.get("type") or "") not in _FROM_LAYOUT:
            text += _run(each, relations)
        elif name in {"m", "AlternateContent"}:
            text += _equation(each)
    return marks.join_strikes(text)


def _run(node: Any, relations: Mapping[str, Relation]) -> str:
    text = "".join(each.text or "" for each in node if local(each) == "t").replace("\v", "\n")
    properties = child(node, "rPr")
    if properties is None or not text.strip():
        return text
    if whole(properties.get("baseline"), 0) > 0:
        text = marks.superscript(text)
    if (properties.get("strike") or "noStrike") != "noStrike":
        text = marks.strike_through(text)
    clicked = child(properties, "hlinkClick")
    relation = relations.get(relation_id(clicked)) if clicked is not None else None
    return marks.link(text, relation.target) if relation is not None and relation.outside else text


def _equation(node: Any) -> str:
    paragraph = next(node.iter("{*}oMathPara"), None)
    if paragraph is not None:
        found = equations.to_latex(paragraph)
        return f"\n\n$$\n{found}\n$$\n\n" if found else ""
    found = " ".join(equations.to_latex(each) for each in node.iter("{*}oMath"))
    return f"${found}$" if found.strip() else ""


def _is_code(paragraph: Any) -> bool:
    runs = [each for each in paragraph if local(each) == "r"]
    fonts = [within(each, "rPr", "latin") for each in runs]
    return bool(runs) and all(
        font is not None and _MONOSPACED.search(value(font, "typeface")) for font in fonts
    )


def table(node: Any, relations: Mapping[str, Relation]) -> str:
    """Return a table of a slide."""
    rows = []
    for row in (each for each in node if local(each) == "tr"):
        cells = []
        for each in (each for each in row if local(each) == "tc"):
            # Cells that a merged cell covers are in the file as well, with a mark.
            if {"1", "true"} & {each.get("hMerge"), each.get("vMerge")}:
                continue
            text = marks.flatten(" ".join(line(p, relations) for p in every(child(each, "txBody"), "p")))
            cells.append(Cell(text, _span(each, "gridSpan"), _span(each, "rowSpan")))
        rows.append(cells)
    return spans.write_merged_table(rows)


def _span(node: Any, name: str) -> int:
    return min(max(whole(node.get(name), 1), 1), _MOST_SPAN)
