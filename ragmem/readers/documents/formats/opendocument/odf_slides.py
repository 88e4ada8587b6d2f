"""The slides of an OpenDocument presentation: titles, texts in reading order, speaker notes."""

import re
from collections.abc import Iterator
from typing import Any

from ragmem.readers.documents.formats import marks
from ragmem.readers.documents.formats.opendocument.odf_story import Story, blocks, is_drawing
from ragmem.readers.documents.formats.package import child, local, value
from ragmem.readers.documents.formats.powerpoint import Box, sort_shapes
from ragmem.readers.documents.formats.text_blocks import write_blocks
from ragmem.readers.documents.model import Limits, Part

_LENGTH = re.compile(r"(-?\d+(?:\.\d+)?)(cm|mm|in|pt|pc|px)?")
_CENTIMETRES = {"cm": 1.0, "mm": 0.1, "in": 2.54, "pt": 2.54 / 72, "pc": 2.54 / 6, "px": 2.54 / 96}
_WIDTH, _HEIGHT = 28.0, 21.0
_ON_EACH_SLIDE = frozenset({"header", "footer", "date-time", "page-number"})
_DEEPEST = 30
_TITLE = re.compile(r"(?!\[\[picture|Image: |- |\d+\.).{1,100}")


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
