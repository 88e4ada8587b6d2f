"""OpenDocument files as Markdown: texts (.odt) in one part, presentations (.odp) by slide, sheets (.ods)."""

import re
from collections.abc import Iterator
from typing import Any

from lxml.etree import XMLSyntaxError

from ragmem.readers.documents import archives
from ragmem.readers.documents.formats import marks, package
from ragmem.readers.documents.formats.opendocument.odf_sheets import read_sheets
from ragmem.readers.documents.formats.opendocument.odf_story import Story, blocks, is_drawing
from ragmem.readers.documents.formats.package import Package, child, every, local, value, within
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.formats.powerpoint import Box, sort_shapes
from ragmem.readers.documents.formats.text_blocks import write_blocks
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, RefusedError

_PROPERTIES = {
    "title": "title",
    "initial-creator": "author",
    "creator": "last_modified_by",
    "subject": "subject",
    "keyword": "keywords",
    "creation-date": "created",
    "date": "modified",
}

_LENGTH = re.compile(r"(-?\d+(?:\.\d+)?)(cm|mm|in|pt|pc|px)?")
_CENTIMETRES = {"cm": 1.0, "mm": 0.1, "in": 2.54, "pt": 2.54 / 72, "pc": 2.54 / 6, "px": 2.54 / 96}
_WIDTH, _HEIGHT = 28.0, 21.0
_ON_EACH_SLIDE = frozenset({"header", "footer", "date-time", "page-number"})
_DEEPEST = 30
_TITLE = re.compile(r"(?!\[\[picture|Image: |- |\d+\.).{1,100}")


def read(path: str, limits: Limits) -> ConvertedDocument:
    """Return an OpenDocument file; raises RefusedError for an encrypted one and for any other file."""
    with archives.open_archive(path, limits) as archive:
        whole = Package(archive)
        if next(every(whole.tree("META-INF/manifest.xml"), "encryption-data"), None) is not None:
            raise RefusedError("it is encrypted", hint="save a copy without the password")
        pictures = Pictures(limits)
        warnings: list[str] = []
        unread: list[str] = []
        shown = heading = ""
        if "spreadsheet" in _media_type(whole):
            try:
                parts = list(read_sheets(whole, pictures, limits, warnings))
            except XMLSyntaxError as error:
                raise RefusedError('its part "content.xml" is not well-formed XML') from error
        else:
            root = whole.tree("content.xml")
            story = Story.of(whole, root, pictures)
            body = child(root, "body")
            if (slides := child(body, "presentation")) is not None:
                parts, unread = read_slides(slides, story, limits, warnings)
                # The title in the properties is often that of the template: "Blue Curve".
                shown = next((part.title for part in parts if part.title), "")
            elif (text := child(body, "text")) is not None:
                found = list(blocks(text, story))
                shown = next((marks.flatten(each.text) for each in found if each.kind == "title"), "")
                heading = next((marks.flatten(each.text) for each in found if each.kind == "heading"), "")
                texts = [*write_blocks(found), *((line, False) for line in _margins(story))]
                parts = [Part(marks.blocks(texts), pictures=pictures.take())]
            else:
                raise RefusedError("it is not a text, a presentation or a spreadsheet")
        properties = _properties(whole)
        if any(name.startswith("Basic/") for name in archive.namelist()):
            warnings.append("macros are left out")
    title = shown or properties.get("title") or heading
    event_time = package.event_time(properties)
    return ConvertedDocument(tuple(parts), title, event_time, properties, tuple(warnings), tuple(unread))


def _media_type(whole: Package) -> str:
    if name := whole.bytes_of("mimetype"):
        return name.decode("ascii", "replace")
    content = whole.bytes_of("content.xml")
    if content is None:
        raise RefusedError("the file has no content.xml: it is not complete")
    return "spreadsheet" if b":spreadsheet" in content else ""


def _properties(whole: Package) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in every(within(whole.tree("meta.xml"), "meta"), *_PROPERTIES):
        key, value = _PROPERTIES.get(local(each), ""), marks.flatten(each.text or "")
        if key and value:
            found[key] = f"{found[key]}, {value}" if key in found else value
    return found


def _margins(story: Story) -> Iterator[str]:
    """Yield each header and footer once, even if several page styles have it."""
    seen = set()
    for margin in every(within(story.styles.root, "master-styles"), "header", "footer"):
        told = " ".join(text for text, _ in write_blocks(list(blocks(margin, story))))
        line = f"Page {local(margin)}: {marks.flatten(told)}"
        if re.search(r"\w{2}", told) and line not in seen:
            seen.add(line)
            yield line


def read_slides(node: Any, story: Story, limits: Limits, warnings: list[str]) -> tuple[list[Part], list[str]]:
    """Return the slides with text, hidden ones too, and the locators of those beyond the limit."""
    pages = [each for each in node if local(each) == "page"]
    if len(pages) > limits.pages:
        warnings.append(f"slides after the first {limits.pages:,} are left out")
    parts = []
    for number, page in enumerate(pages[: limits.pages], 1):
        title, text = _slide(page, story)
        pictures = story.pictures.take()
        if text.strip():
            parts.append(Part(text, f"slide={number}", f"slide {number}", title, pictures))
    return parts, [f"slide={number}" for number in range(limits.pages + 1, len(pages) + 1)]


def _slide(page: Any, story: Story) -> tuple[str, str]:
    titles = [each for each in page if value(each, "class") == "title"]
    title = marks.flatten(" ".join(_text(each, story) for each in titles[:1]))
    boxes = sort_shapes(list(_boxes((each for each in page if each not in titles[:1]), story, 0)))
    if not title and len(boxes) > 1 and _TITLE.fullmatch(boxes[0].text):
        # Converters write titles as ordinary boxes.
        title, boxes = boxes[0].text, boxes[1:]
    texts = [marks.heading(1, title), *(box.text for box in boxes)]
    notes = child(page, "notes")
    for each in notes if notes is not None else ():
        if value(each, "class") == "notes" and (said := _text(each, story)):
            texts += ["## Speaker notes", said]
    return title, marks.blocks([(text, False) for text in texts])


def _boxes(shapes: Iterator[Any], story: Story, depth: int) -> Iterator[Box]:
    """Yield the texts of shapes with their positions; a group of shapes is one text."""
    for shape in shapes:
        if not is_drawing(shape) or value(shape, "class") in _ON_EACH_SLIDE or depth > _DEEPEST:
            continue
        if local(shape) in {"g", "a"}:
            inner = list(_boxes(iter(shape), story, depth + 1))
            text = marks.blocks([(box.text, False) for box in sort_shapes(inner)])
            if text.strip():
                edges = [min, min, max, max]
                corners = zip(*((box.left, box.top, box.right, box.bottom) for box in inner), strict=True)
                yield Box(text, *(edge(each) for edge, each in zip(edges, corners, strict=True)))
        elif (text := _text(shape, story)).strip():
            left, top, width, height = (_length(value(shape, name)) for name in ("x", "y", "width", "height"))
            if not value(shape, "x"):
                top = _HEIGHT
            yield Box(text, left / _WIDTH, top / _HEIGHT, (left + width) / _WIDTH, (top + height) / _HEIGHT)


def _text(shape: Any, story: Story) -> str:
    return marks.blocks(list(write_blocks(list(blocks([shape], story)))))


def _length(text: str) -> float:
    """Return a length in centimetres."""
    found = _LENGTH.fullmatch(text)
    return float(found[1]) * _CENTIMETRES[found[2] or "px"] if found else 0.0
