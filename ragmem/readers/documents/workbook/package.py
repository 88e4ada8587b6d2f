"""The parts of a workbook, their relations and their XML: sheets, shared texts, formats, properties."""

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from lxml import etree
from lxml.etree import XMLSyntaxError
from openpyxl.styles.numbers import BUILTIN_FORMATS

from ragmem.readers.documents.formats.package import Relation, every, read_relations, relations_part, value

_CORE = "docProps/core.xml"
_MACROS = "xl/vbaProject.bin"


@dataclass(frozen=True, slots=True)
class SheetEntry:
    """A sheet in the list of the workbook; one without a `path` is a chart."""

    name: str
    path: str
    is_hidden: bool


@dataclass(frozen=True, slots=True)
class Package:
    """An open workbook; `formats` are the number formats by the style of cells."""

    archive: zipfile.ZipFile
    sheets: tuple[SheetEntry, ...]
    texts: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    is_1904: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_macros(self) -> bool:
        """Whether it contains macros."""
        return _MACROS in self.archive.namelist()

    def relations(self, path: str) -> dict[str, Relation]:
        """Return the relations of a part by their ids."""
        return relations(self.archive, path)

    def parts_of_kind(self, path: str, kind: str) -> list[str]:
        """Return the paths of the existing parts of a kind that a part refers to."""
        names = set(self.archive.namelist())
        some = (each for each in self.relations(path).values() if each.kind == kind and not each.outside)
        return [each.target for each in some if each.target in names]


def open_workbook(archive: zipfile.ZipFile) -> Package:
    """Return the workbook of an archive; raises KeyError if a required part is missing."""
    main = next(
        (each.target for each in relations(archive, "").values() if each.kind == "officeDocument"),
        "xl/workbook.xml",
    )
    root = whole(archive.read(main))
    targets = relations(archive, main)
    sheets = []
    for element in every(root, "sheet"):
        related = targets.get(value(element, "id"))
        is_sheet = related is not None and related.kind == "worksheet"
        path = related.target if related is not None and is_sheet else ""
        sheets.append(
            SheetEntry(value(element, "name"), path, value(element, "state") not in {"", "visible"})
        )
    named = {each.kind: each.target for each in targets.values()}
    is_1904 = any(value(each, "date1904") in {"1", "true"} for each in every(root, "workbookPr"))
    return Package(
        archive,
        tuple(sheets),
        texts=_texts(archive, named.get("sharedStrings", "")),
        formats=_formats(archive, named.get("styles", "")),
        is_1904=is_1904,
        properties=_properties(archive),
    )


def relations(archive: zipfile.ZipFile, path: str) -> dict[str, Relation]:
    """Return the relations of a part by their ids; those of the archive for an empty path."""
    part = relations_part(path)
    return read_relations(whole(archive.read(part)), path) if part in archive.namelist() else {}


def _texts(archive: zipfile.ZipFile, path: str) -> tuple[str, ...]:
    if path not in archive.namelist():
        return ()
    with archive.open(path) as stream:
        return tuple(text_of(element) for element in elements(stream, "si"))


def text_of(element: object) -> str:
    """Return the rich text of a cell, without phonetic guides."""
    for spoken in list(every(element, "rPh")):
        spoken.clear()
    return text_in(element)


def _formats(archive: zipfile.ZipFile, path: str) -> tuple[str, ...]:
    if path not in archive.namelist():
        return ()
    root = whole(archive.read(path))
    known: dict[str, str] = {str(number): code for number, code in BUILTIN_FORMATS.items()}
    known |= {value(each, "numFmtId"): value(each, "formatCode") for each in every(root, "numFmt")}
    cells = next(every(root, "cellXfs"), None)
    if cells is None:
        return ()
    return tuple(known.get(value(each, "numFmtId"), "General") for each in every(cells, "xf"))


def _properties(archive: zipfile.ZipFile) -> dict[str, str]:
    if _CORE not in archive.namelist():
        return {}
    named = {}
    try:
        root = whole(archive.read(_CORE))
    except XMLSyntaxError:
        # Damaged properties must not prevent reading the sheets.
        return {}
    for element in root:
        name = str(element.tag).rpartition("}")[2]
        if element.text and element.text.strip():
            named[name] = " ".join(element.text.split())
    return named


def elements(stream: IO[bytes], *names: str) -> Iterator[Any]:
    """Yield the elements with these local names as they end, and free each one afterwards."""
    tags = [f"{{*}}{name}" for name in names]
    for _, element in etree.iterparse(
        stream, events=("end",), tag=tags, resolve_entities=False, no_network=True, load_dtd=False
    ):
        yield element
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]


def whole(content: bytes) -> Any:
    """Return the root of a small document; raises lxml's error for invalid XML."""
    return etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))


def text_in(element: Any, name: str = "t") -> str:
    """Return the joined text of all elements with a local name."""
    return "".join(part.text or "" for part in every(element, name))
