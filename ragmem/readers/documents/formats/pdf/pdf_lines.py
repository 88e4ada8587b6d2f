"""Join the characters of a PDF page to lines with their positions."""

import ctypes
import statistics
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

from ragmem.readers.documents.formats.pdf.pdf_equations import with_equations
from ragmem.readers.documents.formats.pdf.pdf_words import Box, Word, page_transform, union, words_of

_NOTE_MARKS = frozenset("0123456789*†‡§")
_RAISED = 0.82  # maximum size of a note's mark, relative to the text
_BESIDE = 0.6  # share of the height that words of one row have in common; columns may share less
_SAME_BASE = 0.15
_WIDE = 2.0  # line heights; blanks in running text are narrower
_USUAL = 1.8  # times the usual blank of a row
_BLANKS = 4  # minimum of running text, which may be justified; a row of a table has fewer
_GAP = 0.9  # line heights; after a wider gap, another column or cell begins
_SPACE = 0.45  # line heights; a blank between words is narrower
_FEWEST_STARTS = 5  # lines that begin at one edge
_COLUMN = 6.0  # line heights of the narrowest column of text
_ALIGNED = 1.5  # points between their edges
_BETWEEN = 3  # characters in the file between words of a line: blanks, a hyphen
_BOLD_WEIGHTS = range(600, 1_001)  # PDFium derives some from the font's stems: thousands say nothing
_MIRRORED = str.maketrans("()[]{}<>", ")(][}{><")
_TOUCHING = 0.05  # line heights between parts of a word
_NAME_BYTES = 200


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


def lines_of(page: Any, *, without: Sequence[Box] = ()) -> list[Line]:
    """Return the lines of a PDFium page from top to bottom, except those in some boxes."""
    text_page = page.get_textpage()
    try:
        place = page_transform(page)
        words = [
            word for word in words_of(text_page, place) if not any(box.holds(word.box) for box in without)
        ]
        words = with_equations(page, text_page, words, place)
        segments = _segments(words)
        if _leftwards(words) > 0.5:
            segments = (_read_from_right(row) if _leftwards(row) else row for row in segments)
        return [_line(text_page, segment) for segment in segments]
    finally:
        text_page.close()


