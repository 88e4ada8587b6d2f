"""Draw plots as SVG that is legible on light and dark backgrounds, with texts for screen readers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragmem.charts.model import TONES, Axis, Columns, Curves, Mark, Plot, Row, Sheet, Stacks, Strip
from ragmem.charts.svg_parts import (
    EDGE,
    LETTER,
    LINE,
    SMALL,
    document,
    escape_xml,
    text_element,
    text_width,
    title_element,
)
from ragmem.charts.ticks import Range, axis_range, format_count, spread
from ragmem.charts.widths import wrap

WIDTH = 480
"""Pixels of a plot: its text is still legible on a phone."""

INSIDE = WIDTH - 2 * EDGE

HEAD = 30
"""Pixels above a plot for its title."""

GAP = 24
"""Pixels between the plots of a sheet, and around it."""

HEIGHT = 180
"""Pixels from the lowest to the highest value."""

LABELS = 0.34
"""Largest share of the width for names at the ends of lines."""

FOOT = 2 * LINE + 4
"""Pixels below the axis for its labels and its name."""

ROW = 22
"""Pixels of a bar with its name."""

CELLS = 27
"""Cells of a strip in a row: half a year of weeks."""

FAINTEST = 0.15
"""Opacity of the cell with the lowest count above 0."""

DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "12 4")
"""Dash patterns of lines, because colour alone must not carry meaning."""

Drawing = tuple[list[str], float]
"""Elements, and the y where they end."""


def svg(plot: Plot, *, name: str = "plot") -> str:
    """Return a complete document with title, note and style, for a file."""
    body, bottom = _picture(plot)
    summary = plot.note or plot.title
    return document(body, WIDTH, int(bottom + EDGE), title=plot.title, summary=summary, name=name) + "\n"


def inline(plot: Plot, *, name: str) -> str:
    """Return the element for an HTML page that has `svg_parts.VARIABLES` and `svg_parts.STYLE`.

    `name` must be unique on the page: ids begin with it. The page shows title and note, the element does not.
    """
    body, bottom = _plot(plot, 2.0)
    summary = plot.note or plot.title
    return document(body, WIDTH, int(bottom + EDGE), title=plot.title, summary=summary, name=name, style="")


def sheet_svg(sheet: Sheet) -> str:
    """Return a complete document with the plots in two columns, each added to the shorter one."""
    width = 2 * WIDTH + 3 * GAP
    summary = list(wrap(sheet.summary, int((width - 2 * GAP) / SMALL)))
    body = [title_element(sheet.title, width - 2 * GAP, left=GAP, top=GAP / 2)]
    y = GAP / 2 + 22
    for line in summary:
        y += LINE
        body.append(text_element(GAP, y, line, room=width - 2 * GAP))
    bottoms = [y + GAP, y + GAP]
    for plot in sheet.plots:
        column = 0 if bottoms[0] <= bottoms[1] else 1
        elements, bottom = _picture(plot)
        x = GAP + column * (WIDTH + GAP)
        body += [
            f'<g transform="translate({x} {bottoms[column]:.1f})"><title>{escape_xml(plot.title)}</title>',
            *elements,
            "</g>",
        ]
        bottoms[column] += bottom + GAP
    height = int(max(bottoms))
    return document(body, width, height, title=sheet.title, summary=sheet.summary, name="sheet") + "\n"


def _picture(plot: Plot) -> Drawing:
    """Return a plot with its title and its note."""
    body, bottom = _plot(plot, float(HEAD))
    body.insert(0, title_element(plot.title, INSIDE))
    for line in wrap(plot.note, int(INSIDE / SMALL)):
        bottom += LINE
        body.append(text_element(EDGE, bottom - 3, line, room=INSIDE))
    return body, bottom


def _plot(plot: Plot, top: float) -> Drawing:
    if plot.missing:
        return [text_element(EDGE, top + 14, plot.missing, room=INSIDE)], top + 20
    if isinstance(plot, Curves):
        return _curves(plot, top)
    if isinstance(plot, Columns):
        return _columns(plot, top)
    if isinstance(plot, Stacks):
        return _stacks(plot, top)
    return _strip(plot, top)


@dataclass(frozen=True, slots=True)
class _Box:
    """The area of the values; y points down."""

    left: float
    top: float
    right: float

    @property
    def bottom(self) -> float:
        return self.top + HEIGHT

    @property
    def width(self) -> float:
        return self.right - self.left

    def x(self, share: float) -> float:
        """Return the x of a share of the way from left to right."""
        return self.left + share * self.width

    def y(self, share: float) -> float:
        """Return the y of a share of the way from the bottom to the top."""
        return self.bottom - share * HEIGHT


def _box(y: Range, top: float, right: float) -> _Box:
    return _Box(EDGE + max(map(text_width, y.labels)) + 8, top + 2 * LINE - 6, WIDTH - EDGE - max(right, 8.0))


def _curves(plot: Curves, top: float) -> Drawing:
    y = axis_range(plot.ys, plot.y, wanted=5)
    x = axis_range(plot.xs, plot.x, wanted=6)
    names = [line.name for line in plot.lines if line.points] if plot.joined else []
    right = min(WIDTH * LABELS, max(map(text_width, names), default=0.0) + 10)
    box = _box(y, top, right)
    marks, bottom = _marks(plot.marks, [box.x(x.share(mark.at)) for mark in plot.marks], box)
    elements = [*_y_axis(y, plot.y, box), *_x_axis(x, plot.x, box), *marks]
    for number, line in enumerate(plot.lines):
        places = [(box.x(x.share(at)), box.y(y.share(value))) for at, value in line.points]
        elements += _line_path(places, line.name, number) if plot.joined else _points(plot, number, places)
    elements += _levels(plot, y, box)
    if plot.joined:
        return [*elements, *_end_names(plot, y, box, right)], bottom
    legend, bottom = _legend([line.name for line in plot.lines], range(len(plot.lines)), bottom)
    return elements + legend, bottom


def _columns(plot: Columns, top: float) -> Drawing:
    elements, begin = _legend([layer.name for layer in plot.layers], range(len(plot.layers)), top)
    y = axis_range([0.0, *plot.totals], plot.y, wanted=4)
    box = _box(y, begin, 0.0)
    elements += _y_axis(y, plot.y, box)
    each = box.width / len(plot.classes)
    gap = min(3.0, each * 0.15)
    for place, name in enumerate(plot.classes):
        counts = ", ".join(
            f"{layer.name} {format_count(layer.counts[place])}"
            for layer in plot.layers
            if layer.counts[place]
        )
        elements.append(f"<g><title>{escape_xml(f'{name}: {counts or 0}')}</title>")
        base = box.bottom
        for number, layer in enumerate(plot.layers):
            if high := layer.counts[place] / y.high * HEIGHT:
                shown = max(1.0, high)
                at = box.left + place * each + gap / 2
                size = f'width="{each - gap:.1f}" height="{shown:.1f}"'
                elements.append(_rect(number, at, max(box.top, base - shown), size))
            base -= high
        elements.append("</g>")
    elements += _class_names(plot, box, each)
    xs = [box.x(min(1.0, max(0.0, mark.at / len(plot.classes)))) for mark in plot.marks]
    marks, bottom = _marks(plot.marks, xs, box)
    return elements + marks, bottom


def _stacks(plot: Stacks, top: float) -> Drawing:
    colours = [TONES.index(tone) for tone in plot.tones] or range(len(plot.parts))
    elements, begin = _legend(plot.parts, colours, top)
    name = min(INSIDE * 0.38, max(text_width(row.label) * LETTER / SMALL for row in plot.rows) + 8)
    numbers = max(text_width(format_count(total)) for total in plot.totals) + 10
    notes = min(INSIDE * 0.25, max(text_width(row.note) for row in plot.rows))
    left = EDGE + name + numbers
    room = max(40.0, WIDTH - EDGE - left - (notes + 8 if notes else 0))
    for number, (row, total) in enumerate(zip(plot.rows, plot.totals, strict=True)):
        y = begin + number * ROW
        counts = ", ".join(
            f"{format_count(count)} {part}"
            for part, count in zip(plot.parts, row.counts, strict=True)
            if count
        )
        elements += [
            f"<g><title>{escape_xml(f'{row.label}: {counts or 0}')}</title>",
            text_element(EDGE, y + 14, row.label, classes="name", room=name - 4),
            text_element(left - 8, y + 14, format_count(total), classes="end", room=numbers),
            f'<rect class="track" x="{left:.1f}" y="{y + 4:.1f}" width="{room:.1f}" height="13" rx="2"/>',
            *_bar(row, colours, left, y + 4, room / max(plot.totals)),
            *([text_element(left + room + 6, y + 14, row.note, room=notes)] if row.note else []),
            "</g>",
        ]
    return elements, begin + len(plot.rows) * ROW + 2


def _strip(plot: Strip, top: float) -> Drawing:
    most = max(count for _, count in plot.cells)
    side = INSIDE / CELLS
    extent = f'width="{side - 2:.1f}" height="{side - 2:.1f}"'
    elements: list[str] = []
    y = top + 2
    for begin in range(0, len(plot.cells), CELLS):
        row = plot.cells[begin : begin + CELLS]
        for place, (label, count) in enumerate(row):
            opacity = FAINTEST + (1 - FAINTEST) * count / most
            shown = f'class="f0" fill-opacity="{opacity:.2f}"' if count else 'class="track"'
            elements.append(
                f'<rect {shown} x="{EDGE + place * side:.1f}" y="{y:.1f}" {extent} rx="2">'
                f"<title>{escape_xml(f'{label}: {format_count(count)} {plot.unit}')}</title></rect>"
            )
        y += side + 11
        half = WIDTH / 2 - EDGE - SMALL
        first, last, end = row[0][0], row[-1][0], EDGE + len(row) * side - 2
        elements.append(text_element(EDGE, y, first, room=half if len(row) > 1 else INSIDE))
        if len(row) > 1 and end - EDGE > text_width(first) + text_width(last) + SMALL:
            elements.append(text_element(end, y, last, classes="end", room=half))
        y += 8
    strongest = f"strongest: {format_count(most)} {plot.unit} in a {plot.category}"
    return [*elements, text_element(EDGE, y + LINE - 4, strongest, room=INSIDE)], y + LINE


def _rect(colour: int, x: float, y: float, size: str) -> str:
    return f'<rect class="f{colour % len(TONES)}" x="{x:.1f}" y="{y:.1f}" {size}/>'


def _bar(row: Row, colours: Sequence[int], left: float, y: float, scale: float) -> Iterator[str]:
    """Yield the parts of a bar, a pixel apart; any count above 0 is visible."""
    for colour, count in zip(colours, row.counts, strict=True):
        if count:
            width = count * scale
            shown = max(1.0, width - 1) if width > 3 else max(0.5, width)
            yield _rect(colour, left, y, f'width="{shown:.1f}" height="13"')
            left += width


def _legend(names: Sequence[str], colours: Sequence[int], top: float) -> Drawing:
    """Return the names beside their colours; nothing for a single name."""
    if len(names) < 2:
        return [], top
    elements: list[str] = []
    x, y = float(EDGE), top + 11
    for colour, name in zip(colours, names, strict=True):
        room = 16 + text_width(name)
        if x > EDGE and x + room > WIDTH - EDGE:
            x, y = float(EDGE), y + LINE + 3
        elements += [
            _rect(colour, x, y - 9, 'width="10" height="10" rx="2"'),
            text_element(x + 15, y, name, room=WIDTH - EDGE - x - 15),
        ]
        x += room + 14
    return elements, y + 8


def _y_axis(axis: Range, names: Axis, box: _Box) -> Iterator[str]:
    """Yield the axis at the left, with a line through the plot for each tick."""
    yield text_element(EDGE, box.top - 10, names.label, room=INSIDE)
    for tick, label in zip(axis.ticks, axis.labels, strict=True):
        y = box.y(axis.share(tick))
        yield f'<path class="grid" d="M{box.left:.1f} {y:.1f}H{box.right:.1f}"/>'
        yield text_element(box.left - 6, y + 4, label, classes="end", room=box.left - 6)


def _x_axis(axis: Range, names: Axis, box: _Box) -> Iterator[str]:
    """Yield the axis below the plot, without labels that would touch another."""
    yield f'<path class="axis" d="M{box.left:.1f} {box.bottom:.1f}H{box.right:.1f}"/>'
    reached = 0.0
    for tick, label in zip(axis.ticks, axis.labels, strict=True):
        half = text_width(label) / 2
        x = box.x(axis.share(tick))
        middle = max(EDGE + half, min(WIDTH - EDGE - half, x))
        if middle - half >= reached:
            reached = middle + half + SMALL
            yield f'<path class="axis" d="M{x:.1f} {box.bottom:.1f}v4"/>'
            yield text_element(middle, box.bottom + LINE, label, classes="middle", room=WIDTH)
    yield text_element(box.left, box.bottom + 2 * LINE, names.label, room=WIDTH - EDGE - box.left)


def _class_names(plot: Columns, box: _Box, each: float) -> Iterator[str]:
    yield f'<path class="axis" d="M{box.left:.1f} {box.bottom:.1f}H{box.right:.1f}"/>'
    longest = max(map(text_width, plot.classes)) + SMALL
    jump = max(1, int(-(-longest // each)))
    for place in range(0, len(plot.classes), jump):
        name = plot.classes[place]
        x = box.left + place * each
        if jump == 1 or plot.from_edges:
            half = text_width(name) / 2
            middle = x if plot.from_edges else x + each / 2
            middle = max(EDGE + half, min(WIDTH - EDGE - half, middle))
            if plot.from_edges:
                yield f'<path class="axis" d="M{x:.1f} {box.bottom:.1f}v4"/>'
            yield text_element(middle, box.bottom + LINE, name, classes="middle", room=longest)
        elif x + text_width(name) <= WIDTH - EDGE:
            yield text_element(x, box.bottom + LINE, name, room=WIDTH)
    if plot.x.label:
        yield text_element(box.left, box.bottom + 2 * LINE, plot.x.label, room=WIDTH - EDGE - box.left)


def _marks(marks: Sequence[Mark], xs: Sequence[float], box: _Box) -> Drawing:
    """Return a dashed line down through the plot for each mark, with its label on the side that has room."""
    elements: list[str] = []
    y = box.bottom + FOOT
    for x, mark in sorted(zip(xs, marks, strict=True), key=lambda one: one[1].at):
        y += LINE
        right = x + 6 + text_width(mark.label) <= WIDTH - EDGE or x < WIDTH / 2
        room = WIDTH - EDGE - x - 6 if right else x - 6 - EDGE
        classes = "halo" if right else "halo end"
        elements += [
            f'<path class="mark" d="M{x:.1f} {box.top:.1f}V{y - 4:.1f}"/>',
            text_element(x + 5 if right else x - 5, y - 4, mark.label, classes=classes, room=room),
        ]
    return elements, y


def _levels(plot: Curves, y: Range, box: _Box) -> Iterator[str]:
    """Yield the marked heights, with labels below them if there is room, where less is drawn."""
    for level in plot.levels:
        at = box.y(y.share(level.at))
        line = at + LINE - 3 if at + LINE <= box.bottom else at - 4
        yield f'<path class="mark" d="M{box.left:.1f} {at:.1f}H{box.right:.1f}"/>'
        yield text_element(box.right - 4, line, level.label, classes="halo end", room=box.width - 8)


def _line_path(places: Sequence[tuple[float, float]], name: str, number: int) -> Iterator[str]:
    if not places:
        return
    way = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dash = DASHES[number % len(DASHES)]
    broken = f' stroke-dasharray="{dash}"' if dash else ""
    # A single point becomes a dot: a short line with round ends.
    ends, cap = ("", "butt") if len(places) > 1 else ("h0.1", "round")
    yield (
        f'<path class="line l{number % len(TONES)}"{broken} stroke-linecap="{cap}"'
        f' d="M{way}{ends}"><title>{escape_xml(name)}</title></path>'
    )


def _points(plot: Curves, number: int, places: Sequence[tuple[float, float]]) -> Iterator[str]:
    for (x, y), (at, value) in zip(places, plot.lines[number].points, strict=True):
        title = f"{plot.x.title} {format_count(at)}: {format_count(value)} {plot.y.title}"
        yield (
            f'<circle class="f{number % len(TONES)}" cx="{x:.1f}" cy="{y:.1f}" r="3.2">'
            f"<title>{escape_xml(title)}</title></circle>"
        )


def _end_names(plot: Curves, y: Range, box: _Box, right: float) -> Iterator[str]:
    """Yield the names of lines beside their ends, moved so that none touches another."""
    named = [(number, line) for number, line in enumerate(plot.lines) if line.points and line.name]
    wanted = [box.y(y.share(line.points[-1][1])) for _, line in named]
    places = spread(wanted, gap=LINE - 2, low=box.top + 4, high=box.bottom)
    for (number, line), place in zip(named, places, strict=True):
        if place is not None:
            classes = f"f{number % len(TONES)}"
            yield text_element(box.right + 6, place + 3, line.name, classes=classes, room=right - 4)
