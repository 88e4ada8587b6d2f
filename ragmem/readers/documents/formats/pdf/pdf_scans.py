"""Read scanned pages, and the pictures between text, by OCR; lay out the lines that it gives."""

import re
import statistics
import unicodedata
from collections.abc import Sequence
from itertools import islice
from typing import Any

from ragmem.readers.documents.formats.pdf.pdf_lines import Line
from ragmem.readers.documents.formats.pdf.pdf_order import reading_order
from ragmem.readers.documents.formats.pdf.pdf_words import Box
from ragmem.readers.documents.model import Limits, Recognition
from ragmem.readers.documents.ocr import RAPIDOCR, TESSERACT, Ocr, tidy_text

_SCALES = {RAPIDOCR: 150 / 72, TESSERACT: 200 / 72}  # pixels a point
_MOST_SIDE = 4_000.0  # pixels of a rendered page
_NONSENSE = 0.2  # share of signs without meaning; the fonts of such a text do not tell their letters
_FEWEST_SIGNS = 20
_FEWEST_WORD_SIGNS = 0.3
_OBJECTS = 300  # drawn objects of a page to examine
_PICTURES = 4  # of a page between text; the largest
_SMALLEST = (60.0, 14.0)  # points of a picture that may hold a line of text
_LABELS = 40  # characters of text on a picture; more are a text layer, or belong to a drawing
_TEXT_SIZE = 10.0  # points of running text
_SCANNED_SIZE = 8.0  # of usual lines, so that they are no headings beside pages with a text layer
_SAME_SIZE = 1.35  # lines with and without descenders differ that much; headings are larger
_PARAGRAPH = 20.0  # points from one paragraph of tesseract to the next


def is_nonsense(lines: Sequence[Line]) -> bool:
    """Return whether a text layer is no text: signs without meaning, or next to no letters and digits."""
    signs = [char for line in lines for char in line.text if not char.isspace()]
    if len(signs) < _FEWEST_SIGNS:
        return False
    void = sum(char == "\ufffd" or unicodedata.category(char) in {"Co", "Cn", "Cc"} for char in signs)
    return void > _NONSENSE * len(signs) or sum(map(str.isalnum, signs)) < _FEWEST_WORD_SIGNS * len(signs)


def scan_lines(page: Any, lines: Sequence[Line], ocr: Ocr, limits: Limits) -> list[Line]:
    """Return the lines of a page that its text layer lacks: those of a scan, or of pictures between text."""
    width, height = page.get_size()
    whole = Box(0.0, 0.0, width, height)
    if not lines:
        boxes = [whole] if any(True for _ in page.get_objects(max_depth=1)) else []
    else:
        boxes = _pictures(page, lines, whole)
    if not boxes:
        return []
    most = (limits.pixels / (width * height)) ** 0.5
    scale = min(_SCALES[ocr.engine], _MOST_SIDE / max(width, height), most)
    drawn = page.render(scale=scale).to_pil()
    found: list[Line] = []
    for box in boxes:
        sides = (box.left, box.top, box.right, box.bottom)
        read = ocr.read(drawn.crop(tuple(round(scale * side) for side in sides)))
        # What the text layer says of a picture is not said twice, nor what another layer of the page shows.
        known = [one.box for one in (*lines, *found)]
        found += [
            line
            for line in page_lines(read, box)
            if not any(line.box.holds(one) or one.holds(line.box) for one in known)
        ]
    return found


def _pictures(page: Any, lines: Sequence[Line], whole: Box) -> list[Box]:
    """Return the boxes of the largest pictures on which the text layer says next to nothing."""
    import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

    boxes = []
    for item in islice(page.get_objects(max_depth=3), _OBJECTS):
        if item.type != pdfium.FPDF_PAGEOBJ_IMAGE:
            continue
        left, bottom, right, top = item.get_bounds()
        box = Box(
            max(left, 0.0),
            max(whole.height - top, 0.0),
            min(right, whole.right),
            min(whole.height - bottom, whole.bottom),
        )
        told = sum(len(line.text) for line in lines if box.holds(line.box))
        if box.width >= _SMALLEST[0] and box.height >= _SMALLEST[1] and told <= _LABELS:
            boxes.append(box)
    return sorted(boxes, key=lambda box: -box.width * box.height)[:_PICTURES]


def page_lines(found: Recognition, box: Box) -> list[Line]:
    """Return the lines of a picture that fills a box of a page, in points.

    The lines of a page that was scanned sideways lie as on the upright page.
    """
    if found.text:
        # The engine knows the order, so that each paragraph becomes a line below the one before.
        paragraphs = [" ".join(each.split()) for each in re.split(r"\n\s*\n", found.text)]
        tops = [box.top + _PARAGRAPH * place for place in range(len(paragraphs))]
        return [
            Line(text, Box(box.left, top, box.right, top + 0.6 * _PARAGRAPH), _SCANNED_SIZE)
            for text, top in zip(paragraphs, tops, strict=True)
        ]
    width, height = found.size
    # The sides of a page that was scanned sideways are exchanged, its area is not.
    return _lines(found, (box.width * box.height / (width * height)) ** 0.5, box.left, box.top)


def plain_text(found: Recognition) -> str:
    """Return the text of a picture line by line; words that a line end splits are joined."""
    heights = [line.bottom - line.top for line in found.lines]
    if found.text or not heights:
        return found.text
    whole, before = "", None
    for row in reading_order(_lines(found, _TEXT_SIZE / statistics.median(heights))):
        line, box = "  ".join(each.text for each in row), row[0].box
        if before is not None and not -box.height < box.top - before.bottom < box.height:
            whole += "\n"
        if whole[-2:-1].isalpha() and whole.endswith("-") and line[:1].islower():
            whole = whole[:-1] + line
        else:
            whole += f"\n{line}"
        before = box
    return tidy_text(whole)


def _lines(found: Recognition, scale: float, left: float = 0.0, top: float = 0.0) -> list[Line]:
    usual = statistics.median(line.bottom - line.top for line in found.lines) if found.lines else 0.0
    lines = []
    for line in found.lines:
        height = line.bottom - line.top
        size = _SCANNED_SIZE * (1.0 if usual / _SAME_SIZE < height < usual * _SAME_SIZE else height / usual)
        box = Box(
            left + scale * line.left,
            top + scale * line.top,
            left + scale * line.right,
            top + scale * line.bottom,
        )
        lines.append(Line(line.text, box, round(4 * size) / 4))
    return lines
