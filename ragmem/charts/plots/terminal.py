"""Draw a plot in lines for a terminal: of any width, also without colours and without UTF-8."""

from collections.abc import Iterator, Sequence

from ragmem.charts.chart_lines import BLOCKS, NARROWEST, Brush, Paint, length, shares, wrapped
from ragmem.charts.palette import TONES
from ragmem.charts.plots.canvas import Cells, Writing, curve_rows
from ragmem.charts.plots.model import Columns, Curves, Plot, Row, Stacks, Strip
from ragmem.charts.plots.ticks import ranged, whole
from ragmem.charts.widths import letters, padded

WIDEST = 120
"""Columns above which a plot says no more."""

HEIGHT = 8
"""Lines of columns."""

LABEL = 24
"""Columns of a label at most."""


def lines(
    plot: Plot,
    *,
    width: int = 80,
    brush: Brush = BLOCKS,
    paint: Paint = lambda text, _: text,
    head: bool = True,
) -> list[str]:
    """Return the lines of a plot, none wider than `width` (40 at least): its title, the plot, its note.

    `brush` are the signs (`chart_lines.brush_for(encoding)`: blocks and braille, or ASCII alone), `paint`
    colours a text by its tone and must not change what it says. Without `head` title and note are left out.
    A plot of nothing says so in a line.
    """
    room = max(NARROWEST, min(width, WIDEST))
    writing = Writing(brush, paint)
    body = [line.rstrip() for line in _body(plot, room, writing)]
    if not head:
        return body
    note = [f"  {writing.cut(line, room - 2)}" for line in wrapped(writing.plain(plot.note), room - 2)]
    return [writing.cut(plot.title, room), *body, *note]


def _body(plot: Plot, room: int, writing: Writing) -> Iterator[str]:
    if isinstance(plot, Stacks):
        return _stacks(plot, room, writing)
    if isinstance(plot, Columns):
        return _columns(plot, room, writing)
    if isinstance(plot, Curves):
        return curve_rows(plot, room, writing)
    return _strip(plot, room, writing)


