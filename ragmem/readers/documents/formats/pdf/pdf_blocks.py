"""Rows of lines become blocks: paragraphs, lists, tables without rules, and tables with their captions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ragmem.readers.documents.formats.pdf.pdf_lines import Box, Line, union
from ragmem.readers.documents.tables import write_table

CAPTION = re.compile(r"(?:table|tab\.|tabelle|tableau|tabla|exhibit)\s*[\dIVX]", re.IGNORECASE)
PICTURE = re.compile(r"\[\[picture \d+\]\]")
_ITEM = re.compile(r"(?:[•●○▪‣·*\u2013-]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+\S")
_BULLET = re.compile(r"[•●○▪‣·\u2013]\s+")
_NOTE = re.compile(r"\[\^[^\]]+\]:")
_MARK = re.compile(r"[•●○▪‣·*\u2013-]|\(?(?:\d{1,3}|[a-z])[.)]")
_SAME_LEFT = 30.0  # points
_SHORT = 0.6
_APART = 0.3  # of a line's height, more than between the lines of a paragraph
_FARTHEST = 1.1
_RESIZED = 0.12
_CAPTION_APART = 3.0  # heights of a line, between a caption and its table
_FEWEST_ROWS = 2
_LETTERS = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a page in Markdown; `size` and `bold` tell whether it may be a heading."""

    text: str
    box: Box
    size: float
    bold: bool = False
    lines: int = 1
    is_table: bool = False
    cells: tuple[tuple[str, ...], ...] = ()
    header: bool = True


def blocks_of(rows: Sequence[Sequence[Line]]) -> list[Block]:
    """Return the blocks of a page in reading order."""
    rows = [_itemize(row) for row in rows]
    usual = _usual_gap(rows)
    widths = [(line.box.left, line.box.width) for row in rows for line in row if len(row) == 1]
    blocks: list[Block] = []
    paragraph: list[Line] = []
    number = 0

    def end_paragraph() -> None:
        if paragraph:
            blocks.append(_paragraph(paragraph, widths))
            paragraph.clear()

    while number < len(rows):
        row = rows[number]
        if row[0].is_table:
            end_paragraph()
            blocks.append(Block(row[0].text, row[0].box, row[0].size, is_table=True))
            number += 1
            continue
        table, count = _table(rows[number:])
        if table is not None:
            end_paragraph()
            blocks.append(table)
            number += count
            continue
        line = _join_lines(row)
        if paragraph and _parts(paragraph[-1], line, usual):
            end_paragraph()
        paragraph.append(line)
        number += 1
    end_paragraph()
    return blocks


def join_captions(blocks: Sequence[Block], tables: dict[str, list[list[str]]]) -> list[Block]:
    """Return the blocks with each table written out, and its caption taken in where one stands beside it.

    `tables` are the cells of ruled ones, by the text that stands for them.
    """
    done: list[Block] = []
    taken: set[int] = set()
    for number, block in enumerate(blocks):
        if number in taken:
            continue
        if not block.is_table or PICTURE.match(block.text):
            done.append(block)
            continue
        caption = ""
        if done and _is_caption(done[-1], block):
            caption = done.pop().text
        elif number + 1 < len(blocks) and _is_caption(blocks[number + 1], block):
            caption = blocks[number + 1].text
            taken.add(number + 1)
        cells = tables.get(block.text) or [list(row) for row in block.cells]
        done.append(replace(block, text=write_table(cells, header=block.header, caption=caption)))
    return done


def _is_caption(block: Block, table: Block) -> bool:
    if block.is_table or not CAPTION.match(block.text):
        return False
    apart = max(table.box.top - block.box.bottom, block.box.top - table.box.bottom)
    return apart < _CAPTION_APART * max(block.size, 8.0)


def _itemize(row: Sequence[Line]) -> Sequence[Line]:
    """Return a row whose first cell is the mark of a list's item with that mark before the next one."""
    if len(row) < 2 or row[0].is_table or not _MARK.fullmatch(row[0].text):
        return row
    first, second, *rest = row
    box = union((first.box, second.box))
    return [replace(second, text=f"{first.text} {second.text}", box=box), *rest]


def _join_lines(row: Sequence[Line]) -> Line:
    """Return a row as one line, its cells apart."""
    if len(row) == 1:
        return row[0]
    return Line(
        "  ".join(line.text for line in row),
        union(line.box for line in row),
        max(line.size for line in row),
        bold=all(line.bold for line in row),
    )


