"""What a plot shows: curves, columns, stacked bars or a strip; `terminal` and `picture` draw them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ragmem.charts.charts import Mark

HUGEST = 1e300
"""Numbers beyond this are refused: their differences are no numbers any more."""


class Scale(StrEnum):
    """How values lie on an axis."""

    LINEAR = "linear"
    LOG = "log"


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis counts, in which unit, and what it reaches at least.

    Raises ValueError for an end that is no number, or that a logarithmic axis does not have.
    """

    title: str
    unit: str = ""
    scale: Scale = Scale.LINEAR
    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        ends = [end for end in (self.least, self.most) if end is not None]
        refuse_all_but_numbers(ends, above_nought=self.scale is Scale.LOG)

    @property
    def named(self) -> str:
        """The title with the unit: "age (days)"."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


@dataclass(frozen=True, slots=True)
class Line:
    """A name and its points, in the order in which they are joined."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Curves:
    """Lines, or single points (`joined` False), over two axes; `marks` stand at an x, `levels` at a y.

    Raises ValueError for a value that is no number, or has no place on a logarithmic axis.
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
        xs = [x for line in self.lines for x, _ in line.points] + [mark.at for mark in self.marks]
        ys = [y for line in self.lines for _, y in line.points] + [level.at for level in self.levels]
        refuse_all_but_numbers(xs, above_nought=self.x.scale is Scale.LOG)
        refuse_all_but_numbers(ys, above_nought=self.y.scale is Scale.LOG)


@dataclass(frozen=True, slots=True)
class Layer:
    """A name and how many of it are in each class."""

    name: str
    counts: Sequence[float]


@dataclass(frozen=True, slots=True)
class Columns:
    """How many there are in each class, as columns from left to right, of layers that stand on each other.

    Raises ValueError for a count below 0, or one that is no number, and where a layer has not one count for
    each class.
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
    """Whether a class is named by the value where it begins: then the name stands at that edge."""

    def __post_init__(self) -> None:
        for layer in self.layers:
            if len(layer.counts) != len(self.classes):
                raise ValueError(f'"{layer.name}" has {len(layer.counts)} counts of {len(self.classes)}')
            _refuse_all_but_counts(layer.counts)
        refuse_all_but_numbers([mark.at for mark in self.marks])

    @property
    def totals(self) -> list[float]:
        """How many there are in each class, of all layers together."""
        return [sum(layer.counts[place] for layer in self.layers) for place in range(len(self.classes))]


@dataclass(frozen=True, slots=True)
class Row:
    """A name, how many it has of each part, and a word beside it."""

    label: str
    counts: Sequence[float]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Stacks:
    """Bars one below the other, each made of the same parts; of one part it is a plain bar chart.

    Raises ValueError for a count below 0, or one that is no number, and where a row has not one count for
    each part.
    """

    title: str
    counted: str
    """What is counted: "memories"."""
    parts: Sequence[str]
    rows: Sequence[Row]
    note: str = ""
    named: str = "name"
    """What a row is: "source"."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.counts) != len(self.parts):
                raise ValueError(f'"{row.label}" has {len(row.counts)} counts of {len(self.parts)}')
            _refuse_all_but_counts(row.counts)


@dataclass(frozen=True, slots=True)
class Strip:
    """A row of cells, the darker the more; raises ValueError for a count below 0, or that is no number."""

    title: str
    counted: str
    cells: Sequence[tuple[str, float]] = field(default_factory=tuple)
    named: str = "week"
    """What a cell is."""
    note: str = ""

    def __post_init__(self) -> None:
        _refuse_all_but_counts([count for _, count in self.cells])


Plot = Curves | Columns | Stacks | Strip


def refuse_all_but_numbers(values: Iterable[float], *, above_nought: bool = False) -> None:
    """Raise ValueError for a value that is not finite, or beyond HUGEST; with `above_nought` also for 0."""
    for value in values:
        # Written so that it does not hold for NaN, and for integers that no float holds.
        if not -HUGEST <= value <= HUGEST:
            raise ValueError(f"{_shortly(value)} cannot be drawn")
        if above_nought and value <= 0:
            raise ValueError(f"{value} has no place on a logarithmic axis")


def _refuse_all_but_counts(values: Sequence[float]) -> None:
    refuse_all_but_numbers(values)
    if any(value < 0 for value in values):
        raise ValueError(f"{min(values)} is no count")
    if not math.fsum(values) <= HUGEST:
        raise ValueError("the counts cannot be drawn: their sum is too large")


def _shortly(value: float) -> str:
    return str(value) if isinstance(value, float) else "a number of more than 300 digits"
