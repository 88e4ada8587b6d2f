"""What a sheet holds beside its cells: comments, named tables, the titles of charts, pictures."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ragmem.readers.documents.workbook.cells import area, place
from ragmem.readers.documents.workbook.package import Package, text_of
from ragmem.readers.documents.workbook.xml import attribute, found, text_in, whole

PICTURE_BYTES_MAX = 10_000_000
_THREAD_MARK = "[Threaded comment]"


@dataclass(frozen=True, slots=True)
class Comment:
    """What a person wrote on a cell; the author is empty where the file does not say."""

    row: int
    cell: str
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class PictureOfSheet:
    """An image on a sheet, at the row of its upper edge; without bytes where it is elsewhere, or large."""

    row: int
    alt: str
    data: bytes = b""


def comments(package: Package, path: str) -> list[Comment]:
    """Return the comments and notes of a sheet from top to bottom."""
    threads = [
        one for part in package.related(path, "threadedComment") for one in _threaded_comments(package, part)
    ]
    told = {one.cell for one in threads}
    notes = [
        one
        for part in package.related(path, "comments")
        for one in _notes(package, part)
        # Excel repeats a thread as a note, for versions that know of none.
        if one.cell not in told and not one.text.startswith(_THREAD_MARK)
    ]
    return sorted([*threads, *notes], key=lambda one: one.row)


def _notes(package: Package, path: str) -> Iterator[Comment]:
    root = whole(package.archive.read(path))
    authors = [each.text or "" for each in found(root, "author")]
    for element in found(root, "comment"):
        cell = attribute(element, "ref")
        index = int(attribute(element, "authorId") or -1)
        author = authors[index] if 0 <= index < len(authors) else ""
        if text := " ".join(text_of(element).split()):
            # Excel writes the author into the text as well.
            yield Comment(place(cell)[0], cell, author.strip(), text.removeprefix(f"{author}:").strip())


def _threaded_comments(package: Package, path: str) -> Iterator[Comment]:
    people = {}
    for name in package.archive.namelist():
        if name.startswith("xl/persons/"):
            for person in found(whole(package.archive.read(name)), "person"):
                people[attribute(person, "id")] = attribute(person, "displayName")
    for element in found(whole(package.archive.read(path)), "threadedComment"):
        cell = attribute(element, "ref")
        if text := " ".join(text_in(element, "text").split()):
            yield Comment(place(cell)[0], cell, people.get(attribute(element, "personId"), ""), text)


def table_names(package: Package, path: str) -> dict[tuple[int, int], str]:
    """Return the names of the tables that a sheet defines, by row and column of their first cell."""
    result = {}
    for part in package.related(path, "table"):
        root = whole(package.archive.read(part))
        top, left, _, _ = area(attribute(root, "ref"))
        name = attribute(root, "displayName") or attribute(root, "name")
        if name and attribute(root, "headerRowCount") != "0":
            result[top, left] = name
    return result


def charts(package: Package, drawings: list[str]) -> list[str]:
    """Return for each chart its title, axes and series in one line, of those that say something."""
    told = []
    for drawing in drawings:
        for part in package.related(drawing, "chart"):
            root = whole(package.archive.read(part))
            chart = next(found(root, "chart"), root)
            titles = [(each, _title(each)) for each in found(chart, "title")]
            main = [text for each, text in titles if each.getparent() is chart and text]
            axes = [text for each, text in titles if each.getparent() is not chart and text]
            line = "; ".join([*main, *(["axes: " + ", ".join(axes)] if axes else [])])
            told += [f"Chart: {line}"] if line else []
    return told


def _title(element: Any) -> str:
    return " ".join((text_in(element, "t") or text_in(element, "v")).split())


def pictures(package: Package, drawings: list[str]) -> list[PictureOfSheet]:
    """Return the images of a sheet with what is told of them in words."""
    result = []
    for drawing in drawings:
        if drawing not in package.archive.namelist():
            continue
        targets = package.relations(drawing)
        for anchor in found(whole(package.archive.read(drawing)), "twoCellAnchor", "oneCellAnchor"):
            picture = next(found(anchor, "pic"), None)
            if picture is None:
                continue
            named = next(found(picture, "cNvPr"), None)
            alt = "" if named is None else attribute(named, "descr") or attribute(named, "title")
            row = next((int(each.text or 0) + 1 for each in found(anchor, "row")), 1)
            blip = next(found(picture, "blip"), None)
            related = None if blip is None else targets.get(attribute(blip, "embed"))
            target = "" if related is None or related.is_external else related.target
            result.append(_picture(package, target, row=row, alt=" ".join(alt.split())))
    return result


def _picture(package: Package, target: str, *, row: int, alt: str) -> PictureOfSheet:
    if target not in package.archive.namelist():
        return PictureOfSheet(row, alt)
    if package.archive.getinfo(target).file_size > PICTURE_BYTES_MAX:
        return PictureOfSheet(row, alt)
    return PictureOfSheet(row, alt, package.archive.read(target))
