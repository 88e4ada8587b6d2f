"""Draw a sheet of charts in lines for a terminal, of any width and also without colours."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ragmem.charts.charts import Bar, Bars, Chart, Histogram, Parts, Sheet, Tone
from ragmem.charts.widths import fitted, letters, padded

NARROWEST = 40
"""Columns below which nothing is drawn narrower."""

WIDEST = 100
"""Columns above which a bar says no more."""

LABEL = 22
"""Columns of a label at most."""

HEIGHT = 6
"""Lines of a histogram."""

Paint = Callable[[str, Tone], str]
"""Colours a text by its tone; must not change what it says."""


@dataclass(frozen=True, slots=True)
class Brush:
    """The signs that are drawn with: a part of a cell from nothing to a whole one, and fills that differ."""

    across: str
    up: str
    fills: str
    axis: str
    mark: str


BLOCKS = Brush(" ▏▎▍▌▋▊▉█", " ▁▂▃▄▅▆▇█", "█▓▒░▚┅", "─", "▲")
PLAIN = Brush(" #", " #", "#=+:*-", "-", "^")
"""For an encoding that has no blocks."""


def brush_for(encoding: str | None) -> Brush:
    """Return the signs that an encoding has; without one, as a pipe may be, that of UTF-8 counts."""
    signs = BLOCKS.across + BLOCKS.up + BLOCKS.fills + BLOCKS.axis + BLOCKS.mark
    try:
        signs.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return BLOCKS


def drawn(
    sheet: Sheet, *, width: int, brush: Brush = BLOCKS, paint: Paint = lambda text, _: text
) -> Iterator[str]:
    """Yield the lines, none wider than `width` (40 at least), a blank one before each chart."""
    room = max(NARROWEST, min(width, WIDEST))
    for chart in sheet.charts:
        yield ""
        yield fitted(chart.title, room)
        yield from _lines(chart, room, brush, paint)
        for line in wrapped(chart.note, room - 2):
            yield f"  {line}"


def _lines(chart: Chart, width: int, brush: Brush, paint: Paint) -> Iterator[str]:
    if isinstance(chart, Parts):
        return _parts(chart.bars, width, brush, paint)
    if isinstance(chart, Bars):
        return _bars(chart.bars, width, brush, paint)
    return _histogram(chart, width, brush)


def _parts(bars: Sequence[Bar], width: int, brush: Brush, paint: Paint) -> Iterator[str]:
    total = sum(bar.value for bar in bars)
    room = width - 2
    if total:
        cells = shares([bar.value for bar in bars], room)
        line = "".join(
            paint(_fill(brush, number) * count, bar.tone)
            for number, (bar, count) in enumerate(zip(bars, cells, strict=True))
        )
        yield f"  {line}"
    line, used = "", 0
    for number, bar in enumerate(bars):
        told = f"{bar.label} {bar.value:,}" + (f" ({bar.note})" if bar.note else "")
        told = fitted(told, room - 2)
        wide = letters(told) + 2
        if used and used + 3 + wide > room:
            yield f"  {line}"
            line, used = "", 0
        gap = "   " if used else ""
        line += f"{gap}{paint(_fill(brush, number), bar.tone)} {told}"
        used += len(gap) + wide
    if line:
        yield f"  {line}"


def _fill(brush: Brush, number: int) -> str:
    return brush.fills[number % len(brush.fills)]


def shares(values: Sequence[float], room: int) -> list[int]:
    """Return how many of `room` cells each value has; what is not nothing has one, where there is room."""
    total = sum(values)
    if not total:
        return [0] * len(values)
    cells = [max(1, round(value / total * room)) if value else 0 for value in values]
    while sum(cells) != room:
        # What is large bears being a cell off.
        largest = max(range(len(cells)), key=lambda place: cells[place])
        step = 1 if sum(cells) < room else -1
        cells[largest] += step
    return cells


def _bars(bars: Sequence[Bar], width: int, brush: Brush, paint: Paint) -> Iterator[str]:
    wide = min(LABEL, width // 3, max((letters(bar.label) for bar in bars), default=0))
    counted = [f"{bar.value:,}" for bar in bars]
    numbers = max(map(len, counted), default=0)
    notes = max((letters(bar.note) for bar in bars), default=0)
    room = max(8, min(40, width - 2 - wide - 2 - numbers - 2 - (notes + 2 if notes else 0)))
    most = max((bar.value for bar in bars), default=0) or 1
    for bar, count in zip(bars, counted, strict=True):
        line = length(bar.value / most * room, brush)
        told = f"  {padded(bar.label, wide)}  {count.rjust(numbers)}  "
        rest = fitted(f"  {bar.note}" if bar.note else "", max(0, width - letters(told) - room))
        blank = " " * (room - len(line)) if rest else ""
        yield f"{told}{paint(line, bar.tone)}{blank}{rest}".rstrip()


def length(cells: float, brush: Brush) -> str:
    """Return a line of so many cells; what is not nothing can be seen."""
    steps = len(brush.across) - 1
    eighths = round(cells * steps)
    if cells > 0:
        eighths = max(1, eighths)
    whole, part = divmod(eighths, steps)
    return brush.across[-1] * whole + (brush.across[part] if part else "")


def _histogram(chart: Histogram, width: int, brush: Brush) -> Iterator[str]:
    classes = len(chart.counts)
    if not classes or chart.high <= chart.low:
        return
    each = max(1, min(3, (width - 2) // classes))
    columns = each * classes
    most = max(chart.counts) or 1
    steps = len(brush.up) - 1
    for row in range(HEIGHT - 1, -1, -1):
        cells = []
        for count in chart.counts:
            filled = count / most * HEIGHT * steps
            filled = max(1.0, filled) if count else 0.0
            cells.append(brush.up[max(0, min(steps, round(filled - row * steps)))] * each)
        yield f"  {''.join(cells)}".rstrip()
    yield f"  {brush.axis * columns}"
    low, high = f"{chart.low:.2f}", f"{chart.high:.2f}"
    yield f"  {low}{' ' * (columns - len(low) - len(high))}{high}"
    yield from _marks(chart, columns, width, brush)


def _marks(chart: Histogram, columns: int, width: int, brush: Brush) -> Iterator[str]:
    """Yield a line for each mark: a sign below its place, and what it means on the side that has room."""
    for mark in sorted(chart.marks, key=lambda mark: mark.at):
        share = (mark.at - chart.low) / (chart.high - chart.low)
        place = max(0, min(columns - 1, int(share * columns)))
        told = f"{mark.at:.2f} {mark.label}"
        if place + 2 + letters(told) <= width - 2 or place < columns / 2:
            told = fitted(told, width - 4 - place)
            yield f"  {' ' * place}{brush.mark} {told}"
        else:
            told = fitted(told, place - 1)
            yield f"  {' ' * (place - letters(told) - 1)}{told} {brush.mark}"


def wrapped(text: str, width: int) -> Iterator[str]:
    """Yield the words of a text in lines of at most so many letters."""
    line = ""
    for word in text.split():
        if line and letters(line) + 1 + letters(word) > width:
            yield line
            line = ""
        line = f"{line} {word}" if line else fitted(word, width)
    if line:
        yield line
