"""The parts of an Office file (OPC, ECMA-376 part 2): their XML, relations and properties."""

import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from ragmem.readers.dates import rfc3339
from ragmem.readers.documents import archives
from ragmem.readers.documents.model import Limits, RefusedError

_RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

# ISO 29500 Strict has its own namespaces; they are replaced by those of Transitional.
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
"""The properties of an Office file, and their names as metadata."""

# The dates and authors of the templates of python-docx and python-pptx.
_OF_TEMPLATES = frozenset(
    {"2013-12-23T23:15:00Z", "2013-01-27T09:14:16Z", "2013-01-27T09:15:58Z", "python-docx", "Steve Canny"}
)

# Default titles of programs.
_NO_TITLES = frozenset({"powerpoint presentation", "presentation", "word document", "document", "untitled"})


@dataclass(frozen=True, slots=True)
class Relation:
    """A reference of a part: to the path of another part, or to an address outside of the file."""

    kind: str
    target: str
    outside: bool


@dataclass(slots=True)
class Package:
    """An open Office file; a missing part has no tree (None) and no relations."""

    archive: zipfile.ZipFile
    _relations: dict[str, Mapping[str, Relation]] = field(default_factory=dict)

    @property
    def has_macros(self) -> bool:
        """Whether the file contains macros."""
        return any(name.endswith("vbaProject.bin") for name in self.archive.namelist())

    def bytes_of(self, part: str) -> bytes | None:
        """Return the content of a part; None for a missing one."""
        try:
            return self.archive.read(part)
        except KeyError:
            return None

    def tree(self, part: str) -> Any:
        """Return the root element of a part, None if it is missing; raises RefusedError for invalid XML."""
        data = self.bytes_of(part)
        return None if data is None else parse_xml(data, part)

    def relations(self, part: str) -> Mapping[str, Relation]:
        """Return the relations of a part by their ids; `""` is the file itself."""
        if part not in self._relations:
            self._relations[part] = read_relations(self.tree(relations_part(part)), part)
        return self._relations[part]

    def related_part(self, part: str, identity: str) -> str:
        """Return the part that a relation leads to; empty for a missing relation and one to the outside."""
        relation = self.relations(part).get(identity)
        return "" if relation is None or relation.outside else relation.target

    def of_kind(self, part: str, kind: str) -> Iterator[str]:
        """Yield the related parts of a kind ("slide", "header")."""
        for each in self.relations(part).values():
            if each.kind == kind and not each.outside:
                yield each.target

    def main(self, fallback: str) -> str:
        """Return the path of the main part."""
        return next(self.of_kind("", "officeDocument"), fallback)

    def properties(self) -> dict[str, str]:
        """Return the properties of the file, such as title, author and dates."""
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
    """Return an Office file, the path of its main part and its root; raises RefusedError without one."""
    package = Package(archives.open_archive(path, limits))
    part = package.main(main)
    root = package.tree(part)
    if root is None:
        raise RefusedError(f"the file has no {posixpath.basename(main)}: it is not complete")
    return package, part, root


def parse_xml(data: bytes, name: str) -> Any:
    """Return the root element of XML; nothing is fetched, and entities are not expanded."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    if b"purl.oclc.org/ooxml" in data:
        for strict, transitional in _STRICT.items():
            data = data.replace(strict, transitional)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise RefusedError(f'its part "{name}" is not well-formed XML') from error


def relations_part(part: str) -> str:
    """Return the path of the relations of a part; `""` is the file itself."""
    folder, name = posixpath.split(part)
    return posixpath.join(folder, "_rels", f"{name}.rels")


def read_relations(root: Any, part: str) -> dict[str, Relation]:
    """Return the relations of a part by their ids, from the root of their XML; none without a root."""
    found = {}
    for each in every(root, "Relationship"):
        outside = each.get("TargetMode") == "External"
        target = each.get("Target") or ""
        if not outside:
            # A target is relative to the folder of its part, or to the root.
            joined = posixpath.join("/", posixpath.dirname(part), unquote(target))
            target = posixpath.normpath(joined).lstrip("/")
        kind = (each.get("Type") or "").rpartition("/")[2]
        found[each.get("Id") or ""] = Relation(kind, target, outside)
    return found


def event_time(properties: Mapping[str, str]) -> str:
    """Return when the document was last modified, or created, as RFC 3339; empty if it is unknown."""
    return rfc3339(properties.get("modified"), properties.get("created"))


def local(node: Any) -> str:
    """Return the name of an element without its namespace; empty for comments and processing instructions."""
    tag = node.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def value(node: Any, name: str, default: str = "") -> str:
    """Return an attribute by its name, in any namespace."""
    for key, found in node.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(found)
    return default


def whole(text: str | None, default: int) -> int:
    """Return a whole number of up to ten digits; the default for any other text."""
    return int(text) if text and _WHOLE.fullmatch(text) else default


def relation_id(node: Any, name: str = "id") -> str:
    """Return the id of the relation in an element."""
    return str(node.get(f"{{{_RELATIONSHIPS}}}{name}") or "")


def child(node: Any, name: str) -> Any:
    """Return the first child of this name, or None."""
    return None if node is None else next((each for each in node if local(each) == name), None)


def within(node: Any, *names: str) -> Any:
    """Return the element at a path of names, or None."""
    for name in names:
        node = child(node, name)
    return node


def between(node: Any, top: Any) -> Iterator[str]:
    """Yield the names of the ancestors of a node below another ancestor."""
    for each in node.iterancestors():
        if each is top:
            return
        yield local(each)


def every(node: Any, *names: str) -> Iterator[Any]:
    """Yield the elements of these names at any depth, in order."""
    return iter(()) if node is None else node.iter(*(f"{{*}}{name}" for name in names))
