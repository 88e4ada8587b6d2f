"""Excel workbooks with the visible values of cells: one part per sheet, or per 200 rows of a long one."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import quote

from lxml.etree import XMLSyntaxError

from ragmem.readers.documents.archives import open_archive as opened_archive
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.grid import Piece, blocks, parts, pieces
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, Picture, RefusedError
from ragmem.readers.documents.workbook import annotations
from ragmem.readers.documents.workbook.cells import Cells, place, read_cells
from ragmem.readers.documents.workbook.package import Package, SheetEntry, open_workbook

_PROPERTIES = {
    "creator": "author",
    "subject": "subject",
    "keywords": "keywords",
    "description": "description",
}


def read(path: str, limits: Limits) -> ConvertedDocument:
    """Return the sheets of the workbook at `path`; hidden ones are included and marked.

    A formula is shown by its last computed value, or as a formula if the file has none. Raises RefusedError
    for a file that is not a workbook or unpacks to more than the limits allow.
    """
    with opened_archive(path, limits) as archive:
        try:
            package = open_workbook(archive)
        except KeyError as error:
            raise RefusedError("the file is damaged or cut short") from error
        warnings: list[str] = []
        if package.has_macros:
            warnings.append("its macros are not read")
        sheets = list(package.sheets)
        if len(sheets) > limits.pages:
            warnings.append(f"only the first {limits.pages:,} of {len(sheets):,} sheets are read")
        result: list[Part] = []
        left = limits.characters
        seen = Pictures(limits)
        for sheet in sheets[: limits.pages]:
            if not sheet.path or sheet.path not in archive.namelist():
                continue
            for part in _sheet(package, sheet, left, seen, warnings):
                result.append(replace(part, text=part.text[:left]))
                left -= len(part.text)
                if left <= 0:
                    break
            if left <= 0:
                warnings.append(f"text beyond {limits.characters:,} characters is left out")
                break
    properties = package.properties
    return ConvertedDocument(
        tuple(result),
        title=properties.get("title", ""),
        event_time=properties.get("modified", "") or properties.get("created", ""),
        metadata={told: properties[name] for name, told in _PROPERTIES.items() if name in properties},
        warnings=tuple(warnings),
    )


def _sheet(
    package: Package, sheet: SheetEntry, characters: int, seen: Pictures, warnings: list[str]
) -> Iterator[Part]:
    cells = read_cells(package, sheet.path, characters=characters)
    if cells.is_cut:
        last = cells.rows[-1][0]
        warnings.append(f'sheet "{sheet.name}" is read up to row {last:,}; the rest is left out')
    if cells.formulas_without_value:
        warnings.append(
            f'sheet "{sheet.name}" has formulas without a value ({cells.formulas_without_value:,}): '
            "save it in a spreadsheet program to have them computed"
        )
    names: dict[tuple[int, int], str] = {}
    with _warn_of_damage(sheet, "names of tables", warnings):
        names = annotations.table_names(package, sheet.path)
    told = [piece for block in blocks(cells.rows, names=names) for piece in pieces(block)]
    groups = parts(told)
    ranges = [(group[0].first, max(piece.last for piece in group)) for group in groups]
    notes, pictures = _notes(package, sheet, cells, ranges, seen, warnings=warnings)
    places: Counter[str] = Counter()
    for index in range(max(1, len(groups))):
        group = groups[index] if groups else []
        text = "\n\n".join(
            filter(None, [_heading(sheet, index), *(piece.text for piece in group), *notes[index]])
        )
        if group or notes[index]:
            part = _part(sheet, text, group, pictures[index], is_whole=len(groups) <= 1)
            # Tables side by side may have the same rows, but locators must be unique.
            places[part.locator] += 1
            yield part if places[part.locator] == 1 else _number_part(part, places[part.locator])


def _heading(sheet: SheetEntry, index: int) -> str:
    heading = f"## {sheet.name}"
    return f"{heading}\n\nThis sheet is hidden in the workbook." if sheet.is_hidden and not index else heading


def _part(
    sheet: SheetEntry, text: str, group: list[Piece], pictures: list[Picture], *, is_whole: bool
) -> Part:
    locator, label = f"sheet={quote(sheet.name, safe=' ')}", f"sheet {sheet.name}"
    if not is_whole:
        first, last = group[0].first, max(piece.last for piece in group)
        # Without the last row, so that the locators of a growing table stay the same.
        locator, label = f"{locator}&row={first}", f"{label}, rows {first}-{last}"
    if sheet.is_hidden:
        label += " (hidden)"
    return Part(text, locator, label, sheet.name, tuple(pictures))


def _number_part(part: Part, number: int) -> Part:
    return replace(part, locator=f"{part.locator}&part={number}", label=f"{part.label}, part {number}")


def _notes(
    package: Package,
    sheet: SheetEntry,
    cells: Cells,
    ranges: list[tuple[int, int]],
    seen: Pictures,
    *,
    warnings: list[str],
) -> tuple[list[list[str]], list[list[Picture]]]:
    """Return the annotations and the pictures for each part, by their rows."""
    count = max(1, len(ranges))
    notes: list[list[str]] = [[] for _ in range(count)]
    pictures: list[list[Picture]] = [[] for _ in range(count)]

    def part_of(row: int) -> int:
        return next((index for index, (_, last) in enumerate(ranges) if row <= last), count - 1)

    shown = {(number, column): value.text for number, row in cells.rows for column, value in row.items()}
    comments: list[annotations.Comment] = []
    with _warn_of_damage(sheet, "comments", warnings):
        comments = annotations.comments(package, sheet.path)
    for one in comments:
        about = shown.get(place(one.cell), "")
        on = f'{one.cell} ("{about}")' if about else one.cell
        by = f" by {one.author}" if one.author else ""
        notes[part_of(one.row)].append(f"Comment on {on}{by}: {one.text}")
    with _warn_of_damage(sheet, "charts and pictures", warnings):
        notes[0] += annotations.charts(package, cells.drawings)
        for picture in annotations.pictures(package, cells.drawings):
            index = part_of(picture.row)
            notes[index].append(seen.describe(picture.data, alt=picture.alt))
            pictures[index] += seen.take()
    return notes, pictures


@contextmanager
def _warn_of_damage(sheet: SheetEntry, what: str, warnings: list[str]) -> Iterator[None]:
    """Turn damage of annotations into a warning, because the cells can still be read."""
    try:
        yield
    except (XMLSyntaxError, KeyError, ValueError) as error:
        warnings.append(f'the {what} of sheet "{sheet.name}" are damaged ({type(error).__name__})')
