"""Make histograms of plain numbers."""

import math
from bisect import bisect_right
from collections.abc import Sequence

from ragmem.charts.model import Axis, Columns, Layer, Mark, Scale
from ragmem.charts.ticks import TOLERANCE, axis_range, format_number

MOST_RATIOS = 60
"""Most classes of a logarithmic histogram."""


def histogram_of(
    title: str,
    values: Sequence[float],
    x: Axis,
    *,
    unit: str,
    classes: int = 20,
    marks: Sequence[Mark] = (),
    note: str = "",
) -> Columns:
    """Return the counts of values in about this number of classes of equal width between round numbers.

    On a logarithmic axis there are ten classes from each power of ten to the next (Renard's preferred
    numbers). `marks` are on the value axis. Raises ValueError for values that cannot be drawn there.
    """
    x.check([*values, *(mark.at for mark in marks)])
    edges = _ratios(values) if x.scale is Scale.LOG else axis_range(values, x, wanted=classes).ticks
    counts = [0.0] * (len(edges) - 1)
    for value in values:
        counts[max(0, min(len(counts), bisect_right(edges, value)) - 1)] += 1
    return columns_between(title, edges, counts, x, unit=unit, marks=marks, note=note)


def columns_between(
    title: str,
    edges: Sequence[float],
    counts: Sequence[float],
    x: Axis,
    *,
    unit: str,
    marks: Sequence[Mark] = (),
    note: str = "",
) -> Columns:
    """Return a histogram whose counts are known, one for each pair of neighbouring edges."""
    names = [
        format_number(float(f"{edge:.2g}")) if x.scale is Scale.LOG else format_number(edge)
        for edge in edges[:-1]
    ]
    placed = [Mark(_place(mark.at, edges), mark.label) for mark in marks]
    return Columns(title, x, Axis(unit), names, [Layer(unit, counts)], placed, note, from_edges=True)


def _ratios(values: Sequence[float]) -> tuple[float, ...]:
    """Return edges around the values, ten from each power of ten to the next."""
    logs = [10 * math.log10(value) for value in values] or [0.0]
    first, last = math.floor(min(logs) + TOLERANCE), math.floor(max(logs) + TOLERANCE) + 1
    step = max(1, (last - first) // MOST_RATIOS)
    return tuple(10.0 ** (number / 10) for number in range(first, last + step, step))


def _place(value: float, edges: Sequence[float]) -> float:
    """Return the index of the value's class plus its relative position within the class."""
    number = bisect_right(edges, value) - 1
    if number < 0 or number >= len(edges) - 1:
        return float(max(0, min(len(edges) - 1, number)))
    return number + (value - edges[number]) / (edges[number + 1] - edges[number])
