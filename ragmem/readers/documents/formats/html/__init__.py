"""Web pages (.html, .htm, .xhtml) as Markdown: what a person came to read, without what stands around it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragmem.readers.dates import parse_time
from ragmem.readers.documents.formats import marks
from ragmem.readers.documents.formats.html import html_notes, html_tree
from ragmem.readers.documents.formats.html.html_decoding import decode_page
from ragmem.readers.documents.formats.html.html_inline import Page, line
from ragmem.readers.documents.formats.html.html_tree import local
from ragmem.readers.documents.formats.html.html_writing import blocks
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.model import Converted, Limits, Part, RefusedError

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


def read(path: str, limits: Limits) -> Converted:
    """Read a web page as one part; raise RefusedError where it is larger than what may be unpacked."""
    file = Path(path)
    if file.stat().st_size > limits.unpacked_bytes:
        raise RefusedError(f"it is larger than {limits.unpacked_bytes // 1_000_000:,} MB")
    return convert_page(decode_page(file.read_bytes()), limits)


def convert_page(text: str, limits: Limits) -> Converted:
    """Return a page as a document. Never raises for any text."""
    root = html_tree.parse_page(text)
    if root is None:
        return Converted((Part(marks.paragraph(text)),) if "<" not in text else (Part(""),))
    metadata = _metadata(root, text)
    event_time = next((found for key in ("modified", "published") if (found := _time(metadata.get(key)))), "")
    notes = html_notes.by_place([("", root)])
    pictures = Pictures(limits)
    body = html_tree.content(root)
    title = _title(body, metadata)
    written = blocks(body, Page(pictures, notes))
    while notes and written and written[-1][0].startswith("#"):
        # "References", whose list was told where its entries are referred to.
        written.pop()
    whole = marks.blocks(written)
    return Converted((Part(whole, pictures=pictures.taken()),), title, event_time, metadata)


def _title(body: Any, metadata: dict[str, str]) -> str:
    """Return the first heading where the title holds it ("Tides - Weather Site"), else the title."""
    named = metadata.pop("title", "")
    first = next((each for each in body.iter() if local(each) in {"h1", "h2"}), None)
    shown = marks.flatten(line(first, _no_page())) if first is not None else ""
    return shown if shown and (not named or shown.lower() in named.lower()) else named


def _metadata(root: Any, text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for each in root.iter():
        if local(each) == "meta" and (content := marks.flatten(each.get("content") or "")):
            key = (
                each.get("property")
                or each.get("name")
                or each.get("itemprop")
                or each.get("http-equiv")
                or ""
            )
            values.setdefault(key.strip().lower(), content[:_LONGEST_VALUE])
    linked = dict(_linked_data(root))
    written = next((line(each, _no_page()) for each in root.iter() if local(each) == "title"), "")
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


def _no_page() -> Page:
    return Page(Pictures(Limits()))


def _first(values: dict[str, str], keys: tuple[str, ...]) -> str:
    return next((values[key] for key in keys if values.get(key)), "")


def _address(root: Any, text: str) -> str:
    """Return where a page is from: what the browser that saved it wrote, or its own link."""
    if found := _SAVED_FROM.search(text[:_HEAD]):
        return found[1][:_LONGEST_VALUE]
    for each in root.iter():
        if local(each) == "link" and "canonical" in (each.get("rel") or "").lower().split():
            address = (each.get("href") or "").strip()
            return address[:_LONGEST_VALUE] if address.startswith(("http://", "https://")) else ""
    return ""


def _time_element(root: Any) -> str:
    for each in root.iter():
        if local(each) == "time" and (
            "pubdate" in each.attrib or any(local(a) == "header" for a in each.iterancestors())
        ):
            return (each.get("datetime") or "")[:_LONGEST_VALUE]
    return ""


def _linked_data(root: Any) -> Iterator[tuple[str, str]]:
    """Yield author and dates that a page tells search engines (JSON-LD)."""
    for each in root.iter():
        if local(each) != "script" or (each.get("type") or "").lower() != "application/ld+json":
            continue
        try:
            data = json.loads(each.text or "")
        except (ValueError, RecursionError):
            continue
        graph = data.get("@graph", [data]) if isinstance(data, dict) else data
        for thing in graph if isinstance(graph, list) else ():
            if isinstance(thing, dict):
                yield from _told_of(thing)


def _told_of(thing: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key in ("dateModified", "datePublished"):
        if isinstance(thing.get(key), str):
            yield key, thing[key][:_LONGEST_VALUE]
    author = thing.get("author")
    author = author[0] if isinstance(author, list) and author else author
    name = author.get("name") if isinstance(author, dict) else author
    if isinstance(name, str):
        yield "author", name[:_LONGEST_VALUE]


def _time(value: str | None) -> str:
    moment = parse_time(value)
    return "" if moment is None else moment.isoformat().replace("+00:00", "Z")
