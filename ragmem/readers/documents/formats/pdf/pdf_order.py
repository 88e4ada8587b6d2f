"""In which order the lines of a page are read: columns one after the other, cells side by side."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ragmem.readers.documents.formats.pdf.pdf_lines import Box, Line, union

_DEPTH = 3  # columns within columns
_FEWEST = 3  # lines of a column
_FILLED = 0.55  # of its column's width, that the lines of running text fill
_MIDDLE = 0.15  # of the width at either side, where no gutter is looked for
_GUTTER = 5.0  # points
_APART = 0.6  # of a line's height
_CROSSING = 0.4  # of all lines, that may run over a gutter: titles, tables, figures


@dataclass(frozen=True, slots=True)
class _Gutter:
    left: float
    right: float
    page: Box

    @property
    def widths(self) -> tuple[float, float]:
        """How wide the columns at its sides are."""
        return self.left - self.page.left, self.page.right - self.right

    def crossed_by(self, line: Line) -> bool:
        return line.box.left < self.left and line.box.right > self.right


def reading_order(lines: Sequence[Line], depth: int = 0) -> list[list[Line]]:
    """Return rows in the order in which they are read; a row of several lines is one of cells.

    What runs over all columns parts the page: what stands above it is read before, what is below after.
    """
    gutter = _gutter(lines) if depth < _DEPTH else None
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
    """Return what stands between the lines that run over a gutter, each band behind the line above it."""
    bands: list[tuple[Line | None, list[Line]]] = [(None, [])]
    for line in sorted(lines, key=lambda line: line.box.top):
        if gutter.crossed_by(line):
            bands.append((line, []))
        else:
            bands[-1][1].append(line)
    return bands


def _columns(band: Sequence[Line], gutter: _Gutter) -> tuple[list[list[Line]], list[Line]]:
    """Return the two columns of a band and what stands below both; no columns where it holds none.

    The left column goes on below the right one where its lines follow closely; behind a gap something else
    begins.
    """
    left = sorted((line for line in band if line.box.left < gutter.left), key=lambda line: line.box.top)
    right = [line for line in band if line.box.left >= gutter.left]
    if len(left) < _FEWEST or len(right) < _FEWEST:
        return [], []
    end = max(line.box.bottom for line in right)
    beside = [line for line in left if line.box.top < end]
    if not (_fills(beside, gutter.widths[0]) and _fills(right, gutter.widths[1])):
        return [], []
    rest = left[len(beside) :]
    bottom = max(line.box.bottom for line in beside)
    for number, line in enumerate(rest):
        if line.box.top - bottom > _APART * line.box.height:
            return [[*beside, *rest[:number]], right], rest[number:]
        bottom = line.box.bottom
    return [left, right], []


def _fills(column: Sequence[Line], width: float) -> bool:
    """Tell running text, whose lines are mostly as wide as the column, from the cells of a table."""
    lines = [line for line in column if not line.is_table]
    return len(lines) >= _FEWEST and statistics.median(line.box.width for line in lines) >= _FILLED * width


def _gutter(lines: Sequence[Line]) -> _Gutter | None:
    """Return the blank strip between two columns of running text, if the lines stand in such."""
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
