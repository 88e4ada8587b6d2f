"""Group rows of lines into blocks: paragraphs, lists, tables without rules, and captions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ragmem.readers.documents.formats.pdf.pdf_lines import Line
from ragmem.readers.documents.formats.pdf.pdf_words import Box, union
from ragmem.readers.documents.tables import write_table

CAPTION = re.compile(r"(?:table|tab\.|tabelle|tableau|tabla|exhibit)\s*[\dIVX]", re.IGNORECASE)
PICTURE = re.compile(r"\[\[picture \d+\]\]")
_ITEM = re.compile(r"(?:[•●○▪‣·*\u2013-]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+\S")
_BULLET = re.compile(r"[•●○▪‣·\u2013]\s+")
_NOTE = re.compile(r"\[\^[^\]]+\]:")
_MARK = re.compile(r"[•●○▪‣·*\u2013-]|\(?(?:\d{1,3}|[a-z])[.)]")
_SAME_LEFT = 30.0  # points
_SHORT = 0.6
_APART = 0.3  # line heights, in addition to the gap between lines of a paragraph
_FARTHEST = 1.4  # of text with one and a half lines or two
_RESIZED = 0.12
_INDENT = 3.5  # line heights; a first line stands that far in or out
_NEARLY_FULL = 2.0  # line heights that a line with a ragged end may be shorter than the next
_UNSPACED = re.compile("[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff60]")  # scripts without blanks
_CAPTION_APART = 3.0  # line heights between a caption and its table
_FEWEST_ROWS = 2
_LETTERS = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a page in Markdown; `size` and `bold` show whether it may be a heading."""

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
        if paragraph and _begins_paragraph(paragraph, line, usual):
            end_paragraph()
        paragraph.append(line)
        number += 1
    end_paragraph()
    return blocks


def join_captions(blocks: Sequence[Block], tables: dict[str, list[list[str]]]) -> list[Block]:
    """Return the blocks with the text of each table, including its caption if one is next to it.

    `tables` are the cells of ruled tables by their placeholders.
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
    """Return a row in which the mark of a list item is joined with the next cell."""
    if len(row) < 2 or row[0].is_table or not _MARK.fullmatch(row[0].text):
        return row
    first, second, *rest = row
    box = union((first.box, second.box))
    return [replace(second, text=f"{first.text} {second.text}", box=box), *rest]


def _join_lines(row: Sequence[Line]) -> Line:
    """Return a row as one line, with two blanks between cells."""
    if len(row) == 1:
        return row[0]
    return Line(
        "  ".join(line.text for line in row),
        union(line.box for line in row),
        max(line.size for line in row),
        bold=all(line.bold for line in row),
    )


def _usual_gap(rows: Sequence[Sequence[Line]]) -> float:
    """Return the usual gap between lines of a paragraph in line heights: the lower quartile."""
    gaps = sorted(
        (below[0].box.top - above[0].box.bottom) / below[0].size
        for above, below in pairwise(rows)
        if above[0].size and below[0].size and below[0].box.top >= above[0].box.top
    )
    return max(0.0, gaps[len(gaps) // 4]) if gaps else 0.0


def _begins_paragraph(paragraph: Sequence[Line], line: Line, usual: float) -> bool:
    """Return whether a line begins a new paragraph."""
    before = paragraph[-1]
    gap = line.box.top - before.box.bottom
    apart = min(usual + _APART, _FARTHEST) * max(line.size, 1.0)
    resized = abs(line.size - before.size) > _RESIZED * max(line.size, before.size)
    box, above = line.box, before.box
    shifts = (box.left - above.left, box.middle - above.middle, box.right - above.right)
    # A centred title above a heading at the left.
    misaligned = min(map(abs, shifts)) > line.size and not _is_second(paragraph, line)
    elsewhere = misaligned or gap < -line.box.height or line.box.left > before.box.right
    begins = bool(_ITEM.match(line.text) or _NOTE.match(line.text))
    return gap > apart or resized or elsewhere or line.bold != before.bold or begins


def _is_second(paragraph: Sequence[Line], line: Line) -> bool:
    """Return whether a line continues a first line that stands further in, or the mark of a list item."""
    first = paragraph[0]
    if len(paragraph) > 1 or line.bold:  # a bold line may be a heading below a centred title
        return False
    shift = first.box.left - line.box.left
    indented = shift > 0 or bool(_ITEM.match(first.text))
    is_full = first.box.right > line.box.right - _NEARLY_FULL * line.size
    return indented and is_full and abs(shift) < _INDENT * line.size


def _paragraph(lines: Sequence[Line], widths: Sequence[tuple[float, float]]) -> Block:
    """Return lines as one text; hyphenated words are joined.

    A line that is much shorter than others with the same left edge was broken on purpose: code, verse, an
    address. Its line break is kept.
    """
    text = lines[0].text
    for before, line in pairwise(lines):
        if text.endswith("-") and text[-2:-1].isalpha() and line.text[:1].islower():
            text = text[:-1] + line.text
        else:
            same_left = (width for left, width in widths if abs(left - before.box.left) < _SAME_LEFT)
            widest = max(same_left, default=0.0)  # a row of cells may be the only one at its edge
            blank = "" if _UNSPACED.match(text[-1]) and _UNSPACED.match(line.text) else " "
            text = f"{text}{chr(10) if before.box.width < _SHORT * widest else blank}{line.text}"
    return Block(
        _BULLET.sub("- ", text, count=1) if _BULLET.match(text) else text,
        union(line.box for line in lines),
        max(line.size for line in lines),
        bold=all(line.bold for line in lines),
        lines=len(lines),
    )


def _table(rows: Sequence[Sequence[Line]]) -> tuple[Block | None, int]:
    """Return the table at the beginning of these rows, if they form columns, and its number of rows."""
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
            middle = line.box.middle
            nearest = min(range(len(columns)), key=lambda n: _distance(columns[n], middle))
            placed[nearest] = f"{placed[nearest]} {line.text}".strip()
        cells.append(tuple(placed))
    box = union(line.box for row in rows[:count] for line in row)
    header = all(line.bold for line in rows[0]) or _is_header(cells)
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


def _is_header(cells: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row is a header: without digits, above rows that have some."""
    if any(_DIGIT.search(cell) for cell in cells[0]) or not all(cells[0]):
        return False
    return all(any(_DIGIT.search(cell) for cell in row) for row in cells[1:])
