"""Tables of a PDF that are drawn with rules, found by pdfplumber on the pages that have any."""

import time
from itertools import islice
from types import TracebackType
from typing import Any, Self

from ragmem.readers.documents.formats.pdf.pdf_lines import Box

SECONDS = 20.0
"""For the tables of a whole document; the text of later ones is read as text."""

_THIN = 3.0  # points
_SHORTEST = 8.0
_BOXES = 4  # cells that are drawn as frames or filled
_GRID_SEGMENTS = 8
_LOOKED_AT = 2_000  # drawn objects of a page beyond which it is a picture, not a table


class RuledTables:
    """Finds the tables of pages; opens the document a second time when the first page may have some."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._document: Any = None
        self._spent = 0.0
        self.gave_up = 0
        """Pages whose tables there was no time for."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._document is not None:
            self._document.close()

    def of(self, page: Any, number: int) -> list[tuple[Box, list[list[str]]]]:
        """Return the place and the cells of each table of a page of PDFium, whose number counts from 0."""
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
    """Tell whether enough is drawn on a page to be the grid of a table; pdfplumber takes its time to look."""
    import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

    across = down = boxes = 0
    for item in islice(page.get_objects(max_depth=3), _LOOKED_AT):
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
    """Tell a table from a frame around text: two rows, two columns, and most cells hold something."""
    if len(cells) < 2 or max(len(row) for row in cells) < 2:
        return False
    every = [cell for row in cells for cell in row]
    return sum(bool(cell.strip()) for cell in every) >= 0.4 * len(every)
