"""Excel workbooks with the visible values of cells: one part per sheet, or per 200 rows of a long one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from lxml.etree import XMLSyntaxError

from ragmem.readers.documents.archives import open_archive as opened_archive
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, RefusedError
from ragmem.readers.documents.sheets import Annotation, comment, sheet_parts
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
    notes = list(_notes(package, sheet, cells, seen, warnings=warnings))
    yield from sheet_parts(sheet.name, cells.rows, notes, names=names, is_hidden=sheet.is_hidden)


def _notes(
    package: Package, sheet: SheetEntry, cells: Cells, seen: Pictures, *, warnings: list[str]
) -> Iterator[Annotation]:
    shown = {(number, column): value.text for number, row in cells.rows for column, value in row.items()}
    comments: list[annotations.Comment] = []
    with _warn_of_damage(sheet, "comments", warnings):
        comments = annotations.comments(package, sheet.path)
    for one in comments:
        about = shown.get(place(one.cell), "")
        yield comment(one.row, one.cell, one.text, about=about, author=one.author)
    with _warn_of_damage(sheet, "charts and pictures", warnings):
        yield from (Annotation(0, line) for line in annotations.charts(package, cells.drawings))
        for picture in annotations.pictures(package, cells.drawings):
            yield Annotation(picture.row, seen.describe(picture.data, alt=picture.alt), seen.take())


@contextmanager
def _warn_of_damage(sheet: SheetEntry, what: str, warnings: list[str]) -> Iterator[None]:
    """Turn damage of annotations into a warning, because the cells can still be read."""
    try:
        yield
    except (XMLSyntaxError, KeyError, ValueError) as error:
        warnings.append(f'the {what} of sheet "{sheet.name}" are damaged ({type(error).__name__})')
