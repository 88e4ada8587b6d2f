"""Find the tables of a PDF that are drawn with rules, with pdfplumber."""

import time
from itertools import islice
from typing import Any, Self

from ragmem.readers.documents.formats.pdf.pdf_words import Box

SECONDS = 20.0
"""For the tables of a whole document; later tables are read as text."""

_THIN = 3.0  # points
_SHORTEST = 8.0
_BOXES = 4  # cells that are drawn as frames or filled
_GRID_SEGMENTS = 8
_MOST_OBJECTS = 2_000  # drawn objects of a page to examine; more are a picture, not a table


class RuledTables:
    """Finds the tables of pages; it opens the document itself when the first page may have some."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._document: Any = None
        self._spent = 0.0
        self.gave_up = 0
        """The number of pages without time for their tables."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._document is not None:
            self._document.close()

    def of(self, page: Any, number: int) -> list[tuple[Box, list[list[str]]]]:
        """Return the box and the cells of each table of a PDFium page with this number (from 0)."""
        if not _has_rules(page):
            return []
        if self._spent > SECONDS:
            self.gave_up += 1
            return []
        begun = time.monotonic()
        try:
            return self._find_tables(number)
        finally:
            self._spent += time.monotonic() - begun

    def _find_tables(self, number: int) -> list[tuple[Box, list[list[str]]]]:
        import pdfplumber

        if self._document is None:
            self._document = pdfplumber.open(self._path)
        page = self._document.pages[number]
        tables = []
        for table in page.find_tables():
            cells = [[cell or "" for cell in row] for row in table.extract()]
            if _is_table(cells):
                left, top, right, bottom = table.bbox
                tables.append((Box(left, top, right, bottom), cells))
        page.close()
        return tables


def _has_rules(page: Any) -> bool:
    """Return whether a page may have the grid of a table, because pdfplumber is slow."""
    import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

    across = down = boxes = 0
    for item in islice(page.get_objects(max_depth=3), _MOST_OBJECTS):
        if item.type != pdfium.FPDF_PAGEOBJ_PATH:
            continue
        left, bottom, right, top = item.get_bounds()
        width, height = right - left, top - bottom
        if height <= _THIN:
            across += width >= _SHORTEST
        elif width <= _THIN:
            down += height >= _SHORTEST
        else:
            boxes += 1
            # A whole grid may be one path.
            if pdfium.FPDFPath_CountSegments(item.raw) >= _GRID_SEGMENTS:
                return True
        if (across >= 2 and down >= 2) or boxes >= _BOXES:
            return True
    return False


def _is_table(cells: list[list[str]]) -> bool:
    """Return whether it is a table, not a frame around text: two rows and columns, enough filled cells."""
    if len(cells) < 2 or max(len(row) for row in cells) < 2:
        return False
    every = [cell for row in cells for cell in row]
    return sum(bool(cell.strip()) for cell in every) >= 0.4 * len(every)
