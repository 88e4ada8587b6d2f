"""Sort the lines of a page in reading order: columns one after the other, cells side by side."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ragmem.readers.documents.formats.pdf.pdf_lines import Line
from ragmem.readers.documents.formats.pdf.pdf_words import Box, union

_DEPTH = 3  # nested columns
_FEWEST = 3  # lines of a column
_FILLED = 0.55  # share of the column's width that lines of running text fill
_FEWEST_CHARS = 8  # of a usual line of running text; prices and numbers are shorter
_MIDDLE = 0.15  # share of the width at either side without a gutter
_GUTTER = 5.0  # points
_APART = 0.6  # line heights
_CROSSING = 0.4  # share of all lines that may cross a gutter: titles, tables, figures


@dataclass(frozen=True, slots=True)
class _Gutter:
    left: float
    right: float
    page: Box

    @property
    def widths(self) -> tuple[float, float]:
        """The widths of the columns at its sides."""
        return self.left - self.page.left, self.page.right - self.right

    def is_crossed_by(self, line: Line) -> bool:
        return line.box.left < self.left and line.box.right > self.right


def reading_order(lines: Sequence[Line], depth: int = 0) -> list[list[Line]]:
    """Return rows in reading order; a row of several lines is a row of cells.

    A line across all columns divides the page: the lines above it are read before those below it.
    """
    gutter = _find_gutter(lines) if depth < _DEPTH else None
    if gutter is None:
        return _rows(lines)
    rows: list[list[Line]] = []
    for spanning, band in _bands(lines, gutter):
        if spanning is not None:
            rows.append([spanning])
        columns, rest = _columns(band, gutter)
        if columns:
            for column in columns:
                rows.extend(reading_order(column, depth + 1))
            rows.extend(reading_order(rest, depth + 1) if rest else [])
        elif band:
            rows.extend(_rows(band) if len(band) == len(lines) else reading_order(band, depth + 1))
    return rows


def _bands(lines: Sequence[Line], gutter: _Gutter) -> list[tuple[Line | None, list[Line]]]:
    """Return the bands between the lines that cross a gutter, each with the line above it."""
    bands: list[tuple[Line | None, list[Line]]] = [(None, [])]
    for line in sorted(lines, key=lambda line: line.box.top):
        if gutter.is_crossed_by(line):
            bands.append((line, []))
        else:
            bands[-1][1].append(line)
    return bands


def _columns(band: Sequence[Line], gutter: _Gutter) -> tuple[list[list[Line]], list[Line]]:
    """Return the two columns of a band and the lines below both; no columns if it has none.

    The left column may continue below the right one without a gap; after a gap something else begins.
    """
    left = sorted((line for line in band if line.box.left < gutter.left), key=lambda line: line.box.top)
    right = [line for line in band if line.box.left >= gutter.left]
    if len(left) < _FEWEST or len(right) < _FEWEST:
        return [], []
    end = max(line.box.bottom for line in right)
    beside = [line for line in left if line.box.top < end]
    if not (_is_running_text(beside, gutter.widths[0]) and _is_running_text(right, gutter.widths[1])):
        return [], []
    rest = left[len(beside) :]
    bottom = max(line.box.bottom for line in beside)
    for number, line in enumerate(rest):
        if line.box.top - bottom > _APART * line.box.height:
            return [[*beside, *rest[:number]], right], rest[number:]
        bottom = line.box.bottom
    return [left, right], []


def _is_running_text(column: Sequence[Line], width: float) -> bool:
    """Return whether a column is running text, whose lines fill its width, unlike the cells of a table."""
    lines = [line for line in column if not line.is_table]
    if len(lines) < _FEWEST or statistics.median(len(line.text) for line in lines) < _FEWEST_CHARS:
        return False
    return statistics.median(line.box.width for line in lines) >= _FILLED * width


def _find_gutter(lines: Sequence[Line]) -> _Gutter | None:
    """Return the blank strip between two columns of running text, if there are such columns."""
    if len(lines) < 2 * _FEWEST:
        return None
    page = union(line.box for line in lines)
    width = int(page.width)
    covered = [0] * (width + 2)
    for line in lines:
        covered[max(0, int(line.box.left - page.left))] += 1
        covered[min(width + 1, int(line.box.right - page.left) + 1)] -= 1
    counts, total = [], 0
    for change in covered:
        total += change
        counts.append(total)
    first, last = int(width * _MIDDLE), int(width * (1 - _MIDDLE))
    if last - first < _GUTTER:
        return None
    least = min(counts[first:last])
    if least > _CROSSING * len(lines):
        return None
    best, start = (0, 0), None
    for x in [*range(first, last), last]:
        inside = x < last and counts[x] <= least
        if inside and start is None:
            start = x
        elif not inside and start is not None:
            best, start = max(best, (start, x), key=lambda run: run[1] - run[0]), None
    if best[1] - best[0] < _GUTTER:
        return None
    gutter = _Gutter(page.left + best[0], page.left + best[1], page)
    return gutter if any(_columns(band, gutter)[0] for _, band in _bands(lines, gutter)) else None


def _rows(lines: Sequence[Line]) -> list[list[Line]]:
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: (line.box.top + line.box.bottom, line.box.left)):
        if rows and not line.is_table and not rows[-1][0].is_table:
            before = rows[-1][0].box
            shared = min(before.bottom, line.box.bottom) - max(before.top, line.box.top)
            if shared >= 0.5 * min(before.height, line.box.height):
                rows[-1].append(line)
                continue
        rows.append([line])
    return [sorted(row, key=lambda line: line.box.left) for row in rows]
