"""Web pages (.html, .htm, .xhtml) as Markdown: their content, without navigation and other surroundings."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragmem.readers.dates import rfc3339
from ragmem.readers.documents.formats import marks
from ragmem.readers.documents.formats.html import html_notes, html_tree
from ragmem.readers.documents.formats.html.html_blocks import blocks
from ragmem.readers.documents.formats.html.html_charset import decode_page
from ragmem.readers.documents.formats.html.html_inline import Page, line
from ragmem.readers.documents.formats.html.html_tree import elements, local
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, RefusedError

_TITLES = ("og:title", "dc.title", "dcterms.title", "citation_title")
_AUTHORS = ("author", "article:author", "dc.creator", "dcterms.creator", "citation_author", "parsely-author")
_MODIFIED = (
    "article:modified_time",
    "og:updated_time",
    "dcterms.modified",
    "dc.date.modified",
    "last-modified",
)
_PUBLISHED = (
    "article:published_time",
    "date",
    "dc.date",
    "dcterms.created",
    "dcterms.date",
    "dc.date.issued",
    "citation_publication_date",
    "pubdate",
)
_SAVED_FROM = re.compile(r"<!--\s*saved from url=\(\d+\)(\S+)\s*-->")
_LONGEST_VALUE = 500
_HEAD = 20_000


def read(path: str, limits: Limits) -> ConvertedDocument:
    """Return a web page as one part; raises RefusedError for one that exceeds the limit."""
    file = Path(path)
    if file.stat().st_size > limits.unpacked_bytes:
        raise RefusedError(f"it is larger than {limits.unpacked_bytes // 1_000_000:,} MB")
    return convert_page(decode_page(file.read_bytes()), limits)


def convert_page(text: str, limits: Limits) -> ConvertedDocument:
    """Return a page as a document. Never raises for any text."""
    root = html_tree.parse_page(text)
    if root is None:
        return ConvertedDocument((Part(marks.paragraph(text)),) if "<" not in text else (Part(""),))
    metadata = _metadata(root, text)
    event_time = rfc3339(metadata.get("modified"), metadata.get("published"))
    notes = html_notes.find_notes([("", root)])
    pictures = Pictures(limits)
    body = html_tree.content(root)
    title = _title(body, metadata)
    written = blocks(body, Page(pictures, notes))
    while notes and written and written[-1][0].startswith("#"):
        # The heading of the references, which are already in the text.
        written.pop()
    whole = marks.blocks(written)
    return ConvertedDocument((Part(whole, pictures=pictures.take()),), title, event_time, metadata)


def _title(body: Any, metadata: dict[str, str]) -> str:
    """Return the first heading if the title contains it ("Tides - Weather Site"), else the title."""
    named = metadata.pop("title", "")
    first = next(elements(body, "h1", "h2"), None)
    shown = marks.flatten(line(first, _empty_page())) if first is not None else ""
    return shown if shown and (not named or shown.lower() in named.lower()) else named


def _metadata(root: Any, text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for each in elements(root, "meta"):
        if content := marks.flatten(each.get("content") or ""):
            key = _first(each.attrib, ("property", "name", "itemprop", "http-equiv"))
            values.setdefault(key.strip().lower(), content[:_LONGEST_VALUE])
    linked = dict(_linked_data(root))
    written = next((line(each, _empty_page()) for each in elements(root, "title")), "")
    found = {
        "title": marks.flatten(_first(values, _TITLES) or written),
        "author": _first(values, _AUTHORS) or linked.get("author", ""),
        "description": values.get("description") or values.get("og:description", ""),
        "modified": _first(values, _MODIFIED) or linked.get("dateModified", ""),
        "published": _first(values, _PUBLISHED) or linked.get("datePublished", "") or _time_element(root),
        "url": _address(root, text),
        "language": (root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang") or "")[:20],
    }
    return {key: value for key, value in found.items() if value}


def _empty_page() -> Page:
    return Page(Pictures(Limits()))


def _first(values: Mapping[str, str], keys: tuple[str, ...]) -> str:
    return next((values[key] for key in keys if values.get(key)), "")


def _address(root: Any, text: str) -> str:
    """Return the address of a page: from the comment of the browser that saved it, or its canonical link."""
    if found := _SAVED_FROM.search(text[:_HEAD]):
        return found[1][:_LONGEST_VALUE]
    for each in elements(root, "link"):
        if "canonical" in (each.get("rel") or "").lower().split():
            address = (each.get("href") or "").strip()
            return address[:_LONGEST_VALUE] if address.startswith(("http://", "https://")) else ""
    return ""


def _time_element(root: Any) -> str:
    for each in elements(root, "time"):
        if "pubdate" in each.attrib or any(local(a) == "header" for a in each.iterancestors()):
            return (each.get("datetime") or "")[:_LONGEST_VALUE]
    return ""


def _linked_data(root: Any) -> Iterator[tuple[str, str]]:
    """Yield the author and dates in a page's data for search engines (JSON-LD)."""
    for each in elements(root, "script"):
        if (each.get("type") or "").lower() != "application/ld+json":
            continue
        try:
            data = json.loads(each.text or "")
        except (ValueError, RecursionError):
            continue
        graph = data.get("@graph", [data]) if isinstance(data, dict) else data
        for thing in graph if isinstance(graph, list) else ():
            if isinstance(thing, dict):
                yield from _article_facts(thing)


def _article_facts(thing: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("dateModified", "datePublished"):
        if isinstance(thing.get(key), str):
            yield key, thing[key][:_LONGEST_VALUE]
    author = thing.get("author")
    author = author[0] if isinstance(author, list) and author else author
    name = author.get("name") if isinstance(author, dict) else author
    if isinstance(name, str):
        yield "author", name[:_LONGEST_VALUE]
