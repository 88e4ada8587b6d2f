"""The parts of a workbook and how they hang together: sheets, shared texts, formats, and what is related."""

import posixpath
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml.etree import XMLSyntaxError
from openpyxl.styles.numbers import BUILTIN_FORMATS

from ragmem.readers.documents.workbook.xml import attribute, elements, found, text_in, whole

_CORE = "docProps/core.xml"
_MACROS = "xl/vbaProject.bin"
_ROOT_RELATIONS = "_rels/.rels"


@dataclass(frozen=True, slots=True)
class SheetEntry:
    """A sheet as the workbook lists it; one without a `path` holds a chart alone."""

    name: str
    path: str
    is_hidden: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """Something that a part of the package refers to; `kind` is the last word of its type."""

    kind: str
    target: str
    is_external: bool


@dataclass(frozen=True, slots=True)
class Package:
    """An open workbook; `formats` are the number formats by the style of a cell."""

    archive: zipfile.ZipFile
    sheets: tuple[SheetEntry, ...]
    texts: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    is_1904: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_macros(self) -> bool:
        """Tell whether there is a program in it."""
        return _MACROS in self.archive.namelist()

    def relations(self, path: str) -> dict[str, Relation]:
        """Return what a part refers to, by the id that it uses."""
        return relations(self.archive, path)

    def related(self, path: str, kind: str) -> list[str]:
        """Return the paths of the parts of a kind that a part refers to, of those that are there."""
        names = set(self.archive.namelist())
        some = (each for each in self.relations(path).values() if each.kind == kind and not each.is_external)
        return [each.target for each in some if each.target in names]


def open_workbook(archive: zipfile.ZipFile) -> Package:
    """Return the workbook of an archive; raises KeyError where a part that it needs is missing."""
    main = next(
        (each.target for each in relations(archive, "").values() if each.kind == "officeDocument"),
        "xl/workbook.xml",
    )
    root = whole(archive.read(main))
    targets = relations(archive, main)
    sheets = []
    for element in found(root, "sheet"):
        related = targets.get(attribute(element, "id"))
        is_sheet = related is not None and related.kind == "worksheet"
        path = related.target if related is not None and is_sheet else ""
        sheets.append(
            SheetEntry(attribute(element, "name"), path, attribute(element, "state") not in {"", "visible"})
        )
    named = {each.kind: each.target for each in targets.values()}
    is_1904 = any(attribute(each, "date1904") in {"1", "true"} for each in found(root, "workbookPr"))
    return Package(
        archive,
        tuple(sheets),
        texts=_texts(archive, named.get("sharedStrings", "")),
        formats=_formats(archive, named.get("styles", "")),
        is_1904=is_1904,
        properties=_properties(archive),
    )


def relations(archive: zipfile.ZipFile, path: str) -> dict[str, Relation]:
    """Return what a part refers to, by the id that it uses; what the archive refers to for an empty path."""
    folder, name = posixpath.split(path)
    beside = posixpath.join(folder, "_rels", f"{name}.rels") if path else _ROOT_RELATIONS
    if beside not in archive.namelist():
        return {}
    result = {}
    for element in found(whole(archive.read(beside)), "Relationship"):
        is_external = attribute(element, "TargetMode") == "External"
        target = attribute(element, "Target")
        if not is_external:
            joined = target if target.startswith("/") else posixpath.join("/", folder, target)
            target = posixpath.normpath(joined).lstrip("/")
        kind = attribute(element, "Type").rpartition("/")[2]
        result[attribute(element, "Id")] = Relation(kind, target, is_external)
    return result


def _texts(archive: zipfile.ZipFile, path: str) -> tuple[str, ...]:
    if path not in archive.namelist():
        return ()
    with archive.open(path) as stream:
        return tuple(text_of(element) for element in elements(stream, "si"))


def text_of(element: object) -> str:
    """Return the text of a cell in several fonts, without how it is to be pronounced."""
    for spoken in list(found(element, "rPh")):
        spoken.clear()
    return text_in(element)


def _formats(archive: zipfile.ZipFile, path: str) -> tuple[str, ...]:
    if path not in archive.namelist():
        return ()
    root = whole(archive.read(path))
    known: dict[str, str] = {str(number): code for number, code in BUILTIN_FORMATS.items()}
    known |= {attribute(each, "numFmtId"): attribute(each, "formatCode") for each in found(root, "numFmt")}
    cells = next(found(root, "cellXfs"), None)
    if cells is None:
        return ()
    return tuple(known.get(attribute(each, "numFmtId"), "General") for each in found(cells, "xf"))


def _properties(archive: zipfile.ZipFile) -> dict[str, str]:
    if _CORE not in archive.namelist():
        return {}
    named = {}
    try:
        root = whole(archive.read(_CORE))
    except XMLSyntaxError:
        # Title and author are no reason to lose the sheets.
        return {}
    for element in root:
        name = str(element.tag).rpartition("}")[2]
        if element.text and element.text.strip():
            named[name] = " ".join(element.text.split())
    return named
