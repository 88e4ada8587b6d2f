"""The parts that pictures of plots share: texts that fit, axes with their ticks, and a legend."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragmem.charts.plots.model import Axis
from ragmem.charts.plots.style import LETTER, SERIES, SMALL
from ragmem.charts.plots.ticks import Range
from ragmem.charts.svg_text import xml
from ragmem.charts.widths import fitted, letters

WIDTH = 480
"""Pixels of a plot: in a telephone's width its letters can still be read."""

EDGE = 6
"""Pixels that nothing is drawn in, around everything."""

FRACTION = 0.01
"""Share of a letter that computing with fractions may lose."""

LINE = 15
"""Pixels of a line of text."""


@dataclass(frozen=True, slots=True)
class Box:
    """Where a plot's values are drawn; y goes down."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def wide(self) -> float:
        """Its width."""
        return self.right - self.left

    @property
    def high(self) -> float:
        """Its height."""
        return self.bottom - self.top

    def x(self, share: float) -> float:
        """Return where a share of the way from left to right is."""
        return self.left + share * self.wide

    def y(self, share: float) -> float:
        """Return where a share of the way from the bottom to the top is."""
        return self.bottom - share * self.high


def text(x: float, y: float, told: str, *, classes: str = "", room: float = WIDTH) -> str:
    """Return a text at a place, cut to the pixels that there are."""
    wide = LETTER if "name" in classes.split() else SMALL
    shown = fitted(told, max(0, int(room / wide + FRACTION)))
    attribute = f' class="{classes}"' if classes else ""
    return f'<text{attribute} x="{x:.1f}" y="{y:.1f}">{xml(shown)}</text>'


def wide_of(told: str) -> float:
    """Return the pixels that a text needs."""
    return letters(told) * SMALL


def upward(axis: Range, names: Axis, box: Box) -> Iterator[str]:
    """Yield an axis from the bottom to the top, at the left, with a line through the plot for each tick."""
    yield text(EDGE, box.top - 10, names.named, room=WIDTH - 2 * EDGE)
    for tick, label in zip(axis.ticks, axis.labels, strict=True):
        y = box.y(axis.share(tick))
        yield f'<path class="grid" d="M{box.left:.1f} {y:.1f}H{box.right:.1f}"/>'
        yield text(box.left - 6, y + 4, label, classes="end", room=box.left - 6)


def rightward(axis: Range, names: Axis, box: Box) -> Iterator[str]:
    """Yield an axis from left to right, below the plot; labels that would touch another are left out."""
    yield f'<path class="axis" d="M{box.left:.1f} {box.bottom:.1f}H{box.right:.1f}"/>'
    reached = 0.0
    for tick, label in zip(axis.ticks, axis.labels, strict=True):
        half = wide_of(label) / 2
        x = box.x(axis.share(tick))
        middle = max(EDGE + half, min(WIDTH - EDGE - half, x))
        if middle - half < reached:
            continue
        reached = middle + half + SMALL
        yield f'<path class="axis" d="M{x:.1f} {box.bottom:.1f}v4"/>'
        yield text(middle, box.bottom + LINE, label, classes="middle")
    yield text(box.left, box.bottom + 2 * LINE, names.named, room=WIDTH - EDGE - box.left)


def legend(names: Sequence[str], top: float) -> tuple[list[str], float]:
    """Return which colour stands for which name, and where it ends; nothing of a single name."""
    if len(names) < 2:
        return [], top
    drawn: list[str] = []
    x, y = float(EDGE), top + 11
    for number, name in enumerate(names):
        room = 16 + wide_of(name)
        if x > EDGE and x + room > WIDTH - EDGE:
            x, y = float(EDGE), y + LINE + 3
        drawn += [
            f'<rect class="f{number % SERIES}" x="{x:.1f}" y="{y - 9:.1f}" width="10" height="10" rx="2"/>',
            text(x + 15, y, name, room=WIDTH - EDGE - x - 15),
        ]
        x += room + 14
    return drawn, y + 8


def pointed(x: float, told: str, y: float, box: Box) -> list[str]:
    """Return a broken line down through the plot to a text, on the side of it that has room."""
    wide = wide_of(told)
    right = x + 6 + wide <= WIDTH - EDGE or x < WIDTH / 2
    room = WIDTH - EDGE - x - 6 if right else x - 6 - EDGE
    return [
        f'<path class="mark" d="M{x:.1f} {box.top:.1f}V{y:.1f}"/>',
        text(x + 5 if right else x - 5, y, told, classes="halo" if right else "halo end", room=room),
    ]
