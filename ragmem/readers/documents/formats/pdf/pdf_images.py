"""The pictures on a page of a PDF for a vision model."""

import io
from itertools import islice
from typing import Any

from ragmem.readers.documents.formats.pdf.pdf_lines import Line
from ragmem.readers.documents.formats.pdf.pdf_words import Box
from ragmem.readers.documents.formats.pictures import Pictures

_IMAGES = 50  # of a page


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
