"""The annotations of a sheet: comments, named tables, the titles of charts, pictures."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ragmem.readers.documents.formats.package import every, value
from ragmem.readers.documents.workbook.cells import area, place
from ragmem.readers.documents.workbook.package import Package, text_in, text_of, whole

PICTURE_BYTES_MAX = 10_000_000
_THREAD_MARK = "[Threaded comment]"


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a cell; the author may be empty."""

    row: int
    cell: str
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class PictureOfSheet:
    """An image on a sheet, at the row of its upper edge; without bytes if it is external or too large."""

    row: int
    alt: str
    data: bytes = b""


def comments(package: Package, path: str) -> list[Comment]:
    """Return the comments and notes of a sheet from top to bottom."""
    threads = [
        one
        for part in package.parts_of_kind(path, "threadedComment")
        for one in _threaded_comments(package, part)
    ]
    cells = {one.cell for one in threads}
    notes = [
        one
        for part in package.parts_of_kind(path, "comments")
        for one in _notes(package, part)
        # Excel repeats a thread as a note, for older versions.
        if one.cell not in cells and not one.text.startswith(_THREAD_MARK)
    ]
    return sorted([*threads, *notes], key=lambda one: one.row)


def _notes(package: Package, path: str) -> Iterator[Comment]:
    root = whole(package.archive.read(path))
    authors = [each.text or "" for each in every(root, "author")]
    for element in every(root, "comment"):
        cell = value(element, "ref")
        index = int(value(element, "authorId") or -1)
        author = authors[index] if 0 <= index < len(authors) else ""
        if text := " ".join(text_of(element).split()):
            # Excel repeats the author in the text.
            yield Comment(place(cell)[0], cell, author.strip(), text.removeprefix(f"{author}:").strip())


def _threaded_comments(package: Package, path: str) -> Iterator[Comment]:
    people = {}
    for name in package.archive.namelist():
        if name.startswith("xl/persons/"):
            for person in every(whole(package.archive.read(name)), "person"):
                people[value(person, "id")] = value(person, "displayName")
    for element in every(whole(package.archive.read(path)), "threadedComment"):
        cell = value(element, "ref")
        if text := " ".join(text_in(element, "text").split()):
            yield Comment(place(cell)[0], cell, people.get(value(element, "personId"), ""), text)


def table_names(package: Package, path: str) -> dict[tuple[int, int], str]:
    """Return the names of a sheet's tables, by row and column of their first cell."""
    result = {}
    for part in package.parts_of_kind(path, "table"):
        root = whole(package.archive.read(part))
        top, left, _, _ = area(value(root, "ref"))
        name = value(root, "displayName") or value(root, "name")
        if name and value(root, "headerRowCount") != "0":
            result[top, left] = name
    return result


def charts(package: Package, drawings: list[str]) -> list[str]:
    """Return one line with the title and axes of each chart that has any."""
    lines = []
    for drawing in drawings:
        for part in package.parts_of_kind(drawing, "chart"):
            root = whole(package.archive.read(part))
            chart = next(every(root, "chart"), root)
            titles = [(each, _title(each)) for each in every(chart, "title")]
            main = [text for each, text in titles if each.getparent() is chart and text]
            axes = [text for each, text in titles if each.getparent() is not chart and text]
            line = "; ".join([*main, *(["axes: " + ", ".join(axes)] if axes else [])])
            lines += [f"Chart: {line}"] if line else []
    return lines


def _title(element: Any) -> str:
    return " ".join((text_in(element, "t") or text_in(element, "v")).split())


def pictures(package: Package, drawings: list[str]) -> list[PictureOfSheet]:
    """Return the images of a sheet with their alternative texts."""
    result = []
    for drawing in drawings:
        if drawing not in package.archive.namelist():
            continue
        targets = package.relations(drawing)
        for anchor in every(whole(package.archive.read(drawing)), "twoCellAnchor", "oneCellAnchor"):
            picture = next(every(anchor, "pic"), None)
            if picture is None:
                continue
            named = next(every(picture, "cNvPr"), None)
            alt = "" if named is None else value(named, "descr") or value(named, "title")
            row = next((int(each.text or 0) + 1 for each in every(anchor, "row")), 1)
            blip = next(every(picture, "blip"), None)
            related = None if blip is None else targets.get(value(blip, "embed"))
            target = "" if related is None or related.outside else related.target
            result.append(_picture(package, target, row=row, alt=" ".join(alt.split())))
    return result


def _picture(package: Package, target: str, *, row: int, alt: str) -> PictureOfSheet:
    if target not in package.archive.namelist():
        return PictureOfSheet(row, alt)
    if package.archive.getinfo(target).file_size > PICTURE_BYTES_MAX:
        return PictureOfSheet(row, alt)
    return PictureOfSheet(row, alt, package.archive.read(target))
