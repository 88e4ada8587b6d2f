"""Draw plots as lines of text for a terminal of any width, also without colours and UTF-8."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

from ragmem.charts.model import TONES, Columns, Curves, Plot, Row, Stacks, Strip, Tone
from ragmem.charts.ticks import Range, axis_range, format_count, spread
from ragmem.charts.widths import display_width, pad, truncate, wrap

NARROWEST = 40
"""Smallest width of a plot in columns, also on a narrower terminal."""

WIDEST = 120
"""Largest width of a plot in columns."""

HEIGHT, COLUMN_HEIGHT = 10, 8
"""Lines of curves and of columns."""

LABEL = 24
"""Largest width of a label in columns."""

LINE_SIGNS = "*+ox#%@&=~"
"""Signs of lines in ASCII, where there is no braille."""

BRAILLE = 0x2800
# The bit of a braille character for the dot in this column and row.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))

Paint = Callable[[str, Tone], str]
"""Colours a text by its tone and changes nothing else."""


@dataclass(frozen=True, slots=True)
class Signs:
    """The characters of a drawing: bars by the filled share of a cell, and distinct fills."""

    across: str
    up: str
    fills: str
    shades: str
    axis: str
    mark: str
    level: str
    is_ascii: bool = False


BLOCKS = Signs(" ▏▎▍▌▋▊▉█", " ▁▂▃▄▅▆▇█", "█▓▒░▚┅", " ░▒▓█", "─", "▲", "╌")
ASCII = Signs(" #", " #", "#=+:*-", " .:+#", "-", "^", "-", is_ascii=True)


def signs_for(encoding: str | None) -> Signs:
    """Return the signs that an encoding supports; a pipe without an encoding gets UTF-8."""
    try:
        (BLOCKS.across + BLOCKS.up + BLOCKS.fills + BLOCKS.axis + BLOCKS.mark).encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def lines(
    plot: Plot,
    *,
    width: int = 80,
    signs: Signs = BLOCKS,
    paint: Paint = lambda text, _: text,
    head: bool = True,
) -> list[str]:
    """Return the lines of a plot: title, drawing and note; without `head` the drawing alone.

    No line is wider than `width` (at least 40). `signs_for(encoding)` gives the signs.
    """
    room = max(NARROWEST, min(width, WIDEST))
    pen = _Pen(signs, paint)
    body = [line.rstrip() for line in _body(plot, room, pen)]
    if not head:
        return body
    note = [f"  {pen.cut(line, room - 2)}" for line in wrap(pen.plain(plot.note), room - 2)]
    return [pen.cut(plot.title, room), *body, *note]


@dataclass(frozen=True, slots=True)
class _Pen:
    """Writes texts and signs: in blocks or in ASCII, with colours or without."""

    signs: Signs
    paint: Paint

    def fill(self, number: int, tone: Tone, width: int = 1) -> str:
        """Return `width` cells of the part with this number."""
        return self.paint(self.signs.fills[number % len(self.signs.fills)] * width, tone)

    def plain(self, text: str) -> str:
        """Return a text as one line without control characters."""
        line = "".join(letter if letter.isprintable() else "\ufffd" for letter in " ".join(text.split()))
        return line.encode("ascii", "backslashreplace").decode() if self.signs.is_ascii else line

    def cut(self, text: str, width: int) -> str:
        """Return the beginning of a text in at most `width` columns."""
        if not self.signs.is_ascii:
            return truncate(self.plain(text), width)
        return truncate(self.plain(text.replace("…", "~")), width).replace("…", "~")

    def mark(self, place: int, label: str, space: int) -> str:
        """Return a line with a sign below a position, and its label on the side that has room."""
        text = self.plain(label)
        if place + 2 + display_width(text) <= space or place < space / 2:
            return f"{' ' * place}{self.signs.mark} {self.cut(text, space - place - 2)}"
        text = self.cut(text, place - 1)
        return f"{' ' * (place - display_width(text) - 1)}{text} {self.signs.mark}"


def _tone(number: int) -> Tone:
    return TONES[number % len(TONES)]


def _body(plot: Plot, room: int, pen: _Pen) -> Iterable[str]:
    if plot.missing:
        return [f"  {pen.cut(plot.missing, room - 2)}"]
    if isinstance(plot, Stacks):
        return _stacks(plot, room, pen)
    if isinstance(plot, Columns):
        return _columns(plot, room, pen)
    if isinstance(plot, Curves):
        return _curves(plot, room, pen)
    return _strip(plot, room, pen)


def _stacks(plot: Stacks, room: int, pen: _Pen) -> Iterator[str]:
    tones = plot.tones or [_tone(number) for number in range(len(plot.parts))]
    yield from _legend(plot.parts, tones, room, pen)
    label = min(LABEL, room // 3, max(display_width(pen.plain(row.label)) for row in plot.rows))
    totals = [format_count(total) for total in plot.totals]
    numbers = max(map(len, totals))
    space = room - 2 - label - 2 - numbers - 2
    notes = max(0, min(room // 4, space - 10, max(display_width(pen.plain(row.note)) for row in plot.rows)))
    space -= notes + 2 if notes else 0
    scale = space / max(plot.totals)
    for row, total in zip(plot.rows, totals, strict=True):
        bar, cells = _bar(row, tones, scale, pen)
        note = pen.cut(row.note, notes)
        blank = " " * (space - cells + 2) if note else ""
        yield f"  {pad(pen.cut(row.label, label), label)}  {total.rjust(numbers)}  {bar}{blank}{note}"


def _bar(row: Row, tones: Sequence[Tone], scale: float, pen: _Pen) -> tuple[str, int]:
    """Return the bar of a row, and its width in cells."""
    length = sum(row.counts) * scale
    if len(row.counts) == 1:
        # Any count above 0 is visible.
        steps = len(pen.signs.across) - 1
        cells, part = divmod(max(1 if length else 0, round(length * steps)), steps)
        bar = pen.signs.across[-1] * cells + (pen.signs.across[part] if part else "")
        return pen.paint(bar, tones[0]), len(bar)
    cells = max(round(length), sum(count > 0 for count in row.counts))
    parts = zip(tones, shares(row.counts, cells), strict=True)
    return "".join(pen.fill(number, tone, width) for number, (tone, width) in enumerate(parts)), cells


def shares(values: Sequence[float], room: int) -> list[int]:
    """Divide `room` cells in proportion to the values; a value above 0 gets at least one if there is room."""
    total = sum(values)
    if not total:
        return [0] * len(values)
    cells = [max(1, round(value / total * room)) if value else 0 for value in values]
    while sum(cells) != room:
        # An error of one cell matters least in the largest part.
        largest = max(range(len(cells)), key=lambda place: cells[place])
        cells[largest] += 1 if sum(cells) < room else -1
    return cells


def _legend(names: Sequence[str], tones: Sequence[Tone], room: int, pen: _Pen) -> Iterator[str]:
    """Yield the names beside their signs; nothing for a single name."""
    if len(names) < 2:
        return
    line, used = "", 0
    for number, (name, tone) in enumerate(zip(names, tones, strict=True)):
        text = pen.cut(name, room - 6)
        width = display_width(text) + 2
        if used and used + 3 + width > room - 2:
            yield f"  {line}"
            line, used = "", 0
        gap = "   " if used else ""
        line += f"{gap}{pen.fill(number, tone)} {text}"
        used += len(gap) + width
    yield f"  {line}"


def _frame(
    plot: Curves | Columns,
    rows: Sequence[str],
    axis: Range,
    ticks: str,
    places: Sequence[int],
    *,
    room: int,
    pen: _Pen,
) -> Iterator[str]:
    """Yield the rows of a plot (the last is the base line) with axes; `places` are the cells of marks."""
    gutter = max(map(len, axis.labels))
    blank, space = " " * (gutter + 3), room - gutter - 3
    labels = {
        round((len(rows) - 2) * (1 - axis.share(tick))): label
        for tick, label in zip(axis.ticks, axis.labels, strict=True)
    }
    yield f"{blank}{pen.cut(plot.y.label, space)}"
    for number, row in enumerate(rows):
        yield f"  {labels.get(number, '').rjust(gutter)} {row}"
    yield f"{blank}{ticks}"
    if plot.x.label:
        yield f"{blank}{pen.cut(plot.x.label, space)}"
    for level in plot.levels if isinstance(plot, Curves) else ():
        yield f"{blank}{pen.cut(f'{pen.signs.level} {level.label}', space)}"
    for mark, place in sorted(zip(plot.marks, places, strict=True), key=lambda one: one[0].at):
        yield f"{blank}{pen.mark(place, mark.label, space)}"


def _columns(plot: Columns, room: int, pen: _Pen) -> Iterator[str]:
    tones = [_tone(number) for number in range(len(plot.layers))]
    yield from _legend([layer.name for layer in plot.layers], tones, room, pen)
    axis = axis_range([0.0, *plot.totals], plot.y, wanted=4)
    space = room - 3 - max(map(len, axis.labels))
    jump = -(-len(plot.classes) // space)
    classes = plot.classes[::jump]
    layers = [_sums(layer.counts, jump) for layer in plot.layers]
    each = max(1, min(8, space // len(classes)))
    gap = 1 if each > 2 else 0
    rows = [
        "".join(
            _column_cell([layer[place] / axis.high for layer in layers], row, each - gap, pen) + " " * gap
            for place in range(len(classes))
        )
        for row in range(COLUMN_HEIGHT - 1, -1, -1)
    ]
    width = each * len(classes)
    rows.append(pen.signs.axis * (width - gap))
    places = [max(0, min(width - 1, int(mark.at / jump * each))) for mark in plot.marks]
    yield from _frame(plot, rows, axis, _class_labels(classes, each, space, pen), places, room=room, pen=pen)


def _column_cell(layers: Sequence[float], row: int, width: int, pen: _Pen) -> str:
    """Return a cell of a column (`row` counts from the bottom): the layer at its middle, or the tip."""
    up, reached = pen.signs.up, 0.0
    steps = len(up) - 1
    for number, share in enumerate(layers):
        reached += share * COLUMN_HEIGHT
        if reached >= row + 0.5 and (number < len(layers) - 1 or reached >= row + 1):
            return pen.fill(number, _tone(number), width)
    top = max((number for number, share in enumerate(layers) if share), default=0)
    filled = max(0, min(steps, round((reached - row) * steps)))
    if not filled and row == 0 and reached > 0:
        filled = 1
    return pen.paint(up[filled] * width, _tone(top)) if filled else " " * width


def _class_labels(classes: Sequence[str], each: int, space: int, pen: _Pen) -> str:
    """Return the labels of the classes below their columns, or every n-th where they are too long."""
    plain = [pen.plain(name) for name in classes]
    jump = max(1, -(-(max(map(display_width, plain)) + 1) // each))
    line = ""
    for place in range(0, len(plain), jump):
        if place * each + display_width(plain[place]) <= space:
            line = pad(line, place * each) + plain[place]
    return line


def _strip(plot: Strip, room: int, pen: _Pen) -> Iterator[str]:
    space = room - 2
    jump = -(-len(plot.cells) // space)
    counts = _sums([count for _, count in plot.cells], jump)
    each = max(1, min(3, space // len(counts)))
    shades, most = pen.signs.shades, max(counts)
    levels = [max(1, int(-(-count * (len(shades) - 1) // most))) if count else 0 for count in counts]
    yield f"  {pen.paint(''.join(shades[level] * each for level in levels), _tone(0))}"
    first, last = pen.plain(plot.cells[0][0]), pen.plain(plot.cells[-1][0])
    blank = each * len(counts) - display_width(first) - display_width(last)
    yield f"  {first}{' ' * blank}{last}" if blank > 0 else f"  {pen.cut(f'{first} to {last}', space)}"
    together = "" if jump == 1 else f", {jump} of them together"
    legend = f"{shades[-1]} {format_count(most)} {plot.unit} in a {plot.category}{together}"
    yield f"  {pen.cut(legend, space)}"


def _sums(values: Sequence[float], jump: int) -> list[float]:
    """Return sums of `jump` neighbours each."""
    return [sum(values[place : place + jump]) for place in range(0, len(values), jump)]


def _curves(plot: Curves, room: int, pen: _Pen) -> Iterator[str]:
    y = axis_range(plot.ys, plot.y, wanted=4)
    x = axis_range(plot.xs, plot.x, wanted=5)
    has_names = len(plot.lines) > 1 or (plot.joined and plot.lines[0].name)
    names = [_line_name(line.name, number, pen) for number, line in enumerate(plot.lines) if has_names]
    right = min(room // 3, max((display_width(pen.plain(name)) for name in names), default=0) + 1)
    width = max(10, room - 3 - max(map(len, y.labels)) - right)
    ends = sorted(
        (1 - y.share(plot.lines[number].points[-1][1]), name, number)
        for number, name in enumerate(names)
        if name and plot.lines[number].points
    )
    places = spread([round((HEIGHT - 1) * down) for down, _, _ in ends], gap=1, low=0, high=HEIGHT - 1)
    rows = _curve_rows(plot, x, y, width, pen)
    for place, (_, name, number) in zip(places, ends, strict=True):
        if place is not None:
            rows[round(place)] += f" {pen.paint(pen.cut(name, right - 1), _tone(number))}"
    rows.append(pen.signs.axis * width)
    marks = [min(width - 1, int(x.share(mark.at) * width)) for mark in plot.marks]
    yield from _frame(plot, rows, y, _tick_line(x, width), marks, room=room, pen=pen)
    if hidden := [name for place, (_, name, _) in zip(places, ends, strict=True) if place is None]:
        yield f"  {pen.cut('also: ' + ', '.join(hidden), room - 2)}"


def _line_name(name: str, number: int, pen: _Pen) -> str:
    return f"{LINE_SIGNS[number % len(LINE_SIGNS)]} {name}" if pen.signs.is_ascii else name


def _curve_rows(plot: Curves, x: Range, y: Range, width: int, pen: _Pen) -> list[str]:
    """Return the rows of cells, painted: braille dots, or in ASCII the sign of the last line in a cell."""
    across, down = (1, 1) if pen.signs.is_ascii else (2, 4)
    cells: dict[tuple[int, int], tuple[int, int]] = {}
    for number, line in enumerate(plot.lines):
        dots = [
            (
                round(x.share(at) * (width * across - 1)),
                round((1 - y.share(value)) * (HEIGHT * down - 1)),
            )
            for at, value in line.points
        ]
        for column, row in _interpolate(dots) if plot.joined else dots:
            cell = column // across, row // down
            bits, _ = cells.get(cell, (0, number))
            cells[cell] = bits | _DOTS[column % across][row % down], number
    levels = {round((HEIGHT - 1) * (1 - y.share(level.at))) for level in plot.levels}

    def sign(column: int, row: int) -> tuple[Tone | None, str]:
        if (column, row) not in cells:
            return None, pen.signs.level if row in levels and column % 2 == 0 else " "
        bits, number = cells[column, row]
        ascii_sign = LINE_SIGNS[number % len(LINE_SIGNS)]
        return _tone(number), ascii_sign if pen.signs.is_ascii else chr(BRAILLE + bits)

    rows = []
    for row in range(HEIGHT):
        row_text = ""
        for tone, group in groupby((sign(column, row) for column in range(width)), key=itemgetter(0)):
            text = "".join(one for _, one in group)
            row_text += pen.paint(text, tone) if tone else text
        rows.append(row_text)
    return rows


def _interpolate(dots: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the dots on the straight lines between the dots."""
    yield from dots[:1]
    for (column, row), (to_column, to_row) in pairwise(dots):
        steps = max(abs(to_column - column), abs(to_row - row), 1)
        for step in range(1, steps + 1):
            part = step / steps
            yield round(column + (to_column - column) * part), round(row + (to_row - row) * part)


def _tick_line(axis: Range, width: int) -> str:
    """Return the labels of an axis below their positions, without those that would touch another."""
    line = ""
    for tick, label in zip(axis.ticks, axis.labels, strict=True):
        begin = round(axis.share(tick) * (width - 1) - (len(label) - 1) / 2)
        begin = max(0, min(width - len(label), begin))
        if not line or begin > len(line):
            line = pad(line, begin) + label
    return line
