"""Bars one below the other, and a strip of cells, as elements of a picture."""

from ragmem.charts.plots.frame import EDGE, LINE, WIDTH, legend, text, wide_of
from ragmem.charts.plots.model import Row, Stacks, Strip
from ragmem.charts.plots.style import LETTER, SERIES, SMALL
from ragmem.charts.plots.ticks import whole
from ragmem.charts.svg_text import xml

ROW = 22
"""Pixels of a bar with its name."""

CELLS = 27
"""Cells of a strip in a row: half a year of weeks."""

FAINTEST = 0.15
"""Opacity of the cell with the least that is not nothing."""


def stacks_drawn(plot: Stacks, top: float) -> tuple[list[str], float]:
    """Return the elements of bars, and where they end."""
    totals = [sum(row.counts) for row in plot.rows]
    if not any(totals):
        return [text(EDGE, top + 14, f"no {plot.counted}")], top + 20
    drawn, begin = legend(plot.parts, top)
    inside = WIDTH - 2 * EDGE
    name = min(inside * 0.38, max(wide_of(row.label) * LETTER / SMALL for row in plot.rows) + 8)
    numbers = max(wide_of(whole(total)) for total in totals) + 10
    notes = min(inside * 0.25, max(wide_of(row.note) for row in plot.rows))
    left = EDGE + name + numbers
    room = max(40.0, WIDTH - EDGE - left - (notes + 8 if notes else 0))
    most = max(totals)
    for number, (row, total) in enumerate(zip(plot.rows, totals, strict=True)):
        y = begin + number * ROW
        told = ", ".join(
            f"{whole(count)} {part}" for part, count in zip(plot.parts, row.counts, strict=True) if count
        )
        drawn += [
            f"<g><title>{xml(f'{row.label}: {told or 0}')}</title>",
            text(EDGE, y + 14, row.label, classes="name", room=name - 4),
            text(left - 8, y + 14, whole(total), classes="end"),
            f'<rect class="track" x="{left:.1f}" y="{y + 4:.1f}" width="{room:.1f}" height="13" rx="2"/>',
            *_bar(row, left, y + 4, room, most),
            *([text(left + room + 6, y + 14, row.note, room=notes)] if row.note else []),
            "</g>",
        ]
    return drawn, begin + len(plot.rows) * ROW + 2


def _bar(row: Row, left: float, y: float, room: float, most: float) -> list[str]:
    """Return the parts of a bar, each a pixel apart from the next; what is not nothing can be seen."""
    drawn, x = [], left
    for number, count in enumerate(row.counts):
        if not count:
            continue
        wide = count / most * room
        shown = max(1.0, wide - 1) if wide > 3 else max(0.5, wide)
        drawn.append(
            f'<rect class="f{number % SERIES}" x="{x:.1f}" y="{y:.1f}" width="{shown:.1f}" height="13"/>'
        )
        x += wide
    return drawn


def strip_drawn(plot: Strip, top: float) -> tuple[list[str], float]:
    """Return rows of cells, the first above, with what the first and the last of each stand for."""
    most = max((count for _, count in plot.cells), default=0.0)
    if not most:
        return [text(EDGE, top + 14, f"no {plot.counted}")], top + 20
    side = (WIDTH - 2 * EDGE) / CELLS
    drawn: list[str] = []
    extent = f'width="{side - 2:.1f}" height="{side - 2:.1f}"'
    y = top + 2
    for begin in range(0, len(plot.cells), CELLS):
        row = plot.cells[begin : begin + CELLS]
        for place, (label, count) in enumerate(row):
            x = EDGE + place * side
            opacity = FAINTEST + (1 - FAINTEST) * count / most
            shown = f'class="f0" fill-opacity="{opacity:.2f}"' if count else 'class="track"'
            drawn.append(
                f'<rect {shown} x="{x:.1f}" y="{y:.1f}" {extent} rx="2">'
                f"<title>{xml(f'{label}: {whole(count)} {plot.counted}')}</title></rect>"
            )
        y += side + 11
        half = WIDTH / 2 - EDGE - SMALL
        drawn.append(text(EDGE, y, row[0][0], room=half if len(row) > 1 else WIDTH - 2 * EDGE))
        end = EDGE + len(row) * side - 2
        if len(row) > 1 and end - EDGE > wide_of(row[0][0]) + wide_of(row[-1][0]) + SMALL:
            drawn.append(text(end, y, row[-1][0], classes="end", room=half))
        y += 8
    drawn.append(
        text(
            EDGE,
            y + LINE - 4,
            f"strongest: {whole(most)} {plot.counted} in a {plot.named}",
            room=WIDTH - 2 * EDGE,
        )
    )
    return drawn, y + LINE
