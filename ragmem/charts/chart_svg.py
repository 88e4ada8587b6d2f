"""Draw a sheet of charts as one SVG document that can be read on light and on dark ground."""

from collections.abc import Sequence
from dataclasses import dataclass

from ragmem.charts.chart_lines import shares, wrapped
from ragmem.charts.charts import Bar, Bars, Chart, Histogram, Mark, Parts, Sheet
from ragmem.charts.palette import DARK, LIGHT, TONES
from ragmem.charts.svg_text import xml
from ragmem.charts.widths import fitted, letters

WIDTH, EDGE, GAP = 920, 28, 24
"""Pixels: the whole picture, around everything, between two charts."""

COLUMN = (WIDTH - 2 * EDGE - GAP) // 2
"""Pixels of one of the two columns."""

LETTER, SMALL = 7.4, 6.3
"""Pixels of a monospaced letter at 12 and at 10 pixels: the widest of the usual fonts, so nothing is cut."""

HEAD, TITLE, ROW, LINE = 78, 26, 22, 15
"""Pixels: above the charts, of a chart's title, of a bar with its name, of a line of small print."""

PLOT = 96
"""Pixels: height of a histogram."""


def _fills(colours: Sequence[str], indent: str = "") -> str:
    return "".join(
        f"{indent}.{tone} {{ fill: {colour} }}\n" for tone, colour in zip(TONES, colours, strict=True)
    )


