"""The parts of an Office file (OPC, ECMA-376 part 2): their XML, what they refer to, and who made it when."""

import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from ragmem.readers.dates import parse_time
from ragmem.readers.documents import archives
from ragmem.readers.documents.model import Limits, RefusedError

_RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

# ISO 29500 Strict has namespaces of its own; with those of Transitional one reading does for both.
_STRICT = {
    b"http://purl.oclc.org/ooxml/officeDocument/math": b"http://schemas.openxmlformats.org/officeDocument/2006/math",
    b"http://purl.oclc.org/ooxml/officeDocument/": b"http://schemas.openxmlformats.org/officeDocument/2006/",
    b"http://purl.oclc.org/ooxml/drawingml/": b"http://schemas.openxmlformats.org/drawingml/2006/",
    b"http://purl.oclc.org/ooxml/": b"http://schemas.openxmlformats.org/",
}

_WHOLE = re.compile(r"-?[0-9]{1,10}")

PROPERTIES = {
    "title": "title",
    "creator": "author",
    "subject": "subject",
    "keywords": "keywords",
    "category": "category",
    "created": "created",
    "modified": "modified",
    "lastModifiedBy": "last_modified_by",
}
"""What an Office file tells of itself, and what it is called as metadata."""

# python-docx and python-pptx begin with files of their own, whose dates and authors nobody has changed.
_OF_TEMPLATES = frozenset(
    {"2013-12-23T23:15:00Z", "2013-01-27T09:14:16Z", "2013-01-27T09:15:58Z", "python-docx", "Steve Canny"}
)

# Titles that programs put in where nobody has given one.
_NO_TITLES = frozenset({"powerpoint presentation", "presentation", "word document", "document", "untitled"})


@dataclass(frozen=True, slots=True)
class Relation:
    """What a part refers to: the path of another part, or the address of something outside of the file."""

    kind: str
    target: str
    outside: bool


@dataclass(slots=True)
class Package:
    """An opened Office file; `tree` and `relations` of a part that is not there are None and empty."""

    archive: zipfile.ZipFile
    _relations: dict[str, Mapping[str, Relation]] = field(default_factory=dict)

    def bytes_of(self, part: str) -> bytes | None:
        """Return the content of a part; None where there is none of this name."""
        try:
            return self.archive.read(part)
        except KeyError:
            return None

    def tree(self, part: str) -> Any:
        """Return the root element of an XML part, None where it is missing; raise RefusedError for no XML."""
        data = self.bytes_of(part)
        return None if data is None else parse_xml(data, part)

    def relations(self, part: str) -> Mapping[str, Relation]:
        """Return what a part refers to, by the ids that it uses; `""` is the file itself."""
        if part not in self._relations:
            self._relations[part] = self._read_relations(part)
        return self._relations[part]

    def _read_relations(self, part: str) -> dict[str, Relation]:
        folder, name = posixpath.split(part)
        root = self.tree(posixpath.join(folder, "_rels", f"{name}.rels"))
        found = {}
        for each in root if root is not None else ():
            outside = each.get("TargetMode") == "External"
            target = each.get("Target") or ""
            if not outside:
                # A target is relative to the folder of its part, or begins at the root.
                target = posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")
            found[each.get("Id") or ""] = Relation(
                (each.get("Type") or "").rpartition("/")[2], target, outside
            )
        return found

    def of_kind(self, part: str, kind: str) -> Iterator[str]:
        """Yield the parts of a kind ("slide", "header") that a part refers to."""
        for each in self.relations(part).values():
            if each.kind == kind and not each.outside:
                yield each.target

    def main(self, fallback: str) -> str:
        """Return the path of the main part."""
        return next(self.of_kind("", "officeDocument"), fallback)

    def properties(self) -> dict[str, str]:
        """Return title, author, dates and the like, of those that the file tells."""
        root = self.tree(next(self.of_kind("", "core-properties"), "docProps/core.xml"))
        found = {}
        for each in root if root is not None else ():
            key, value = PROPERTIES.get(local(each), ""), " ".join((each.text or "").split())
            if not key or not value or value in _OF_TEMPLATES:
                continue
            if key != "title" or value.lower() not in _NO_TITLES:
                found[key] = value
        return found


def open_package(path: str, limits: Limits, *, main: str) -> tuple[Package, str, Any]:
    """Return an Office file, the path of its main part and its root; raise RefusedError without one."""
    package = Package(archives.open_archive(path, limits))
    part = package.main(main)
    root = package.tree(part)
    if root is None:
        raise RefusedError(f"the file has no {posixpath.basename(main)}: it is not complete")
    return package, part, root


def parse_xml(data: bytes, name: str) -> Any:
    """Return the root element of XML; nothing that it names is fetched, no entity of its own is put in."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    if b"purl.oclc.org/ooxml" in data:
        for strict, transitional in _STRICT.items():
            data = data.replace(strict, transitional)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise RefusedError(f'its part "{name}" is not well-formed XML') from error


def event_time(properties: Mapping[str, str]) -> str:
    """Return when the document was changed last, or made, as RFC 3339; empty where it does not say."""
    for key in ("modified", "created"):
        if moment := parse_time(properties.get(key)):
            return moment.isoformat().replace("+00:00", "Z")
    return ""


def local(node: Any) -> str:
    """Return the name of an element without its namespace; empty for comments and instructions."""
    tag = node.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def value(node: Any, name: str, default: str = "") -> str:
    """Return an attribute by its name, in whatever namespace."""
    for key, found in node.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(found)
    return default


def whole(text: str | None, default: int) -> int:
    """Return a whole number of at most ten digits, the default for any other text."""
    return int(text) if text and _WHOLE.fullmatch(text) else default


def relation_id(node: Any, name: str = "id") -> str:
    """Return the id of a relation that an element names."""
    return str(node.get(f"{{{_RELATIONSHIPS}}}{name}") or "")


def child(node: Any, name: str) -> Any:
    """Return the first child of this name, or None."""
    return None if node is None else next((each for each in node if local(each) == name), None)


def within(node: Any, *names: str) -> Any:
    """Return the element that a path of names leads to, or None."""
    for name in names:
        node = child(node, name)
    return node


def between(node: Any, top: Any) -> Iterator[str]:
    """Yield the names of the elements that a node is in, below another that it is in as well."""
    for each in node.iterancestors():
        if each is top:
            return
        yield local(each)


def every(node: Any, name: str) -> Iterator[Any]:
    """Yield the elements of this name at any depth, in order."""
    return iter(()) if node is None else node.iter(f"{{*}}{name}")
