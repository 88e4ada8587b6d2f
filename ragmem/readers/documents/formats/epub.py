"""E-books (.epub) as Markdown: one part per chapter in reading order, named as in the table of contents."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

from ragmem.readers.dates import rfc3339
from ragmem.readers.documents import archives
from ragmem.readers.documents.formats import marks
from ragmem.readers.documents.formats.html import html_notes, html_tree
from ragmem.readers.documents.formats.html.html_blocks import blocks
from ragmem.readers.documents.formats.html.html_charset import decode_page
from ragmem.readers.documents.formats.html.html_inline import Page
from ragmem.readers.documents.formats.html.html_tree import elements, local, roles
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, RefusedError

_PAGES = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document"})
_METADATA = {
    "title": "title",
    "creator": "author",
    "language": "language",
    "publisher": "publisher",
    "subject": "subject",
    "description": "description",
    "identifier": "identifier",
    "date": "published",
}
_FONT_ENCRYPTION = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
_LONGEST_VALUE = 500


@dataclass(slots=True)
class Book:
    """An open book: the pages in reading order with their paths, and their names in the table of contents."""

    archive: ZipFile
    package: Any
    folder: str
    pages: list[tuple[str, Any]]
    names: dict[str, str]


def read(path: str, limits: Limits) -> ConvertedDocument:
    """Return an e-book, one part per chapter with text; raises RefusedError without text."""
    with archives.open_archive(path, limits) as archive:
        if _is_locked(archive):
            raise RefusedError("it is encrypted", hint="an e-book with copy protection is not read")
        book = _open_book(archive)
        metadata = _metadata(book.package)
        pictures = Pictures(limits)
        notes = html_notes.find_notes(book.pages)
        parts, warnings = [], []
        if len(book.pages) > limits.pages:
            warnings.append(f"chapters after the first {limits.pages:,} are left out")
        for number, (place, root) in enumerate(book.pages[: limits.pages], 1):
            if part := _part(book, place, root, number=number, pictures=pictures, notes=notes):
                parts.append(part)
    if not parts:
        raise RefusedError("it has no text")
    event_time = rfc3339(metadata.get("modified") or metadata.get("published"))
    unread = tuple(f"chapter={number}" for number in range(limits.pages + 1, len(book.pages) + 1))
    return ConvertedDocument(
        tuple(parts), metadata.get("title", ""), event_time, metadata, tuple(warnings), unread
    )


def _open_book(archive: ZipFile) -> Book:
    found = next(elements(_xml(archive, "META-INF/container.xml"), "rootfile"), None)
    path = posixpath.normpath(unquote(found.get("full-path") or "")) if found is not None else ""
    package = _xml(archive, path)
    if package is None:
        raise RefusedError("it names no package of an e-book")
    folder = posixpath.dirname(path)
    items = {each.get("id") or "": each for each in elements(package, "item")}
    pages = []
    for reference in elements(package, "itemref"):
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
    """Return whether the text is encrypted; many free books have encrypted fonts."""
    methods = elements(_xml(archive, "META-INF/encryption.xml"), "encryptionmethod")
    return any((each.get("Algorithm") or "") not in _FONT_ENCRYPTION for each in methods)


def _read(archive: ZipFile, path: str) -> bytes | None:
    try:
        return archive.read(path)
    except KeyError:
        return None


def _xml(archive: ZipFile, path: str) -> Any:
    """Return the root of an XML file that may have mistakes; None for a missing or unreadable one."""
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, recover=True
    )
    data = _read(archive, path)
    try:
        return None if data is None else etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        return None


def _page(archive: ZipFile, path: str) -> Any:
    """Return a chapter as XML, or as a web page if it is not well-formed; None if it is missing."""
    from lxml import etree

    data = _read(archive, path)
    if data is None:
        return None
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        return html_tree.parse_page(decode_page(data))
    # An entity of HTML (&nbsp;) is unknown in XML without the DTD.
    unread = any(each.tag is etree.Entity for each in root.iter())
    return html_tree.parse_page(decode_page(data)) if unread or local(root) != "html" else root


def _join(folder: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(address.partition("#")[0])))


def _part(
    book: Book, place: str, root: Any, *, number: int, pictures: Pictures, notes: dict[str, Any]
) -> Part | None:
    folder = posixpath.dirname(place)
    page = Page(pictures, notes, place, lambda address: _read(book.archive, _join(folder, address)))
    text = marks.blocks(blocks(html_tree.content(root), page))
    found = pictures.take()
    has_notes = any(each.startswith(f"{place}#") for each in notes)
    if not found and (
        not text.strip() or (has_notes and all(each.startswith("#") for each in text.split("\n\n")))
    ):
        # Nothing, or the heading of notes that are already in the text.
        return None
    title = book.names.get(place) or _heading(root) or ""
    return Part(text, f"chapter={number}", f"chapter {number}", title, found)


def _heading(root: Any) -> str:
    first = next(elements(root, "h1", "h2", "h3"), None)
    texts = () if first is None else (text for text in first.itertext() if isinstance(text, str))
    return marks.flatten("".join(texts))


def _names(archive: ZipFile, folder: str, package: Any, items: dict[str, Any]) -> dict[str, str]:
    """Return the name of each file in the table of contents, by the first entry that leads to it."""
    found: dict[str, str] = {}
    navigation = next((each for each in items.values() if _is_contents(each)), None)
    if navigation is not None:
        place = _join(folder, navigation.get("href") or "")
        for address, name in _of_navigation(_page(archive, place)):
            found.setdefault(_join(posixpath.dirname(place), address), name)
    spine = next(elements(package, "spine"), None)
    old = items.get((spine.get("toc") if spine is not None else None) or "ncx")
    if old is not None:
        place = _join(folder, old.get("href") or "")
        for address, name in _of_ncx(_xml(archive, place)):
            found.setdefault(_join(posixpath.dirname(place), address), name)
    return found


def _of_navigation(root: Any) -> Iterator[tuple[str, str]]:
    for nav in elements(root, "nav"):
        if "toc" not in roles(nav) and roles(nav):
            continue
        for each in elements(nav, "a"):
            if name := marks.flatten("".join(each.itertext())):
                yield each.get("href") or "", name


def _of_ncx(root: Any) -> Iterator[tuple[str, str]]:
    for point in elements(root, "navpoint"):
        label = next((each for each in point if local(each) == "navlabel"), None)
        content = next((each for each in point if local(each) == "content"), None)
        name = marks.flatten("".join(label.itertext())) if label is not None else ""
        if name and content is not None:
            yield content.get("src") or "", name


def _metadata(package: Any) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    holder = next(elements(package, "metadata"), package)
    for each in holder.iter():
        text = marks.flatten(each.text or "")[:_LONGEST_VALUE] if local(each) else ""
        key = _METADATA.get(local(each), "")
        if local(each) == "meta" and each.get("property") == "dcterms:modified":
            key = "modified"
        if key and text and text not in found.setdefault(key, []):
            found[key].append(text)
    many = {"author", "subject"}
    return {key: ", ".join(texts) if key in many else texts[0] for key, texts in found.items()}
