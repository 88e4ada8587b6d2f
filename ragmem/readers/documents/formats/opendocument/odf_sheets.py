"""The sheets of an OpenDocument spreadsheet, read row by row: values as shown, comments, charts, pictures."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ragmem.readers.documents.formats import marks
from ragmem.readers.documents.formats.opendocument.odf_story import Line, Story
from ragmem.readers.documents.formats.opendocument.odf_styles import Styles
from ragmem.readers.documents.formats.package import Package, child, every, local, value, whole
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.grid import CELLS_MAX, Row, Value, merge_cells
from ragmem.readers.documents.model import Limits, Part
from ragmem.readers.documents.sheets import Annotation, comment, sheet_parts
from ragmem.readers.documents.workbook.package import elements

_MOST_COPIES = 1_000
"""Maximum columns of one repeated value, and rows of one repeated row."""

_MERGES_MAX = 20_000


@dataclass(slots=True)
class _Sheet:
    """A sheet as far as it is read; `length` counts its characters, `number` its rows."""

    name: str
    is_hidden: bool
    rows: list[Row] = field(default_factory=list)
    merges: list[tuple[int, int, int, int]] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    number: int = 0
    cells: int = 0
    length: int = 0
    is_cut: bool = False


def read_sheets(package: Package, pictures: Pictures, limits: Limits, warnings: list[str]) -> Iterator[Part]:
    """Yield the parts of all sheets, hidden ones too."""
    left = limits.characters
    for count, sheet in enumerate(_sheets(package, pictures, limits)):
        if count == limits.pages or left <= 0:
            warnings.append(f'the sheets from "{sheet.name}" on are left out')
            return
        if sheet.is_cut:
            warnings.append(f'sheet "{sheet.name}" is read up to row {sheet.number:,}; the rest is left out')
        rows = merge_cells(sheet.rows, sheet.merges)
        for part in sheet_parts(sheet.name, rows, sheet.annotations, is_hidden=sheet.is_hidden):
            yield part
            left -= len(part.text)


def _sheets(package: Package, pictures: Pictures, limits: Limits) -> Iterator[_Sheet]:
    story = Story(package, Styles(None), pictures)
    hidden: set[str] = set()
    sheet: _Sheet | None = None
    with package.archive.open("content.xml") as stream:
        for each in elements(stream, "style", "table-row", "shapes", "table"):
            name = local(each)
            if name == "style":
                if any(value(one, "display") == "false" for one in every(each, "table-properties")):
                    hidden.add(value(each, "name"))
                continue
            table = each if name == "table" else next(each.iterancestors("{*}table"), None)
            if table is None or _is_copy(table):
                continue
            sheet = sheet or _Sheet(value(table, "name"), value(table, "style-name") in hidden)
            if name == "table-row":
                _row(each, sheet, story, limits)
            elif name == "shapes":
                _drawings(each, 0, sheet, story)
            else:
                yield sheet
                sheet = None


def _is_copy(table: Any) -> bool:
    """Return whether a table is a copy of cells in another file, which formulas refer to."""
    return child(table, "table-source") is not None or any(table.iterancestors("{*}dde-link", "{*}object"))


def _row(node: Any, sheet: _Sheet, story: Story, limits: Limits) -> None:
    """Add a row as often as it is repeated, unless it is empty."""
    first = sheet.number + 1
    copies = max(whole(value(node, "number-rows-repeated"), 1), 1)
    if sheet.is_cut:
        return
    cells: dict[int, Value] = {}
    column = 1
    for cell in node:
        if local(cell) not in {"table-cell", "covered-table-cell"}:
            continue
        repeated = max(whole(value(cell, "number-columns-repeated"), 1), 1)
        shown = _value(cell) if local(cell) == "table-cell" else Value("")
        if shown.text:
            cells |= dict.fromkeys(range(column, column + min(repeated, _MOST_COPIES)), shown)
            down, across = (
                max(whole(value(cell, f"number-{what}-spanned"), 1), 1) for what in ("rows", "columns")
            )
            if down * across > 1 and len(sheet.merges) < _MERGES_MAX:
                sheet.merges.append((first, column, first + down - 1, column + across - 1))
        for note in every(cell, "annotation"):
            line = Line(story)
            line.read(note)
            author = "".join(each.text or "" for each in note if local(each) == "creator").strip()
            words = " ".join(_plain(each) for each in every(note, "p"))
            if words := marks.flatten(words):
                place = f"{_letters(column)}{first}"
                sheet.annotations.append(comment(first, place, words, about=shown.text, author=author))
        _drawings(cell, first, sheet, story)
        column += repeated
    for number in range(first, first + min(copies, _MOST_COPIES) if cells else first):
        if sheet.is_cut:
            return
        sheet.number = number
        sheet.rows.append((sheet.number, cells))
        sheet.cells += len(cells)
        sheet.length += sum(len(each.text) for each in cells.values())
        sheet.is_cut = sheet.cells > CELLS_MAX or sheet.length > limits.characters
    sheet.number = first + copies - 1


def _value(cell: Any) -> Value:
    """Return what a cell shows; dates in ISO 8601, as those of other formats."""
    kind = value(cell, "value-type")
    if kind == "date" and (moment := value(cell, "date-value")):
        return Value(moment.removesuffix("T00:00:00").replace("T", " "), is_text=False)
    text = marks.flatten(" ".join(_plain(each) for each in cell if local(each) == "p"))
    for name in () if text else ("string-value", "boolean-value", "time-value", "value"):
        text = text or value(cell, name)
    for link in every(cell, "a"):
        address = value(link, "href")
        if address.removeprefix("mailto:") not in text and not address.startswith("#"):
            text = f"{text} ({address})"
    return Value(text, is_text=kind in {"", "string"})


def _plain(node: Any) -> str:
    """Return the words of a paragraph in a cell."""
    told = node.text or ""
    for each in node:
        name = local(each)
        told += " " if name in {"s", "tab", "line-break"} else "" if name == "annotation" else _plain(each)
        told += each.tail or ""
    return told


def _drawings(node: Any, row: int, sheet: _Sheet, story: Story) -> None:
    """Add the charts, pictures and boxes of a cell or a sheet."""
    for frame in every(node, "frame", "custom-shape"):
        line = Line(story)
        line.drawing(frame)
        words = (marks.flatten(_plain(each)) for box in line.boxes for each in every(box, "p"))
        if text := "\n\n".join(filter(None, [line.text(), *line.below, *words])):
            sheet.annotations.append(Annotation(row, text, story.pictures.take()))


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
