"""The cells of a sheet: their visible values, merged cells and links."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Any

from openpyxl.styles.numbers import is_date_format, is_timedelta_format
from openpyxl.utils.datetime import CALENDAR_MAC_1904, CALENDAR_WINDOWS_1900, from_excel

from ragmem.readers.documents.formats.package import value as attribute
from ragmem.readers.documents.grid import CELLS_MAX, Row, Value, merge_cells
from ragmem.readers.documents.workbook.package import Package, elements, text_of

_CONDITION = re.compile(r"\[(?!\$)[^\]]*\]")
_CURRENCY = re.compile(r"\[\$([^\-\]]*)(?:-[^\]]*)?\]")
_SPACING = re.compile(r"_.|\*.")
_QUOTED = re.compile(r'"([^"]*)"')
_ESCAPED = re.compile(r"\\(.)")
_DIGITS = re.compile(r"[#0?][#0?,. ]*(?:[eE][-+][#0?]+)?")
_MOST_DECIMALS = 12
_GENERAL = "General"

_MERGES_MAX = 20_000
_FLAGS = {"0": "FALSE", "1": "TRUE"}


@dataclass(slots=True)
class Cells:
    """The rows of a sheet that are not empty; `is_cut` if the sheet exceeds the limits."""

    rows: list[Row] = field(default_factory=list)
    drawings: list[str] = field(default_factory=list)
    is_cut: bool = False
    formulas_without_value: int = 0


def read_cells(package: Package, path: str, *, characters: int, cells: int = CELLS_MAX) -> Cells:
    """Return the cells of a sheet within these limits.

    A cell that is merged with those below is repeated in each row. One that is merged with those beside it is
    repeated in each column, unless its row has no other cells. Empty cells are skipped.
    """
    result = Cells()
    merges: list[tuple[int, int, int, int]] = []
    links: dict[tuple[int, int], str] = {}
    targets = package.relations(path)
    number = seen = length = 0
    with package.archive.open(path) as stream:
        for element in elements(stream, "row", "mergeCell", "hyperlink", "drawing"):
            name = element.tag.rpartition("}")[2]
            if name == "row":
                number = int(element.get("r") or number + 1)
                if result.is_cut:
                    continue
                values = dict(_row(element, package, result))
                if values:
                    result.rows.append((number, values))
                seen += len(values)
                length += sum(len(value.text) for value in values.values())
                result.is_cut = seen > cells or length > characters
            elif name == "mergeCell" and len(merges) < _MERGES_MAX:
                merges.append(area(attribute(element, "ref")))
            elif name == "hyperlink":
                related = targets.get(attribute(element, "id"))
                if related is not None and related.outside:
                    top, left, _, _ = area(attribute(element, "ref"))
                    links[top, left] = related.target
            elif name == "drawing":
                related = targets.get(attribute(element, "id"))
                result.drawings += [related.target] if related is not None else []
    result.rows = merge_cells(_add_links(result.rows, links), merges)
    return result


def area(reference: str) -> tuple[int, int, int, int]:
    """Return top, left, bottom and right of a reference like "B2:D9"; raises ValueError for another."""
    first, _, last = reference.replace("$", "").partition(":")
    top, left = place(first)
    bottom, right = place(last) if last else (top, left)
    return top, left, bottom, right


def place(reference: str) -> tuple[int, int]:
    """Return row and column of a reference like "B2"; raises ValueError for another."""
    letters = reference.rstrip("0123456789")
    return int(reference[len(letters) :]), _column(letters)


@cache
def _column(letters: str) -> int:
    column = 0
    for letter in letters.upper():
        column = column * 26 + ord(letter) - ord("A") + 1
    return column


def _row(element: Any, package: Package, result: Cells) -> Iterator[tuple[int, Value]]:
    column = 0
    for cell in element:
        if not str(cell.tag).endswith("}c"):
            continue
        reference = cell.get("r")
        column = place(reference)[1] if reference else column + 1
        value = _value(cell, package, result)
        if value.text:
            yield column, value


def _value(cell: Any, package: Package, result: Cells) -> Value:
    kind = cell.get("t") or "n"
    if kind == "inlineStr":
        return Value(_clean(text_of(cell)))
    content = formula = ""
    for part in cell:
        name = str(part.tag).rpartition("}")[2]
        if name == "v":
            content = part.text or ""
        elif name == "f":
            formula = part.text or ""
    if not content:
        result.formulas_without_value += bool(formula)
        return Value(f"={formula}", is_text=False) if formula else Value("")
    if kind == "s":
        index = int(content)
        return Value(_clean(package.texts[index]) if 0 <= index < len(package.texts) else "")
    if kind == "b":
        return Value(_FLAGS.get(content, content), is_text=False)
    if kind == "n":
        return _number(content, cell.get("s"), package)
    # A formula's text, an error, or a date in ISO 8601.
    return Value(_clean(content), is_text=kind == "str")


def _number(content: str, style: str | None, package: Package) -> Value:
    try:
        number = float(content)
    except ValueError:
        return Value(_clean(content))
    index = int(style or 0)
    code = package.formats[index] if 0 <= index < len(package.formats) else "General"
    if number - number != 0:  # infinite, or NaN
        return Value(content, is_text=False)
    text = format_number(number, code, is_1904=package.is_1904)
    return Value(text or plain(number), is_text=False)


def _clean(text: str) -> str:
    return " ".join(text.split())


def _add_links(rows: list[Row], links: Mapping[tuple[int, int], str]) -> list[Row]:
    """Return the rows with the address after the text of each link."""
    if not links:
        return rows
    return [
        (
            number,
            {
                column: Value(f"{value.text} ({links[number, column]})")
                if links.get((number, column), value.text) not in {value.text, f"mailto:{value.text}"}
                else value
                for column, value in cells.items()
            },
        )
        for number, cells in rows
    ]


def format_number(value: float, format_code: str, *, is_1904: bool = False) -> str:
    """Return a number as its format shows it; fractions and powers of ten become plain decimals."""
    if format_code == _GENERAL:
        return plain(value)
    if _is_date(format_code):
        return _moment(value, format_code, is_1904=is_1904) or plain(value)
    section, is_negative_section = _section(value, format_code)
    digits = _DIGITS.search(_mask_literals(section))
    if format_code in {"", "@"} or digits is None or "/" in section or "E" in digits.group().upper():
        return plain(value)
    number = abs(value) if is_negative_section else value
    scaled = number * 100 if "%" in section else number
    pattern = digits.group().rstrip(" ")
    scaled /= 1000 ** (len(pattern) - len(pattern.rstrip(",")))
    _, _, after = pattern.rstrip(",").partition(".")
    decimals = min(sum(sign in "0#?" for sign in after), _MOST_DECIMALS)
    commas = "," if "," in pattern.rstrip(",") else ""
    body = f"{scaled:{commas}.{decimals}f}"
    end = digits.start() + len(pattern)
    before, behind = _literal(section[: digits.start()]), _literal(section[end:])
    minus, bare = ("-", body[1:]) if body.startswith("-") else ("", body)
    return " ".join(f"{minus}{before}{bare}{behind}".split())


@cache
def _is_date(format_code: str) -> bool:
    return bool(format_code) and bool(is_date_format(format_code))


def plain(value: float) -> str:
    """Return a number as a person writes it, without rounding errors of its binary form."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.12g}"


