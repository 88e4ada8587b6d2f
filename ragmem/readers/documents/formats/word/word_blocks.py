"""The paragraphs, lists and tables of a Word file, in order and with their kinds."""

import re
from collections.abc import Iterator
from typing import Any

from ragmem.readers.documents.formats import marks, spans
from ragmem.readers.documents.formats.package import child, local, value, whole, within
from ragmem.readers.documents.formats.spans import Cell
from ragmem.readers.documents.formats.text_blocks import Block
from ragmem.readers.documents.formats.word.word_runs import Line
from ragmem.readers.documents.formats.word.word_story import Story
from ragmem.readers.documents.formats.word.word_styles import BODY, setting, switch

_DEEPEST = 40
"""Maximum nesting of tables and boxes."""

_IGNORED = frozenset({"sectPr", "del", "moveFrom", "sdtPr", "sdtEndPr", "tblPr", "tblGrid", "customXmlPr"})
_MOST_LEVELS = 8


def blocks(node: Any, story: Story, depth: int) -> Iterator[Block]:
    """Yield the blocks within the body, a cell, a box or a note."""
    if depth > _DEEPEST:
        return
    pending = ""
    for each in node:
        name = local(each)
        if name in _IGNORED:
            continue
        if name == "p":
            for block in _paragraph(each, story, depth, before=pending):
                pending = block.text if block.merges else ""
                if not block.merges:
                    yield block
        elif name == "tbl":
            yield from _table(each, story, depth)
        elif name != "Fallback" and not _is_contents(each):
            yield from blocks(each, story, depth + 1)
    if pending:
        yield Block("text", pending)


def _is_contents(node: Any) -> bool:
    """Return whether an element is a generated table of contents, which repeats the headings."""
    return setting(within(node, "sdtPr", "docPartObj"), "docPartGallery") == "Table of Contents"


def _paragraph(node: Any, story: Story, depth: int, *, before: str) -> Iterator[Block]:
    """Yield a paragraph and its text boxes; `before` is text that continues in it."""
    properties = child(node, "pPr")
    style = setting(properties, "pStyle", story.styles.default)
    line = Line(story, hidden=story.styles.is_hidden(style))
    if before:
        line.pieces.append(before)
    line.read(node)
    text = line.text()
    names = list(story.styles.names(style)) or [style.lower()]
    if not any(re.fullmatch(r"toc \d|table of figures", name) for name in names[:1]):
        block = _kind_of(text, node, line, style, names)
        # A paragraph whose end is a tracked deletion continues in the next one.
        block.merges = child(child(properties, "rPr"), "del") is not None
        yield block
    for box in line.boxes:
        yield from blocks(box, story.beside(story.part, box), depth + 1)


def _kind_of(text: str, node: Any, line: Line, style: str, names: list[str]) -> Block:
    below = line.below
    if not text.strip():
        return Block("text", "", below=below)
    properties = child(node, "pPr")
    if names[0] == "title":
        return Block("title", text, 1, below=below)
    own = setting(properties, "outlineLvl")
    level = int(own) if own in set("0123456789") else line.story.styles.outline(style)
    label, depth = _label(properties, line.story, style)
    if level < BODY:
        front = f"{label} " if label else ""
        return Block("heading", front + text, level + 1, below=below)
    if label is not None and "\n\n" not in text:
        return Block("item", marks.item(text, level=depth, label=label), below=below)
    kind = "text"
    if "caption" in names:
        kind = "caption"
    elif line.story.styles.is_code(style) or (line.written and line.monospaced >= line.written):
        kind = "code"
    elif names[0] in {"quote", "intense quote", "block text"}:
        kind = "quote"
    return Block(kind, text, below=below)


def _label(properties: Any, story: Story, style: str) -> tuple[str | None, int]:
    """Return the label of a paragraph ("2.1", "" for a bullet, None outside of lists), and its level."""
    number, level = story.styles.list_level(style)
    own = child(properties, "numPr")
    if level is None:
        level = story.numbering.level_of_style(number, style)
    if own is not None:
        number = setting(own, "numId", number)
        level = whole(setting(own, "ilvl"), level)
    if not story.numbering.is_list(number):
        return None, 0
    level = min(max(level, 0), _MOST_LEVELS)
    return story.numbering.next_label(number, level), level


def _table(node: Any, story: Story, depth: int) -> Iterator[Block]:
    rows = [each for each in _rows(node) if child(child(each, "trPr"), "del") is None]
    below: list[str] = []
    first = list(_cells(rows[0])) if rows else []
    if len(rows) == 1 and (len(first) == 1 or any(child(cell, "tbl") is not None for cell in first)):
        # A frame around text, or columns made with a table.
        for cell in first:
            yield from blocks(cell, story, depth + 1)
        return
    placed: list[list[tuple[int, int, str, Any]]] = []
    for row in rows:
        at = _skip(row)
        line = []
        for cell in _cells(row):
            properties = child(cell, "tcPr")
            width = max(whole(setting(properties, "gridSpan"), 1), 1)
            merged = child(properties, "vMerge")
            going_on = merged is not None and value(merged, "val", "continue") == "continue"
            line.append((at, min(width, 500), "" if going_on else _cell(cell, story, depth, below), going_on))
            at += width
        placed.append(line)
    marked = 0
    while marked < len(rows) and switch(child(rows[marked], "trPr"), "tblHeader"):
        marked += 1
    caption = setting(child(node, "tblPr"), "tblCaption")
    rows_of_cells = _merge_rows(placed)
    yield Block("table", "", rows=rows_of_cells, headings=marked or None, below=below, caption=caption)


def _rows(node: Any) -> Iterator[Any]:
    """Yield the rows of a table, including those in content controls, but not those of nested tables."""
    for each in node:
        if local(each) == "tr":
            yield each
        elif local(each) in {"sdt", "sdtContent", "customXml", "ins"}:
            yield from _rows(each)


def _cells(row: Any) -> Iterator[Any]:
    for each in row:
        if local(each) == "tc":
            if child(child(each, "tcPr"), "cellDel") is None:
                yield each
        elif local(each) in {"sdt", "sdtContent", "customXml", "ins"}:
            yield from _cells(each)


def _skip(row: Any) -> int:
    return min(max(whole(setting(child(row, "trPr"), "gridBefore"), 0), 0), 500)


def _merge_rows(placed: list[list[tuple[int, int, str, Any]]]) -> list[list[Cell]]:
    """Return cells with the rows that they span: Word marks in each row the cells that continue."""
    going_on = [{at for at, _, _, continues in line if continues} for line in placed]
    rows = []
    for number, line in enumerate(placed):
        cells = [Cell("")] * (line[0][0] if line else 0)
        for at, width, text, continues in line:
            if continues and number > 0:
                continue
            below = number + 1
            while below < len(placed) and at in going_on[below]:
                below += 1
            cells.append(Cell(text, width, below - number))
        rows.append(cells)
    return rows


def _cell(node: Any, story: Story, depth: int, below: list[str]) -> str:
    """Return the text of a cell as one line; its notes go below the table."""
    told = []
    for block in blocks(node, story, depth + 1):
        if block.kind == "table":
            told.append(spans.flat([[cell.text for cell in row] for row in block.rows]))
        elif block.text.strip():
            ends = told and (told[-1].startswith("- ") or block.kind == "item")
            told.append(f"; {block.text.strip()}" if ends else block.text.strip())
        below += block.below
    text = marks.flatten(" ".join(told)).replace(" ; ", "; ")
    return re.sub(r"(^|; )- ", r"\1", text)
