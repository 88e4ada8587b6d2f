"""Curves and columns over two axes, as elements of a picture."""

from collections.abc import Iterator

from ragmem.charts.plots.frame import (
    EDGE,
    LINE,
    WIDTH,
    Box,
    legend,
    pointed,
    rightward,
    text,
    upward,
    wide_of,
)
from ragmem.charts.plots.model import Columns, Curves
from ragmem.charts.plots.spreading import spread
from ragmem.charts.plots.style import DASHES, SERIES, SMALL
from ragmem.charts.plots.ticks import Range, ranged, whole
from ragmem.charts.svg_text import xml

HEIGHT = 180
"""Pixels from the lowest to the highest value."""

LABELS = 0.34
"""Share of the width that names at the ends of lines may take."""

FOOT = 2 * LINE + 4
"""Pixels below the axis for its labels and its name."""


def curves_drawn(plot: Curves, top: float) -> tuple[list[str], float]:
    """Return the elements of lines or points with both axes and marks, and where they end."""
    if not any(line.points for line in plot.lines):
        return [text(EDGE, top + 14, f"no {plot.y.title}")], top + 20
    heights = [y for line in plot.lines for _, y in line.points] + [level.at for level in plot.levels]
    y = ranged(heights, plot.y, wanted=5)
    x = ranged([x for line in plot.lines for x, _ in line.points], plot.x, wanted=6)
    names = [line.name for line in plot.lines if line.points] if plot.joined else []
    right = min(WIDTH * LABELS, max(map(wide_of, names), default=0.0) + 10)
    box = _box(y, top + 2 * LINE - 6, right)
    drawn = [*upward(y, plot.y, box), *rightward(x, plot.x, box)]
    bottom = box.bottom + FOOT
    for mark in sorted(plot.marks, key=lambda mark: mark.at):
        bottom += LINE
        drawn += pointed(box.x(x.share(mark.at)), mark.label, bottom - 4, box)
    for number, line in enumerate(plot.lines):
        places = [(box.x(x.share(at)), box.y(y.share(value))) for at, value in line.points]
        drawn += _joined(places, line.name, number) if plot.joined else _single(plot, number, places)
    drawn += _levels(plot, y, box)
    drawn += _ends(plot, y, box, right)
    if not plot.joined:
        shown, after = legend([line.name for line in plot.lines], bottom)
        drawn, bottom = [*drawn, *shown], after
    return drawn, bottom


def _levels(plot: Curves, y: Range, box: Box) -> Iterator[str]:
    """Yield the marked heights; what they mean stands below them, where less is drawn, if there is room."""
    for level in plot.levels:
        at = box.y(y.share(level.at))
        line = at + LINE - 3 if at + LINE <= box.bottom else at - 4
        yield f'<path class="mark" d="M{box.left:.1f} {at:.1f}H{box.right:.1f}"/>'
        yield text(box.right - 4, line, level.label, classes="halo end", room=box.wide - 8)


def _box(y: Range, top: float, right: float) -> Box:
    return Box(EDGE + max(map(wide_of, y.labels)) + 8, top, WIDTH - EDGE - max(right, 8.0), top + HEIGHT)


def _joined(places: list[tuple[float, float]], name: str, number: int) -> Iterator[str]:
    if not places:
        return
    way = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dash = DASHES[number % len(DASHES)]
    broken = f' stroke-dasharray="{dash}"' if dash else ""
    ends = "" if len(places) > 1 else "h0.1"
    yield (
        f'<path class="line l{number % SERIES}"{broken} stroke-linecap="{"round" if ends else "butt"}"'
        f' d="M{way}{ends}"><title>{xml(name)}</title></path>'
    )


def _single(plot: Curves, number: int, places: list[tuple[float, float]]) -> Iterator[str]:
    for (x, y), (at, value) in zip(places, plot.lines[number].points, strict=True):
        told = f"{plot.x.title} {whole(at)}: {whole(value)} {plot.y.title}"
        yield (
            f'<circle class="f{number % SERIES}" cx="{x:.1f}" cy="{y:.1f}" r="3.2">'
            f"<title>{xml(told)}</title></circle>"
        )


def _ends(plot: Curves, y: Range, box: Box, right: float) -> Iterator[str]:
    """Yield the names of lines beside their ends, moved so that none touches another."""
    if not plot.joined:
        return
    named = [(number, line) for number, line in enumerate(plot.lines) if line.points and line.name]
    wanted = [box.y(y.share(line.points[-1][1])) for _, line in named]
    places = spread(wanted, gap=LINE - 2, low=box.top + 4, high=box.bottom)
    for (number, line), place in zip(named, places, strict=True):
        if place is not None:
            yield text(box.right + 6, place + 3, line.name, classes=f"f{number % SERIES}", room=right - 4)


def columns_drawn(plot: Columns, top: float) -> tuple[list[str], float]:
    """Return the elements of columns with both axes and marks, and where they end."""
    totals = plot.totals
    if not any(totals):
        return [text(EDGE, top + 14, f"no {plot.y.title}")], top + 20
    drawn, begin = legend([layer.name for layer in plot.layers], top)
    y = ranged([0.0, *totals], plot.y, wanted=4)
    box = _box(y, begin + 2 * LINE - 6, 0.0)
    drawn += upward(y, plot.y, box)
    each = box.wide / len(plot.classes)
    gap = min(3.0, each * 0.15)
    for place, name in enumerate(plot.classes):
        told = ", ".join(
            f"{layer.name} {whole(layer.counts[place])}" for layer in plot.layers if layer.counts[place]
        )
        drawn.append(f"<g><title>{xml(f'{name}: {told or 0}')}</title>")
        base = box.bottom
        for number, layer in enumerate(plot.layers):
            if high := layer.counts[place] / y.high * box.high:
                shown = max(1.0, high)
                drawn.append(
                    f'<rect class="f{number % SERIES}" x="{box.left + place * each + gap / 2:.1f}"'
                    f' y="{max(box.top, base - shown):.1f}" width="{each - gap:.1f}" height="{shown:.1f}"/>'
                )
            base -= high
        drawn.append("</g>")
    drawn += _class_names(plot, box, each)
    bottom = box.bottom + FOOT
    for mark in sorted(plot.marks, key=lambda mark: mark.at):
        bottom += LINE
        drawn += pointed(box.x(min(1.0, max(0.0, mark.at / len(plot.classes)))), mark.label, bottom - 4, box)
    return drawn, bottom


def _class_names(plot: Columns, box: Box, each: float) -> Iterator[str]:
    yield f'<path class="axis" d="M{box.left:.1f} {box.bottom:.1f}H{box.right:.1f}"/>'
    longest = max(map(wide_of, plot.classes)) + SMALL
    jump = max(1, int(-(-longest // each)))
    for place in range(0, len(plot.classes), jump):
        name = plot.classes[place]
        x = box.left + place * each
        if jump == 1 or plot.from_edges:
            half = wide_of(name) / 2
            middle = x if plot.from_edges else x + each / 2
            middle = max(EDGE + half, min(WIDTH - EDGE - half, middle))
            if plot.from_edges:
                yield f'<path class="axis" d="M{x:.1f} {box.bottom:.1f}v4"/>'
            yield text(middle, box.bottom + LINE, name, classes="middle", room=longest)
        elif x + wide_of(name) <= WIDTH - EDGE:
            yield text(x, box.bottom + LINE, name)
    if plot.x.named:
        yield text(box.left, box.bottom + 2 * LINE, plot.x.named, room=WIDTH - EDGE - box.left)