def _section(value: float, format_code: str) -> tuple[str, bool]:
    """Return the section of a format for this value, and whether that section writes the sign itself."""
    sections = format_code.split(";")
    if value < 0 and len(sections) > 1 and sections[1].strip():
        return sections[1], True
    if value == 0 and len(sections) > 2 and _DIGITS.search(_mask_literals(sections[2])):
        return sections[2], False
    return sections[0], False


def _mask_literals(section: str) -> str:
    """Return a section of the same length in which literals are masked, so that they contain no digits."""

    def blank(found: re.Match[str]) -> str:
        return "~" * len(found.group())

    for pattern in (_QUOTED, _CURRENCY, _CONDITION, _ESCAPED, _SPACING):
        section = pattern.sub(blank, section)
    return section


def _literal(section: str) -> str:
    """Return the literal text of a section."""
    for pattern, instead in (
        (_CURRENCY, r"\1"),
        (_CONDITION, ""),
        (_QUOTED, r"\1"),
        (_SPACING, ""),
        (_ESCAPED, r"\1"),
    ):
        section = pattern.sub(instead, section)
    return section


def _moment(value: float, format_code: str, *, is_1904: bool) -> str:
    """Return a date, a time or both; empty for a number outside of the calendar."""
    epoch = CALENDAR_MAC_1904 if is_1904 else CALENDAR_WINDOWS_1900
    try:
        moment = from_excel(value, epoch, timedelta=is_timedelta_format(format_code))
    except (ValueError, OverflowError):
        return ""
    if isinstance(moment, timedelta):
        seconds = round(moment.total_seconds())
        return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if isinstance(moment, datetime) and moment.time() == time():
        return moment.date().isoformat()
    if isinstance(moment, datetime):
        return moment.isoformat(" ", "seconds" if moment.second else "minutes")
    if isinstance(moment, time):
        return moment.isoformat("seconds" if moment.second else "minutes")
    return moment.isoformat() if isinstance(moment, date) else ""
