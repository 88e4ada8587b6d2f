"""Curves in cells of a terminal: braille where the encoding has it, a letter for each line where not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ragmem.charts.chart_lines import PLAIN, Brush, Paint
from ragmem.charts.charts import Tone
from ragmem.charts.palette import TONES
from ragmem.charts.plots.model import Curves
from ragmem.charts.plots.spreading import spread
from ragmem.charts.plots.ticks import Range, ranged
from ragmem.charts.widths import fitted, letters, padded

HEIGHT = 10
"""Lines of curves."""

SIGNS = "*+ox#%@&=~"
"""Signs of lines where there is no braille."""

BRAILLE = 0x2800
# Which bit of a braille letter stands for the dot of this column and row.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


@dataclass(frozen=True, slots=True)
class Writing:
    """How texts and signs are written: in blocks or in ASCII, with colours or without."""

    brush: Brush
    paint: Paint

    @property
    def ascii_only(self) -> bool:
        """Whether only ASCII can be written."""
        return self.brush == PLAIN

    @property
    def shades(self) -> str:
        """Signs from nothing to all."""
        return " .:+#" if self.ascii_only else " ░▒▓█"

    @property
    def level(self) -> str:
        """The sign of a line from left to right."""
        return "-" if self.ascii_only else "╌"

    def fill(self, number: int) -> str:
        """Return the sign that fills the part of this number."""
        return self.brush.fills[number % len(self.brush.fills)]

    def tone(self, number: int) -> Tone:
        """Return the tone of the part of this number."""
        return TONES[number % len(TONES)]

    def plain(self, text: str) -> str:
        """Return a text in one line that the terminal can show and that cannot drive it."""
        line = "".join(letter if letter.isprintable() else "\ufffd" for letter in " ".join(text.split()))
        return line.encode("ascii", "backslashreplace").decode() if self.ascii_only else line

    def cut(self, text: str, width: int) -> str:
        """Return as much of it as is so wide."""
        # The sign of what was cut before counts as a letter.
        shown = fitted(self.plain(text.replace("…", "~") if self.ascii_only else text), width)
        return shown.replace("…", "~") if self.ascii_only else shown

    def pointed(self, place: int, told: str, space: int) -> str:
        """Return a line with a sign below a place, and what it means on the side that has room."""
        text = self.plain(told)
        if place + 2 + letters(text) <= space or place < space / 2:
            return f"{' ' * place}{self.brush.mark} {self.cut(text, space - place - 2)}"
        text = self.cut(text, place - 1)
        return f"{' ' * (place - letters(text) - 1)}{text} {self.brush.mark}"


@dataclass(slots=True)
class Cells:
    """A line that is made of pieces, each with its tone."""

    pieces: list[tuple[str, Tone | None]] = field(default_factory=list)

    def add(self, text: str, tone: Tone | None = None) -> None:
        """Add a piece; one of the same tone goes on with the one before."""
        if self.pieces and self.pieces[-1][1] == tone:
            self.pieces[-1] = self.pieces[-1][0] + text, tone
        else:
            self.pieces.append((text, tone))

    def painted(self, paint: Paint) -> str:
        """Return the line with its colours."""
        return "".join(paint(text, tone) if tone else text for text, tone in self.pieces)


def curve_rows(plot: Curves, room: int, writing: Writing) -> Iterator[str]:
    """Yield the lines of curves within two axes, with their names at their right ends."""
    if not any(line.points for line in plot.lines):
        yield f"  {writing.cut(f'no {plot.y.title}', room - 2)}"
        return
    y = ranged(
        [*(y for line in plot.lines for _, y in line.points), *(one.at for one in plot.levels)],
        plot.y,
        wanted=4,
    )
    x = ranged([x for line in plot.lines for x, _ in line.points], plot.x, wanted=5)
    gutter = max(map(len, y.labels)) + 1
    names = [_name(plot, number, writing) for number in range(len(plot.lines))] if _named(plot) else []
    told = names
    right = min(room // 3, max((letters(writing.plain(name)) for name in told), default=0) + 1)
    canvas = _Canvas(max(10, room - 2 - gutter - right), HEIGHT, writing)
    for number, line in enumerate(plot.lines):
        canvas.draw([(x.share(at), y.share(value)) for at, value in line.points], number, joined=plot.joined)
    for level in plot.levels:
        canvas.level(y.share(level.at))
    ends = [
        (y.share(line.points[-1][1]), name, number)
        for number, (line, name) in enumerate(zip(plot.lines, names, strict=False))
        if line.points
    ]
    beside = _beside(ends)
    labels = {
        round((HEIGHT - 1) * (1 - y.share(tick))): label
        for tick, label in zip(y.ticks, y.labels, strict=True)
    }
    yield f"  {' ' * gutter}{writing.cut(plot.y.named, room - 2 - gutter)}"
    for row in range(HEIGHT):
        name, number = beside.get(row, ("", -1))
        text = writing.cut(name, right - 1)
        shown = writing.paint(text, writing.tone(number)) if number >= 0 else text
        yield f"  {labels.get(row, '').rjust(gutter - 1)} {canvas.row(row)} {shown}"
    yield f"  {' ' * gutter}{writing.brush.axis * canvas.wide}"
    yield f"  {' ' * gutter}{_tick_line(x, canvas.wide)}"
    yield f"  {' ' * gutter}{writing.cut(plot.x.named, room - 2 - gutter)}"
    for level in plot.levels:
        yield f"  {' ' * gutter}{writing.cut(f'{writing.level} {level.label}', room - 2 - gutter)}"
    for mark in sorted(plot.marks, key=lambda mark: mark.at):
        place = min(canvas.wide - 1, int(x.share(mark.at) * canvas.wide))
        yield f"  {' ' * gutter}{writing.pointed(place, mark.label, room - 2 - gutter)}"
    hidden = [name for _, name, _ in ends if name not in {shown for shown, _ in beside.values()}]
    if hidden:
        yield f"  {writing.cut('also: ' + ', '.join(hidden), room - 2)}"


def _named(plot: Curves) -> bool:
    return len(plot.lines) > 1 or bool(plot.lines and plot.lines[0].name and plot.joined)


def _name(plot: Curves, number: int, writing: Writing) -> str:
    name = plot.lines[number].name
    return f"{SIGNS[number % len(SIGNS)]} {name}" if writing.ascii_only else name


def _beside(ends: Sequence[tuple[float, str, int]]) -> dict[int, tuple[str, int]]:
    """Return row -> the name beside it, each as near to where its line ends as there is a free row."""
    named = sorted((1 - share, name, number) for share, name, number in ends if name)
    rows = spread([round((HEIGHT - 1) * down) for down, _, _ in named], gap=1, low=0, high=HEIGHT - 1)
    return {
        round(row): (name, number)
        for row, (_, name, number) in zip(rows, named, strict=True)
        if row is not None
    }


def _tick_line(axis: Range, wide: int) -> str:
    """Return the labels of an axis below their places; those that would touch another are left out."""
    line = ""
    for tick, label in zip(axis.ticks, axis.labels, strict=True):
        begin = round(axis.share(tick) * (wide - 1) - (len(label) - 1) / 2)
        begin = max(0, min(wide - len(label), begin))
        if not line or begin > len(line):
            line = padded(line, begin) + label
    return line


class _Canvas:
    """Cells that lines are drawn into; each has dots of braille, or the sign of the line that came last."""

    def __init__(self, wide: int, high: int, writing: Writing) -> None:
        self.wide = wide
        self._high = high
        self._writing = writing
        self._across, self._down = (1, 1) if writing.ascii_only else (2, 4)
        self._dots: dict[tuple[int, int], int] = {}
        self._owner: dict[tuple[int, int], int] = {}
        self._levels: set[int] = set()

    def draw(self, points: Sequence[tuple[float, float]], number: int, *, joined: bool) -> None:
        """Draw a line through points; of both axes 0 is the low end, 1 the high one."""
        columns, rows = self.wide * self._across, self._high * self._down
        places = [(round(x * (columns - 1)), round((1 - y) * (rows - 1))) for x, y in points]
        for place in places[:1] if joined else places:
            self._dot(*place, number)
        if joined:
            for begin, end in pairwise(places):
                steps = max(abs(end[0] - begin[0]), abs(end[1] - begin[1]), 1)
                for step in range(1, steps + 1):
                    part = step / steps
                    self._dot(
                        round(begin[0] + (end[0] - begin[0]) * part),
                        round(begin[1] + (end[1] - begin[1]) * part),
                        number,
                    )

    def level(self, share: float) -> None:
        """Draw a line from left to right where nothing else is."""
        self._levels.add(round((self._high - 1) * (1 - share)))

    def _dot(self, column: int, row: int, number: int) -> None:
        cell = column // self._across, row // self._down
        self._dots[cell] = self._dots.get(cell, 0) | _DOTS[column % self._across][row % self._down]
        self._owner[cell] = number

    def row(self, row: int) -> str:
        """Return a row of cells, painted."""
        cells = Cells()
        for column in range(self.wide):
            cell = column, row
            if cell in self._dots:
                number = self._owner[cell]
                sign = (
                    SIGNS[number % len(SIGNS)]
                    if self._writing.ascii_only
                    else chr(BRAILLE + self._dots[cell])
                )
                cells.add(sign, self._writing.tone(number))
            elif row in self._levels and column % 2 == 0:
                cells.add(self._writing.level)
            else:
                cells.add(" ")
        return cells.painted(self._writing.paint)
