"""In which order the lines of a page are read: columns one after the other, cells side by side."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ragmem.readers.documents.formats.pdf_lines import Line, union

_DEPTH = 3  # columns within columns
_FEWEST = 3  # lines of a column
_FILLED = 0.55  # of its column's width, that the lines of running text fill
_MIDDLE = 0.15  # of the width at either side, where no gutter is looked for
_GUTTER = 5.0  # points
_CROSSING = 0.4  # of all lines, that may run over a gutter: titles, tables, figures


@dataclass(frozen=True, slots=True)
class _Gutter:
    left: float
    right: float

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
    band: list[Line] = []

    def read_band() -> None:
        left = [line for line in band if line.box.left < gutter.left]
        right = [line for line in band if line.box.left >= gutter.left]
        for column in (left, right):
            if column:
                rows.extend(reading_order(column, depth + 1))
        band.clear()

    for line in sorted(lines, key=lambda line: line.box.top):
        if gutter.crossed_by(line):
            read_band()
            rows.append([line])
        else:
            band.append(line)
    read_band()
    return rows


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
    gutter = _Gutter(page.left + best[0], page.left + best[1])
    return gutter if _parts_text(lines, gutter, page.left, page.right) else None


def _parts_text(lines: Sequence[Line], gutter: _Gutter, left: float, right: float) -> bool:
    """Tell whether running text stands at both sides; else the gap is one of a table."""
    beside = [line for line in lines if not gutter.crossed_by(line) and not line.is_table]
    for side, width in (
        ([line for line in beside if line.box.left < gutter.left], gutter.left - left),
        ([line for line in beside if line.box.left >= gutter.left], right - gutter.right),
    ):
        if len(side) < _FEWEST or statistics.median(line.box.width for line in side) < _FILLED * width:
            return False
    return True


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
