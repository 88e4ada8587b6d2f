"""Read the words of a PDF page with their positions."""

import ctypes
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

_HYPHENS = {0x02: "-", 0xAD: "-", 0xFFFE: "-"}  # PDFium's codes for a hyphen at the end of a line
_NO_BLANK = 0.02  # line heights; some programs place each letter alone
_RESIZED = 0.82  # relative size of a character that begins another word: a note's mark, a script


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
        """Return whether the middle of another one is inside."""
        down = (other.top + other.bottom) / 2
        return self.left <= other.middle <= self.right and self.top <= down <= self.bottom


@dataclass(frozen=True, slots=True)
class Word:
    """A run of characters without a blank, of about one size."""

    text: str
    box: Box
    first: int
    """The number of its first character on the page."""
    glued: bool
    """Whether nothing stands between it and the word before."""
    is_equation: bool = False


def union(boxes: Iterable[Box]) -> Box:
    """Return the smallest box around some."""
    every = list(boxes)
    return Box(
        min(box.left for box in every),
        min(box.top for box in every),
        max(box.right for box in every),
        max(box.bottom for box in every),
    )


def words_of(text_page: Any, place: Callable[..., Box]) -> Iterator[Word]:
    """Yield words: runs of characters without a blank, of about one size."""
    import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

    rectangle = pdfium.FS_RECTF()
    reference = ctypes.byref(rectangle)
    letters: list[str] = []
    boxes: list[Box] = []
    first, glued = 0, False
    last: Box | None = None

    def word() -> Word:
        return Word("".join(letters), union(boxes), first, glued)

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
        elif not letters and last is not None and _continues(last, box):
            glued = True
        if not letters:
            first = number
        letters.append(char)
        boxes.append(box)
        last = box
    if letters:
        yield word()


def page_transform(page: Any) -> Callable[..., Box]:
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


def _continues(before: Box, box: Box) -> bool:
    """Return whether a character directly follows another on its line, whatever the file has between."""
    apart = abs(box.left - before.right)
    return apart < _NO_BLANK * box.height and (before.top, before.bottom) == (box.top, box.bottom)


def _breaks_word(before: Box, box: Box) -> bool:
    """Return whether a character has another size than the previous one, or is in another place."""
    small, large = sorted((before.height, box.height))
    elsewhere = box.top > before.bottom or box.bottom < before.top
    # To the left it goes at the end of a line: lines set without a gap between them overlap.
    far = max(box.left - before.right, before.left - box.right) > before.height
    return small < _RESIZED * large or elsewhere or far