def _usual_gap(rows: Sequence[Sequence[Line]]) -> float:
    """Return the gap between lines of a paragraph, in heights of a line: that of the narrower ones."""
    gaps = sorted(
        (below[0].box.top - above[0].box.bottom) / below[0].size
        for above, below in pairwise(rows)
        if above[0].size and below[0].size and below[0].box.top >= above[0].box.top
    )
    return max(0.0, gaps[len(gaps) // 4]) if gaps else 0.0


def _parts(before: Line, line: Line, usual: float) -> bool:
    """Tell whether a line begins a paragraph of its own."""
    gap = line.box.top - before.box.bottom
    apart = min(usual + _APART, _FARTHEST) * max(line.size, 1.0)
    resized = abs(line.size - before.size) > _RESIZED * max(line.size, before.size)
    edges = [(edge(line.box) - edge(before.box)) for edge in (_left, _middle, _right)]
    # A centred title above a heading at the left.
    misaligned = min(abs(one) for one in edges) > line.size
    elsewhere = misaligned or gap < -line.box.height or line.box.left > before.box.right
    begins = bool(_ITEM.match(line.text) or _NOTE.match(line.text))
    return gap > apart or resized or elsewhere or line.bold != before.bold or begins


def _left(box: Box) -> float:
    return box.left


def _middle(box: Box) -> float:
    return (box.left + box.right) / 2


def _right(box: Box) -> float:
    return box.right


def _paragraph(lines: Sequence[Line], widths: Sequence[tuple[float, float]]) -> Block:
    """Return lines as one text; a word that a hyphen parts at the end of a line is put together.

    A line that ends well before others do that begin where it begins was ended on purpose: code, verse, an
    address. It stays a line.
    """
    text = lines[0].text
    for before, line in pairwise(lines):
        if text.endswith("-") and text[-2:-1].isalpha() and line.text[:1].islower():
            text = text[:-1] + line.text
        else:
            widest = max(width for left, width in widths if abs(left - before.box.left) < _SAME_LEFT)
            text = f"{text}{chr(10) if before.box.width < _SHORT * widest else ' '}{line.text}"
    return Block(
        _BULLET.sub("- ", text, count=1) if _BULLET.match(text) else text,
        union(line.box for line in lines),
        max(line.size for line in lines),
        bold=all(line.bold for line in lines),
        lines=len(lines),
    )


def _table(rows: Sequence[Sequence[Line]]) -> tuple[Block | None, int]:
    """Return the table that these rows begin with, if they stand in columns, and how many rows it has."""
    count = 0
    while count < len(rows) and len(rows[count]) > 1 and not rows[count][0].is_table:
        if count and rows[count][0].box.top - rows[count - 1][0].box.bottom > 2 * rows[count][0].box.height:
            break
        count += 1
    widest = max((len(row) for row in rows[:count]), default=0)
    if count < _FEWEST_ROWS or (count == _FEWEST_ROWS and widest == 2):
        return None, 0
    columns = _columns(rows[:count])
    if len(columns) != widest:
        return None, 0
    cells = []
    for row in rows[:count]:
        placed = [""] * len(columns)
        for line in row:
            middle = (line.box.left + line.box.right) / 2
            nearest = min(range(len(columns)), key=lambda n: _distance(columns[n], middle))
            placed[nearest] = f"{placed[nearest]} {line.text}".strip()
        cells.append(tuple(placed))
    box = union(line.box for row in rows[:count] for line in row)
    header = all(line.bold for line in rows[0]) or _heads(cells)
    return Block("", box, rows[0][0].size, is_table=True, cells=tuple(cells), header=header), count


def _columns(rows: Sequence[Sequence[Line]]) -> list[tuple[float, float]]:
    columns: list[tuple[float, float]] = []
    for left, right in sorted((line.box.left, line.box.right) for row in rows for line in row):
        if columns and left < columns[-1][1]:
            columns[-1] = (columns[-1][0], max(columns[-1][1], right))
        else:
            columns.append((left, right))
    return columns


def _distance(column: tuple[float, float], middle: float) -> float:
    return max(column[0] - middle, middle - column[1], 0.0)


def _heads(cells: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first row names what stands below: no figures, over rows that have some."""
    if any(_DIGIT.search(cell) for cell in cells[0]) or not all(cells[0]):
        return False
    return all(any(_DIGIT.search(cell) for cell in row) for row in cells[1:])
