"""Join the characters of a PDF page to lines with their positions."""

import ctypes
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

_HYPHENS = {0x02: "-", 0xAD: "-", 0xFFFE: "-"}  # PDFium's codes for a hyphen at the end of a line
_NOTE_MARKS = frozenset("0123456789*†‡§")
_RAISED = 0.82  # maximum size of a note's mark, relative to the text
_BESIDE = 0.6  # share of the height that words of one row have in common; columns may share less
_SAME_BASE = 0.15
_WIDE = 2.0  # line heights; blanks in running text are narrower
_USUAL = 1.8  # times the usual blank of a row
_BLANKS = 4  # minimum of running text, which may be justified; a row of a table has fewer
_GAP = 0.9  # line heights; after a wider gap, another column or cell begins
_BOLD_WEIGHT = 600
_NAME_BYTES = 200


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in points from the upper left corner of the page as displayed."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        """Its height."""
        return self.bottom - self.top

    @property
    def width(self) -> float:
        """Its width."""
        return self.right - self.left

    @property
    def middle(self) -> float:
        """The horizontal position of its middle."""
        return (self.left + self.right) / 2

    def holds(self, other: "Box") -> bool:
        """Tell whether the middle of another one is inside."""
        down = (other.top + other.bottom) / 2
        return self.left <= other.middle <= self.right and self.top <= down <= self.bottom


@dataclass(frozen=True, slots=True)
class Line:
    """Words side by side without a wide gap; `size` is the median height of its letters.

    A table or a picture is also a line, with `is_table`: its text is a placeholder.
    """

    text: str
    box: Box
    size: float
    bold: bool = False
    is_table: bool = False


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    box: Box
    first: int
    """The number of its first character on the page."""
    glued: bool
    """Whether nothing stands between it and the word before."""


def lines_of(page: Any, *, without: Sequence[Box] = ()) -> list[Line]:
    """Return the lines of a PDFium page from top to bottom, except those in some boxes."""
    text_page = page.get_textpage()
    try:
        words = [word for word in _words(page, text_page) if not any(box.holds(word.box) for box in without)]
        return [_line(text_page, segment) for segment in _segments(words)]
    finally:
        text_page.close()


def union(boxes: Iterable[Box]) -> Box:
    """Return the smallest box around some."""
    every = list(boxes)
    return Box(
        min(box.left for box in every),
        min(box.top for box in every),
        max(box.right for box in every),
        max(box.bottom for box in every),
    )


def _words(page: Any, text_page: Any) -> Iterator[_Word]:
    """Yield words: runs of characters without a blank, of about one size."""
    import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

    place = _page_transform(page)
    rectangle = pdfium.FS_RECTF()
    reference = ctypes.byref(rectangle)
    letters: list[str] = []
    boxes: list[Box] = []
    first, glued = 0, False

    def word() -> _Word:
        return _Word("".join(letters), union(boxes), first, glued)

    for number in range(pdfium.FPDFText_CountChars(text_page)):
        code = pdfium.FPDFText_GetUnicode(text_page, number)
        char = _HYPHENS.get(code) or chr(code)
        if code == 0 or char.isspace():
            if letters:
                yield word()
            letters, boxes, glued = [], [], False
            continue
        pdfium.FPDFText_GetLooseCharBox(text_page, number, reference)
        box = place(rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
        if letters and _breaks_word(boxes[-1], box):
            yield word()
            letters, boxes, glued = [], [], True
        if not letters:
            first = number
        letters.append(char)
        boxes.append(box)
    if letters:
        yield word()


def _page_transform(page: Any) -> Any:
    """Return a function that converts a rectangle of the page to display coordinates."""
    left, bottom, right, top = page.get_mediabox()
    turned = page.get_rotation()

    def place(x0: float, y0: float, x1: float, y1: float) -> Box:
        if turned == 90:
            return Box(y0 - bottom, x0 - left, y1 - bottom, x1 - left)
        if turned == 180:
            return Box(right - x1, y0 - bottom, right - x0, y1 - bottom)
        if turned == 270:
            return Box(top - y1, right - x1, top - y0, right - x0)
        return Box(x0 - left, top - y1, x1 - left, top - y0)

    return place


def _breaks_word(before: Box, box: Box) -> bool:
    """Tell whether a character has another size than the previous one, or is in another place."""
    small, large = sorted((before.height, box.height))
    elsewhere = box.top > before.bottom or box.bottom < before.top
    return small < _RAISED * large or elsewhere or box.left - before.right > before.height


def _segments(words: Sequence[_Word]) -> Iterator[list[_Word]]:
    """Yield words that are side by side without a wide gap, from top to bottom.

    Words that are adjacent in the file and on the page belong together. Runs of words on one base line belong
    together if the gap between them is not wider than others there: a justified line has wide gaps.
    """
    runs: list[list[_Word]] = []
    for word in words:
        if runs and _follows(runs[-1][-1], word):
            runs[-1].append(word)
        else:
            runs.append([word])
    for row in _group_by_baseline(runs):
        yield from _join_words(row)


def _follows(before: _Word, word: _Word) -> bool:
    height = max(before.box.height, word.box.height)
    shared = min(before.box.bottom, word.box.bottom) - max(before.box.top, word.box.top)
    beside = shared >= _BESIDE * min(before.box.height, word.box.height)
    return beside and -height / 2 <= word.box.left - before.box.right <= _GAP * height


def _group_by_baseline(runs: Sequence[list[_Word]]) -> list[list[list[_Word]]]:
    """Return the runs by the base line of their largest word, each row from left to right."""
    rows: list[list[list[_Word]]] = []
    base = 0.0
    for run in sorted(runs, key=lambda run: _largest(run).box.bottom):
        box = _largest(run).box
        if rows and box.bottom - base <= _SAME_BASE * box.height:
            rows[-1].append(run)
        else:
            rows.append([run])
            base = box.bottom
    return [sorted(row, key=lambda run: run[0].box.left) for row in rows]


def _largest(run: Sequence[_Word]) -> _Word:
    return max(run, key=lambda word: word.box.height)


def _join_words(row: Sequence[list[_Word]]) -> Iterator[list[_Word]]:
    height = max(_largest(run).box.height for run in row)
    every = [word for run in row for word in run]
    gaps = [right.box.left - left.box.right for left, right in pairwise(every) if not right.glued]
    blanks = [gap for gap in gaps if gap <= _WIDE * height]
    usual = statistics.median(blanks) if len(blanks) >= _BLANKS else 0.0
    segment = list(row[0])
    for run in row[1:]:
        gap = run[0].box.left - segment[-1].box.right
        if gap <= _GAP * height or gap <= min(_WIDE * height, _USUAL * usual):
            segment += run
        else:
            yield segment
            segment = list(run)
    yield segment


def _line(text_page: Any, words: Sequence[_Word]) -> Line:
    sizes = [word.box.height for word in words for _ in word.text]
    size = statistics.median(sizes)
    box = union(word.box for word in words)
    full = [word.box for word in words if word.box.height >= _RAISED * size] or [box]
    middle = statistics.median((one.top + one.bottom) / 2 for one in full)
    told = ""
    for number, word in enumerate(words):
        raised = word.box.height < _RAISED * size and (word.box.top + word.box.bottom) / 2 < middle
        if raised and len(words) > 1 and set(word.text) <= _NOTE_MARKS:
            told += f"[^{word.text}]" if number else f"[^{word.text}]:"
            continue
        told += word.text if word.glued and told and not told.endswith(":") else f" {word.text}"
    heavy = sum(len(word.text) for word in words if _is_bold(text_page, word.first))
    return Line(told.strip(), box, round(size * 4) / 4, bold=heavy > 0.8 * sum(len(w.text) for w in words))


def _is_bold(text_page: Any, number: int) -> bool:
    import pypdfium2.raw as pdfium

    if pdfium.FPDFText_GetFontWeight(text_page, number) >= _BOLD_WEIGHT:
        return True
    name, flags = ctypes.create_string_buffer(_NAME_BYTES), ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(text_page, number, name, _NAME_BYTES, ctypes.byref(flags))
    return b"bold" in name.value.lower() or b"black" in name.value.lower()
