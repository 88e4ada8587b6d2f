"""E-books (.epub) as Markdown: a part for each chapter in the order of reading, named as in the contents."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

from ragmem.readers.dates import parse_time
from ragmem.readers.documents import archives
from ragmem.readers.documents.formats import marks
from ragmem.readers.documents.formats.html import html_notes, html_tree
from ragmem.readers.documents.formats.html.html_decoding import decode_page
from ragmem.readers.documents.formats.html.html_inline import Page
from ragmem.readers.documents.formats.html.html_tree import local, roles
from ragmem.readers.documents.formats.html.html_writing import blocks
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.model import Converted, Limits, Part, RefusedError

_PAGES = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document"})
_TOLD = {
    "title": "title",
    "creator": "author",
    "language": "language",
    "publisher": "publisher",
    "subject": "subject",
    "description": "description",
    "identifier": "identifier",
    "date": "published",
}
_NO_FONTS_ONLY = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
_LONGEST_VALUE = 500


@dataclass(slots=True)
class Book:
    """An opened book: the pages in the order of reading with their paths, and the names of the contents."""

    archive: ZipFile
    package: Any
    folder: str
    pages: list[tuple[str, Any]]
    names: dict[str, str]

    def data(self, path: str) -> bytes | None:
        """Return the content of a file of the book; None where it has none of this name."""
        try:
            return self.archive.read(path)
        except KeyError:
            return None


def read(path: str, limits: Limits) -> Converted:
    """Read an e-book, a part for each chapter that has text; raise RefusedError where none has."""
    with archives.open_archive(path, limits) as archive:
        if _is_locked(archive):
            raise RefusedError("it is encrypted", hint="an e-book with copy protection is not read")
        book = _open_book(archive)
        metadata = _metadata(book.package)
        pictures = Pictures(limits)
        notes = html_notes.by_place(book.pages)
        parts, warnings = [], []
        if len(book.pages) > limits.pages:
            warnings.append(f"chapters after the first {limits.pages:,} are left out")
        for number, (place, root) in enumerate(book.pages[: limits.pages], 1):
            if part := _part(book, place, root, number=number, pictures=pictures, notes=notes):
                parts.append(part)
    if not parts:
        raise RefusedError("it has no text")
    moment = parse_time(metadata.get("modified") or metadata.get("published"))
    event_time = moment.isoformat().replace("+00:00", "Z") if moment else ""
    unread = tuple(f"chapter={number}" for number in range(limits.pages + 1, len(book.pages) + 1))
    return Converted(tuple(parts), metadata.get("title", ""), event_time, metadata, tuple(warnings), unread)


def _open_book(archive: ZipFile) -> Book:
    container = _xml(archive, "META-INF/container.xml")
    found = (
        next((each for each in container.iter() if local(each) == "rootfile"), None)
        if container is not None
        else None
    )
    path = posixpath.normpath(unquote(found.get("full-path") or "")) if found is not None else ""
    package = _xml(archive, path)
    if package is None:
        raise RefusedError("it names no package of an e-book")
    folder = posixpath.dirname(path)
    items = {each.get("id") or "": each for each in package.iter() if local(each) == "item"}
    pages = []
    for reference in (each for each in package.iter() if local(each) == "itemref"):
        item = items.get(reference.get("idref") or "")
        if item is None or (item.get("media-type") or "") not in _PAGES or _is_contents(item):
            continue
        place = _join(folder, item.get("href") or "")
        root = _page(archive, place)
        if root is not None:
            pages.append((place, root))
    return Book(archive, package, folder, pages, _names(archive, folder, package, items))


def _is_contents(item: Any) -> bool:
    return "nav" in (item.get("properties") or "").split()


def _is_locked(archive: ZipFile) -> bool:
    """Tell whether the text itself is encrypted; fonts are in many books that anyone may read."""
    root = _xml(archive, "META-INF/encryption.xml")
    methods = (
        [each.get("Algorithm") or "" for each in root.iter() if local(each) == "encryptionmethod"]
        if root is not None
        else []
    )
    return any(method not in _NO_FONTS_ONLY for method in methods)


def _xml(archive: ZipFile, path: str) -> Any:
    """Return the root of an XML file that may have mistakes; None where there is none."""
    from lxml import etree

    try:
        data = archive.read(path)
    except KeyError:
        return None
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, recover=True
    )
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        return None


def _page(archive: ZipFile, path: str) -> Any:
    """Return a chapter as XML, which it should be, else as a web page, which may have any mistake."""
    from lxml import etree

    try:
        data = archive.read(path)
    except KeyError:
        return None
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        return html_tree.parse_page(decode_page(data))
    # An entity of HTML (&nbsp;) that no DTD was fetched for stays unread in XML, and is known in HTML.
    unread = any(each.tag is etree.Entity for each in root.iter())
    return html_tree.parse_page(decode_page(data)) if unread or local(root) != "html" else root


def _join(folder: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(address.partition("#")[0])))


def _part(
    book: Book, place: str, root: Any, *, number: int, pictures: Pictures, notes: dict[str, Any]
) -> Part | None:
    page = Page(pictures, notes, place, lambda address: book.data(_join(posixpath.dirname(place), address)))
    text = marks.blocks(blocks(html_tree.content(root), page))
    found = pictures.taken()
    was_told = any(each.startswith(f"{place}#") for each in notes)
    if not found and (
        not text.strip() or (was_told and all(each.startswith("#") for each in text.split("\n\n")))
    ):
        # Nothing, or the heading of notes that were told where they are referred to.
        return None
    title = book.names.get(place) or _heading(root) or ""
    return Part(text, f"chapter={number}", f"chapter {number}", title, found)


def _heading(root: Any) -> str:
    for each in root.iter():
        if local(each) in {"h1", "h2", "h3"}:
            return marks.flatten("".join(text for text in each.itertext() if isinstance(text, str)))
    return ""


def _names(archive: ZipFile, folder: str, package: Any, items: dict[str, Any]) -> dict[str, str]:
    """Return what the table of contents calls each file: the first of its entries that leads there."""
    found: dict[str, str] = {}
    navigation = next((each for each in items.values() if _is_contents(each)), None)
    if navigation is not None:
        place = _join(folder, navigation.get("href") or "")
        for address, name in _of_navigation(_page(archive, place)):
            found.setdefault(_join(posixpath.dirname(place), address), name)
    spine = next((each for each in package.iter() if local(each) == "spine"), None)
    old = items.get((spine.get("toc") if spine is not None else None) or "ncx")
    if old is not None:
        place = _join(folder, old.get("href") or "")
        for address, name in _of_ncx(_xml(archive, place)):
            found.setdefault(_join(posixpath.dirname(place), address), name)
    return found


def _of_navigation(root: Any) -> Iterator[tuple[str, str]]:
    for nav in root.iter() if root is not None else ():
        if local(nav) != "nav" or ("toc" not in roles(nav) and roles(nav)):
            continue
        for each in nav.iter():
            name = marks.flatten("".join(each.itertext())) if local(each) == "a" else ""
            if name:
                yield each.get("href") or "", name


def _of_ncx(root: Any) -> Iterator[tuple[str, str]]:
    for point in root.iter() if root is not None else ():
        if local(point) != "navpoint":
            continue
        label = next((each for each in point if local(each) == "navlabel"), None)
        content = next((each for each in point if local(each) == "content"), None)
        name = marks.flatten("".join(label.itertext())) if label is not None else ""
        if name and content is not None:
            yield content.get("src") or "", name


def _metadata(package: Any) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    holder = next((each for each in package.iter() if local(each) == "metadata"), package)
    for each in holder.iter():
        text = marks.flatten(each.text or "")[:_LONGEST_VALUE] if local(each) else ""
        key = _TOLD.get(local(each), "")
        if local(each) == "meta" and each.get("property") == "dcterms:modified":
            key = "modified"
        if key and text and text not in found.setdefault(key, []):
            found[key].append(text)
    many = {"author", "subject"}
    return {key: ", ".join(texts) if key in many else texts[0] for key, texts in found.items()}