def _stacks(plot: Stacks, room: int, writing: Writing) -> Iterator[str]:
    if not any(sum(row.counts) for row in plot.rows):
        yield f"  {writing.cut(f'no {plot.counted}', room - 2)}"
        return
    yield from _legend(plot.parts, room, writing)
    wide = min(LABEL, room // 3, max(letters(writing.plain(row.label)) for row in plot.rows))
    counted = [whole(sum(row.counts)) for row in plot.rows]
    numbers = max(map(len, counted))
    space = room - 2 - wide - 2 - numbers - 2
    notes = max(0, min(room // 4, space - 10, max(letters(writing.plain(row.note)) for row in plot.rows)))
    space -= notes + 2 if notes else 0
    most = max(sum(row.counts) for row in plot.rows)
    for row, count in zip(plot.rows, counted, strict=True):
        bar, cells = _bar(row, most, space, writing)
        label = padded(writing.cut(row.label, wide), wide)
        note = writing.cut(row.note, notes)
        blank = " " * (space - cells + 2) if note else ""
        yield f"  {label}  {count.rjust(numbers)}  {bar}{blank}{note}"


def _bar(row: Row, most: float, space: int, writing: Writing) -> tuple[str, int]:
    total = sum(row.counts)
    if not total:
        return "", 0
    if len(row.counts) == 1:
        bar = length(total / most * space, writing.brush)
        return writing.paint(bar, TONES[0]), letters(bar)
    cells = max(round(total / most * space), sum(count > 0 for count in row.counts))
    parts = shares(list(row.counts), cells)
    bar = "".join(
        writing.paint(writing.fill(number) * count, writing.tone(number))
        for number, count in enumerate(parts)
    )
    return bar, cells


def _legend(names: Sequence[str], room: int, writing: Writing) -> Iterator[str]:
    """Yield which sign stands for which name, where there is more than one."""
    if len(names) < 2:
        return
    line, used = "", 0
    for number, name in enumerate(names):
        told = writing.cut(name, room - 6)
        wide = letters(told) + 2
        if used and used + 3 + wide > room - 2:
            yield f"  {line}"
            line, used = "", 0
        gap = "   " if used else ""
        line += f"{gap}{writing.paint(writing.fill(number), writing.tone(number))} {told}"
        used += len(gap) + wide
    yield f"  {line}"


def _columns(plot: Columns, room: int, writing: Writing) -> Iterator[str]:
    if not any(plot.totals):
        yield f"  {writing.cut(f'no {plot.y.title}', room - 2)}"
        return
    axis = ranged([0.0, *plot.totals], plot.y, wanted=4)
    gutter = max(map(len, axis.labels)) + 1
    space = room - 2 - gutter - 1
    jump = -(-len(plot.classes) // space)
    classes = plot.classes[::jump]
    layers = [_summed(layer.counts, jump) for layer in plot.layers]
    each = max(1, min(8, space // len(classes)))
    gap = 1 if each > 2 else 0
    yield from _legend([layer.name for layer in plot.layers], room, writing)
    yield f"  {' ' * gutter}{writing.cut(plot.y.named, space)}"
    at = {
        round((HEIGHT - 1) * (1 - axis.share(tick))): label
        for tick, label in zip(axis.ticks, axis.labels, strict=True)
    }
    for row in range(HEIGHT):
        cells = "".join(
            _column_cell(
                [layer[place] / axis.high for layer in layers], HEIGHT - 1 - row, each - gap, writing
            )
            + " " * gap
            for place in range(len(classes))
        )
        yield f"  {at.get(row, '').rjust(gutter - 1)} {cells}"
    yield f"  {' ' * gutter}{writing.brush.axis * (each * len(classes) - gap)}"
    yield f"  {' ' * gutter}{_class_labels(classes, each, space, writing)}"
    if plot.x.named:
        yield f"  {' ' * gutter}{writing.cut(plot.x.named, space)}"
    for mark in sorted(plot.marks, key=lambda mark: mark.at):
        place = max(0, min(each * len(classes) - 1, int(mark.at / jump * each)))
        yield f"  {' ' * gutter}{writing.pointed(place, mark.label, space)}"


def _column_cell(shares_of: Sequence[float], row: int, wide: int, writing: Writing) -> str:
    """Return a cell of a column, `row` from the bottom: the layer that its middle is in, or the tip."""
    up, reached = writing.brush.up, 0.0
    steps = len(up) - 1
    for number, share in enumerate(shares_of):
        reached += share * HEIGHT
        if reached >= row + 0.5 and (number < len(shares_of) - 1 or reached >= row + 1):
            return writing.paint(writing.fill(number) * wide, writing.tone(number))
    top = max((number for number, share in enumerate(shares_of) if share), default=0)
    filled = max(0, min(steps, round((reached - row) * steps)))
    if not filled and row == 0 and reached > 0:
        filled = 1
    return writing.paint(up[filled] * wide, writing.tone(top)) if filled else " " * wide


def _class_labels(classes: Sequence[str], each: int, space: int, writing: Writing) -> str:
    """Return the labels of the classes below their columns, as many of them as there is room for."""
    plain = [writing.plain(name) for name in classes]
    longest = max(map(letters, plain))
    jump = max(1, -(-(longest + 1) // each))
    line = ""
    for place in range(0, len(plain), jump):
        if place * each + letters(plain[place]) <= space:
            line = padded(line, place * each) + plain[place]
    return line


def _strip(plot: Strip, room: int, writing: Writing) -> Iterator[str]:
    if not any(count for _, count in plot.cells):
        yield f"  {writing.cut(f'no {plot.counted}', room - 2)}"
        return
    space = room - 2
    jump = -(-len(plot.cells) // space)
    counts = _summed([count for _, count in plot.cells], jump)
    each = max(1, min(3, space // len(counts)))
    shades = writing.shades
    most = max(counts)
    cells = Cells()
    for count in counts:
        level = max(1, -(-count * (len(shades) - 1) // most)) if count else 0
        cells.add(shades[int(level)] * each, TONES[0])
    yield f"  {cells.painted(writing.paint)}"
    first, last = writing.plain(plot.cells[0][0]), writing.plain(plot.cells[-1][0])
    blank = each * len(counts) - letters(first) - letters(last)
    yield f"  {first}{' ' * blank}{last}" if blank > 0 else f"  {writing.cut(f'{first} to {last}', space)}"
    one = "" if jump == 1 else f", {jump} of them together"
    yield f"  {writing.cut(f'{shades[-1]} {whole(most)} {plot.counted} in a {plot.named}{one}', space)}"


def _summed(values: Sequence[float], jump: int) -> list[float]:
    """Return sums of `jump` neighbours each."""
    return [sum(values[place : place + jump]) for place in range(0, len(values), jump)]