def _segments(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Yield words that are side by side without a wide gap, from top to bottom.

    Words that are adjacent in the file and on the page belong together. Runs of words on one base line belong
    together if the gap between them is not wider than others there: a justified line has wide gaps. They do
    not if the second begins a column, which may be as close as words of a justified line.
    """
    runs: list[list[Word]] = []
    for word in words:
        if runs and _follows(runs[-1][-1], word):
            runs[-1].append(word)
        else:
            runs.append([word])
    rows = _group_by_baseline(runs)
    starts = _column_starts(rows) if _leftwards(words) <= 0.5 else []
    for row in rows:
        yield from _join_words(row, starts)


def _follows(before: Word, word: Word) -> bool:
    height = max(before.box.height, word.box.height)
    shared = min(before.box.bottom, word.box.bottom) - max(before.box.top, word.box.top)
    beside = shared >= _BESIDE * min(before.box.height, word.box.height)
    return beside and -height / 2 <= word.box.left - before.box.right <= _GAP * height


def _group_by_baseline(runs: Sequence[list[Word]]) -> list[list[list[Word]]]:
    """Return the runs by the base line of their largest word, each row from left to right."""
    rows: list[list[list[Word]]] = []
    base = 0.0
    for run in sorted(runs, key=lambda run: _largest(run).box.bottom):
        box = _largest(run).box
        if rows and box.bottom - base <= _SAME_BASE * box.height:
            rows[-1].append(run)
        else:
            rows.append([run])
            base = box.bottom
    return [sorted(row, key=lambda run: run[0].box.left) for row in rows]


def _column_starts(rows: Sequence[Sequence[list[Word]]]) -> list[float]:
    """Return the left edges of many lines that do not continue those at their left in the file."""
    edges = sorted(
        right[0].box.left for row in rows for left, right in pairwise(row) if not _continues(left, right)
    )
    return [
        edge
        for edge, other in zip(edges, edges[_FEWEST_STARTS - 1 :], strict=False)
        if other - edge <= _ALIGNED
    ]


def _continues(left: Sequence[Word], right: Sequence[Word]) -> bool:
    """Return whether a run directly follows another one in the file."""
    return 0 <= right[0].first - left[-1].first - len(left[-1].text) <= _BETWEEN


def _begins_column(left: Sequence[Word], right: Sequence[Word], starts: Sequence[float]) -> bool:
    """Return whether a run is a line of a column beside another; the number of a list is too short."""
    if _continues(left, right) or not any(0 <= right[0].box.left - one <= _ALIGNED for one in starts):
        return False
    height = _largest(right).box.height
    return min(run[-1].box.right - run[0].box.left for run in (left, right)) >= _COLUMN * height


def _largest(run: Sequence[Word]) -> Word:
    return max(run, key=lambda word: word.box.height)


def _join_words(row: Sequence[list[Word]], starts: Sequence[float]) -> Iterator[list[Word]]:
    height = max(_largest(run).box.height for run in row)
    every = [word for run in row for word in run]
    gaps = [right.box.left - left.box.right for left, right in pairwise(every) if not right.glued]
    blanks = [gap for gap in gaps if gap <= _WIDE * height]
    usual = statistics.median(blanks) if len(blanks) >= _BLANKS else 0.0
    segment = list(row[0])
    for run in row[1:]:
        gap = run[0].box.left - segment[-1].box.right
        is_near = gap <= _GAP * height or gap <= min(_WIDE * height, _USUAL * usual)
        if is_near and not (gap > _SPACE * height and _begins_column(segment, run, starts)):
            segment += run
        else:
            yield segment
            segment = list(run)
    yield segment


def _line(text_page: Any, words: Sequence[Word]) -> Line:
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
    heavy = sum(len(word.text) for word in words if not word.is_equation and _is_bold(text_page, word.first))
    return Line(told.strip(), box, round(size * 4) / 4, bold=heavy > 0.8 * sum(len(w.text) for w in words))


def _leftwards(words: Iterable[Word]) -> float:
    """Return the share of letters that are written from right to left."""
    kinds = Counter(unicodedata.bidirectional(char) for word in words for char in word.text)
    left = kinds["R"] + kinds["AL"]
    return left / max(1, left + kinds["L"])


def _read_from_right(words: Sequence[Word]) -> list[Word]:
    """Return the words of a line from right to left; Latin words side by side keep their order.

    PDFium mirrors brackets beside such letters, although Word and LibreOffice name the sign that is meant.
    """
    ordered: list[Word] = []
    from_right = sorted(words, key=lambda word: -word.box.right)
    for is_leftwards, group in groupby(from_right, key=lambda word: _leftwards([word]) > 0):
        run = list(group)
        latin = [n for n, word in enumerate(run) if any(map(str.isalpha, word.text))]
        if is_leftwards:
            run = [replace(word, text=word.text.translate(_MIRRORED)) for word in run]
        elif latin:
            run[latin[0] : latin[-1] + 1] = reversed(run[latin[0] : latin[-1] + 1])
        ordered += run
    pairs = pairwise(ordered)
    glued = [False, *(_touch(one.box, other.box) or _touch(other.box, one.box) for one, other in pairs)]
    return [replace(word, glued=is_glued) for word, is_glued in zip(ordered, glued, strict=True)]


def _touch(left: Box, right: Box) -> bool:
    return abs(right.left - left.right) < _TOUCHING * left.height


def _is_bold(text_page: Any, number: int) -> bool:
    import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

    if pdfium.FPDFText_GetFontWeight(text_page, number) in _BOLD_WEIGHTS:
        return True
    name, flags = ctypes.create_string_buffer(_NAME_BYTES), ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(text_page, number, name, _NAME_BYTES, ctypes.byref(flags))
    return b"bold" in name.value.lower() or b"black" in name.value.lower()
