"""The images on a page of a PDF: scans, which tesseract reads, and pictures for a vision model."""

import io
import re
from itertools import islice
from typing import Any

from ragmem.readers.documents.formats.pdf.pdf_lines import Box, Line
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.model import Limits
from ragmem.readers.documents.ocr import SECONDS, ocr

_IMAGES = 50  # of a page
_OCR_SCALE = 200 / 72


def read_scan(page: Any, limits: Limits, seconds: float) -> list[Line]:
    """Return the lines of a scanned page, as tesseract reads them."""
    width, height = page.get_size()
    if width * height * _OCR_SCALE**2 > limits.pixels or not any(True for _ in page.get_objects(max_depth=1)):
        return []
    picture = io.BytesIO()
    page.render(scale=_OCR_SCALE).to_pil().save(picture, "PNG")
    text = ocr(picture.getvalue(), limits, seconds=max(1.0, min(SECONDS, seconds)))
    return [
        Line(" ".join(paragraph.split()), Box(0, 100.0 * place, width, 100.0 * place + 12), 12.0)
        for place, paragraph in enumerate(re.split(r"\n\s*\n", text))
        if paragraph.strip()
    ]


def image_lines(page: Any, pictures: Pictures) -> list[Line]:
    """Return a line for each picture of a page that a model describes, at its position."""
    import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

    lines = []
    height = page.get_height()
    for item in islice(page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3), _IMAGES):
        width, depth = item.get_px_size()
        if width * depth > pictures.limits.pixels:
            continue
        packed = io.BytesIO()
        item.get_bitmap().to_pil().convert("RGB").save(packed, "PNG")
        if mark := pictures.describe(packed.getvalue()):
            left, bottom, right, top = item.get_bounds()
            lines.append(Line(mark, Box(left, height - top, right, height - bottom), 0.0, is_table=True))
    return lines
