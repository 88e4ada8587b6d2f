"""The data of charts: curves, columns, stacked bars or a strip; `terminal` and `svg` draw them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

HUGEST = 1e300
"""Larger numbers are refused: floats cannot hold their differences."""


class Tone(StrEnum):
    """The meaning of a mark, in the order of the colours; colour never carries it alone."""

    PLAIN = "plain"
    FADING = "fading"
    FIRM = "firm"
    LASTING = "lasting"
    FRESH = "fresh"
    GONE = "gone"


TONES = tuple(Tone)


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on an axis, and its meaning."""

    at: float
    label: str


class Scale(StrEnum):
    """The scale of an axis."""

    LINEAR = "linear"
    LOG = "log"


@dataclass(frozen=True, slots=True)
class Axis:
    """The title, unit and scale of an axis, and a range that it includes at least.

    Raises ValueError for an end that is not finite, or that a logarithmic axis cannot show.
    """

    title: str
    unit: str = ""
    scale: Scale = Scale.LINEAR
    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        self.check([end for end in (self.least, self.most) if end is not None])

    @property
    def label(self) -> str:
        """The title with the unit: "age (days)"."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    def check(self, values: Iterable[float]) -> None:
        """Raise ValueError for a value that this axis cannot show."""
        for value in values:
            check_numbers([value])
            if self.scale is Scale.LOG and value <= 0:
                raise ValueError(f"{value} has no place on a logarithmic axis")


@dataclass(frozen=True, slots=True)
class Line:
    """A name and its points, in drawing order."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Curves:
    """Lines, or single points (`joined` False), over two axes; `marks` are at an x, `levels` at a y.

    Raises ValueError for a value that is not a number, or that a logarithmic axis cannot show.
    """

    title: str
    x: Axis
    y: Axis
    lines: Sequence[Line]
    marks: Sequence[Mark] = ()
    levels: Sequence[Mark] = ()
    note: str = ""
    joined: bool = True

    def __post_init__(self) -> None:
        self.x.check([*self.xs, *(mark.at for mark in self.marks)])
        self.y.check(self.ys)

    @property
    def xs(self) -> list[float]:
        """The x of each point."""
        return [x for line in self.lines for x, _ in line.points]

    @property
    def ys(self) -> list[float]:
        """The y of each point and of each level."""
        return [y for line in self.lines for _, y in line.points] + [level.at for level in self.levels]

    @property
    def missing(self) -> str:
        """A message in place of the chart, if there is nothing to draw."""
        return "" if self.xs else f"no {self.y.title}"


@dataclass(frozen=True, slots=True)
class Layer:
    """A name and its count in each class."""

    name: str
    counts: Sequence[float]


@dataclass(frozen=True, slots=True)
class Columns:
    """Counts by class, as columns from left to right, each a stack of layers.

    Raises ValueError for a count that is negative or not a number, and for a layer without exactly one count
    per class.
    """

    title: str
    x: Axis
    y: Axis
    classes: Sequence[str]
    layers: Sequence[Layer]
    marks: Sequence[Mark] = ()
    """At the boundary before the class of this number; 1.5 is the middle of the second class."""
    note: str = ""
    from_edges: bool = False
    """Whether the name of a class is its lower edge, where it is then drawn."""

    def __post_init__(self) -> None:
        for layer in self.layers:
            _check_counts(layer.name, layer.counts, len(self.classes))
        check_numbers([mark.at for mark in self.marks])

    @property
    def totals(self) -> list[float]:
        """The count of each class, summed over the layers."""
        return [sum(layer.counts[place] for layer in self.layers) for place in range(len(self.classes))]

    @property
    def missing(self) -> str:
        """A message in place of the chart, if there is nothing to draw."""
        return "" if any(self.totals) else f"no {self.y.title}"


@dataclass(frozen=True, slots=True)
class Row:
    """A label, its count for each part, and a note beside the bar."""

    label: str
    counts: Sequence[float]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Stacks:
    """Bars one below the other, each made of the same parts; with one part it is a plain bar chart.

    Raises ValueError for a count that is negative or not a number, and for a row without exactly one count
    per part.
    """

    title: str
    unit: str
    """The unit of the counts: "memories"."""
    parts: Sequence[str]
    rows: Sequence[Row]
    note: str = ""
    category: str = "name"
    """The meaning of a row: "source"."""
    tones: Sequence[Tone] = ()
    """The tone of each part; by default the parts take all tones in turn."""

    def __post_init__(self) -> None:
        for row in self.rows:
            _check_counts(row.label, row.counts, len(self.parts))

    @property
    def totals(self) -> list[float]:
        """The sum of each row."""
        return [sum(row.counts) for row in self.rows]

    @property
    def missing(self) -> str:
        """A message in place of the chart, if there is nothing to draw."""
        return "" if any(self.totals) else f"no {self.unit}"


@dataclass(frozen=True, slots=True)
class Strip:
    """A row of cells, darker for higher counts; raises ValueError for a bad count."""

    title: str
    unit: str
    cells: Sequence[tuple[str, float]] = field(default_factory=tuple)
    category: str = "week"
    """The meaning of a cell."""
    note: str = ""

    def __post_init__(self) -> None:
        _check_counts(self.title, [count for _, count in self.cells], len(self.cells))

    @property
    def missing(self) -> str:
        """A message in place of the chart, if there is nothing to draw."""
        return "" if any(count for _, count in self.cells) else f"no {self.unit}"


Plot = Curves | Columns | Stacks | Strip


@dataclass(frozen=True, slots=True)
class Sheet:
    """Charts under one title, with a summary in sentences."""

    title: str
    summary: str
    plots: Sequence[Plot]


def bars_of(
    title: str, counts: Mapping[str, float], *, unit: str, category: str = "name", note: str = ""
) -> Stacks:
    """Return one bar for each name -> count; `unit` is that of the counts, `category` what a bar is."""
    rows = [Row(name, [count]) for name, count in counts.items()]
    return Stacks(title, unit, [unit], rows, note, category)


def check_numbers(values: Iterable[float]) -> None:
    """Raise ValueError for a value that is not finite, or beyond HUGEST."""
    for value in values:
        # Also false for NaN, and for integers that no float can hold.
        if not -HUGEST <= value <= HUGEST:
            shown = value if isinstance(value, float) else "a number of more than 300 digits"
            raise ValueError(f"{shown} cannot be drawn")


def _check_counts(name: str, counts: Sequence[float], size: int) -> None:
    if len(counts) != size:
        raise ValueError(f'"{name}" has {len(counts)} counts of {size}')
    check_numbers(counts)
    if any(count < 0 for count in counts):
        raise ValueError(f"{min(counts)} is no count")
    if not math.fsum(counts) <= HUGEST:
        raise ValueError("the counts cannot be drawn: their sum is too large")