_STYLE = """\
:root { color-scheme: light dark }
text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2328 }
.ground { fill: #ffffff }
.title { font-size: 17px; font-weight: 600 }
.name { font-size: 13px; font-weight: 600 }
.small { font-size: 10px; fill: #59636e }
.end { text-anchor: end }
.halo { stroke: #ffffff; stroke-width: 4px; paint-order: stroke }
.track { fill: #eef1f4 }
.axis, .mark { stroke: #8c959f; fill: none }
.mark { stroke: #bc4c00; stroke-dasharray: 3 3 }
"""
_STYLE += _fills(LIGHT)
_STYLE += """\
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .ground { fill: #0d1117 }
  .small { fill: #9198a1 }
  .halo { stroke: #0d1117 }
  .track { fill: #1c2128 }
  .axis { stroke: #656c76 }
  .mark { stroke: #f0883e }
"""
_STYLE += f"{_fills(DARK, '  ')}}}\n"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a chart is drawn: its upper left corner, and how wide."""

    left: int
    top: int
    wide: int


def svg(sheet: Sheet) -> str:
    """Return a standalone document: charts in two columns, each below the shorter one so far.

    The first chart stands over both columns. No text is wider than its place.
    """
    bottoms = [HEAD, HEAD]
    drawn: list[str] = []
    for number, chart in enumerate(sheet.charts):
        if number == 0:
            column, place = 0, _Place(EDGE, HEAD, WIDTH - 2 * EDGE)
        else:
            column = 0 if bottoms[0] <= bottoms[1] else 1
            place = _Place(EDGE + column * (COLUMN + GAP), bottoms[column], COLUMN)
        lines, high = _chart(chart, place)
        drawn += [f"<g><title>{xml(chart.title)}</title>", *lines, "</g>"]
        bottom = place.top + high + GAP
        bottoms[column] = bottom
        if number == 0:
            bottoms = [bottom, bottom]
    height = max(bottoms) - GAP + EDGE
    extent = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    told = list(wrapped(sheet.told, int((WIDTH - 2 * EDGE) / SMALL)))[:2]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {extent} role="img" aria-labelledby="name told">',
            f'<title id="name">{xml(sheet.title)}</title>',
            f'<desc id="told">{xml(sheet.told)}</desc>',
            f"<style>\n{_STYLE}</style>",
            '<rect class="ground" width="100%" height="100%"/>',
            f'<text class="title" x="{EDGE}" y="34">{xml(fitted(sheet.title, 80))}</text>',
            *(
                f'<text class="small" x="{EDGE}" y="{52 + row * 13}">{xml(line)}</text>'
                for row, line in enumerate(told)
            ),
            *drawn,
            "</svg>",
            "",
        ]
    )


def _chart(chart: Chart, place: _Place) -> tuple[list[str], int]:
    """Return the elements of a chart, and how high it is."""
    left, top, wide = place.left, place.top, place.wide
    lines = [f'<text class="name" x="{left}" y="{top + 14}">{xml(fitted(chart.title, int(wide / 8)))}</text>']
    begin = top + TITLE
    below = _Place(left, begin, wide)
    if isinstance(chart, Parts):
        body, high = _parts(chart.bars, below)
    elif isinstance(chart, Bars):
        body, high = _bars(chart.bars, below)
    else:
        body, high = _histogram(chart, below)
    lines += body
    y = begin + high
    for line in wrapped(chart.note, int(wide / SMALL)):
        y += LINE
        lines.append(f'<text class="small" x="{left}" y="{y - 3}">{xml(line)}</text>')
    return lines, y - top


def _parts(bars: Sequence[Bar], place: _Place) -> tuple[list[str], int]:
    left, top, wide = place.left, place.top, place.wide
    lines = [f'<rect class="track" x="{left}" y="{top}" width="{wide}" height="26" rx="5"/>']
    x = left
    for bar, pixels in zip(bars, shares([bar.value for bar in bars], wide), strict=True):
        if pixels:
            told = f"{bar.label}: {bar.value:,}"
            lines.append(
                f'<rect class="{bar.tone}" x="{x}" y="{top}" width="{max(1, pixels - 1)}" height="26">'
                f"<title>{xml(told)}</title></rect>"
            )
        x += pixels
    x, y = left, top + 26 + ROW
    for bar in bars:
        told = f"{bar.label} {bar.value:,}" + (f" ({bar.note})" if bar.note else "")
        told = fitted(told, int((wide - 16) / LETTER))
        room = 16 + int(letters(told) * LETTER) + 18
        if x > left and x + room - 18 > left + wide:
            x, y = left, y + ROW
        lines += [
            f'<rect class="{bar.tone}" x="{x}" y="{y - 10}" width="10" height="10" rx="2"/>',
            f'<text x="{x + 16}" y="{y}">{xml(told)}</text>',
        ]
        x += room
    return lines, y + 6 - top


def _bars(bars: Sequence[Bar], place: _Place) -> tuple[list[str], int]:
    left, top, wide = place.left, place.top, place.wide
    name = min(int(wide * 0.42), int(max((letters(bar.label) for bar in bars), default=0) * LETTER) + 10)
    numbers = int(max((len(f"{bar.value:,}") for bar in bars), default=0) * LETTER) + 10
    notes = int(max((letters(bar.note) for bar in bars), default=0) * SMALL) + 8
    begin = left + name + numbers
    room = max(60, wide - name - numbers - notes)
    most = max((bar.value for bar in bars), default=0) or 1
    lines = []
    for row, bar in enumerate(bars):
        y = top + row * ROW
        long = max(2, round(bar.value / most * room)) if bar.value else 0
        label = fitted(bar.label, int((name - 8) / LETTER))
        note = fitted(bar.note, int((left + wide - begin - room - 6) / SMALL))
        lines += [
            f"<g><title>{xml(f'{bar.label}: {bar.value:,} {bar.note}'.strip())}</title>",
            f'<text x="{left}" y="{y + 13}">{xml(label)}</text>',
            f'<text class="end" x="{begin - 8}" y="{y + 13}">{bar.value:,}</text>',
            f'<rect class="track" x="{begin}" y="{y + 3}" width="{room}" height="13" rx="3"/>',
            f'<rect class="{bar.tone}" x="{begin}" y="{y + 3}" width="{long}" height="13" rx="3"/>',
            *(
                [f'<text class="small" x="{begin + room + 6}" y="{y + 13}">{xml(note)}</text>']
                if note
                else []
            ),
            "</g>",
        ]
    return lines, len(bars) * ROW


def _histogram(chart: Histogram, place: _Place) -> tuple[list[str], int]:
    left, top, wide = place.left, place.top, place.wide
    classes, most = len(chart.counts), max(chart.counts, default=0) or 1
    if not classes or chart.high <= chart.low:
        return [], 0
    base = top + PLOT
    lines = []
    for number, count in enumerate(chart.counts):
        high = max(1.0, count / most * (PLOT - 8)) if count else 0.0
        start, end = (chart.low + (chart.high - chart.low) * at / classes for at in (number, number + 1))
        x, after = (left + wide * at / classes for at in (number, number + 1))
        lines.append(
            f'<rect class="plain" x="{x:.1f}" y="{base - high:.1f}" width="{max(1.0, after - x - 1):.1f}"'
            f' height="{high:.1f}"><title>{start:.2f} to {end:.2f}: {count:,}</title></rect>'
        )
    lines.append(f'<path class="axis" d="M{left} {base}H{left + wide}"/>')
    y = base + LINE
    lines += [
        f'<text class="small" x="{left}" y="{y}">{chart.low:.2f}</text>',
        f'<text class="small end" x="{left + wide}" y="{y}">{chart.high:.2f}</text>',
    ]
    marks = sorted(chart.marks, key=lambda mark: mark.at)
    rows = [y + LINE * row for row in range(1, len(marks) + 1)]
    xs = [
        left + wide * max(0.0, min(1.0, (mark.at - chart.low) / (chart.high - chart.low))) for mark in marks
    ]
    lines += [f'<path class="mark" d="M{x:.1f} {top}V{row}"/>' for x, row in zip(xs, rows, strict=True)]
    for mark, x, row in zip(marks, xs, rows, strict=True):
        lines.append(_told(mark, x, row, place))
    return lines, y + LINE * len(marks) - top + 6


def _told(mark: Mark, x: float, y: int, place: _Place) -> str:
    """Return what a mark means, on the side of it that has room."""
    told, end = f"{mark.at:.2f} {mark.label}", place.left + place.wide
    rightward = x + 6 + letters(told) * SMALL <= end or x < place.left + place.wide / 2
    told = fitted(told, int((end - x if rightward else x - place.left - 6) / SMALL))
    side = f'class="small halo" x="{x + 5:.1f}"' if rightward else f'class="small end halo" x="{x - 5:.1f}"'
    return f'<text {side} y="{y}">{xml(told)}</text>'
