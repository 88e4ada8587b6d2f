"""Make the usual plots of plain numbers: bars of counts, and a histogram of values."""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence

from ragmem.charts.charts import Mark
from ragmem.charts.plots.model import Axis, Columns, Layer, Row, Scale, Stacks, refuse_all_but_numbers
from ragmem.charts.plots.ticks import SAME, ranged, written

MOST_RATIOS = 60
"""Classes of a logarithmic histogram; of more, as many are taken together as are needed."""


def bars_of(
    title: str, counts: Mapping[str, float], *, counted: str, named: str = "name", note: str = ""
) -> Stacks:
    """Return bars of name -> count, in their order; `counted` is what is counted, `named` what a bar is."""
    return Stacks(
        title, counted, [counted], [Row(name, [count]) for name, count in counts.items()], note, named
    )


def histogram_of(
    title: str,
    values: Sequence[float],
    x: Axis,
    *,
    counted: str,
    classes: int = 20,
    marks: Sequence[Mark] = (),
    note: str = "",
) -> Columns:
    """Return how often values occur, in classes of equal width between round numbers, about so many.

    On a logarithmic axis there are ten classes from each power of ten to the next (Renard's preferred
    numbers). `marks` are at values. Raises ValueError for values that cannot be drawn on the axis.
    """
    refuse_all_but_numbers([*values, *(mark.at for mark in marks)], above_nought=x.scale is Scale.LOG)
    edges = _ratios(values) if x.scale is Scale.LOG else ranged(values, x, wanted=classes).ticks
    counts = [0.0] * (len(edges) - 1)
    for value in values:
        counts[max(0, min(len(counts), bisect_right(edges, value)) - 1)] += 1
    placed = [Mark(_place(mark.at, edges), mark.label) for mark in marks]
    names = [written(float(f"{edge:.2g}")) if x.scale is Scale.LOG else written(edge) for edge in edges[:-1]]
    return Columns(title, x, Axis(counted), names, [Layer(counted, counts)], placed, note, from_edges=True)


def _ratios(values: Sequence[float]) -> tuple[float, ...]:
    """Return edges ten of which lead from a power of ten to the next, around the values."""
    logs = [10 * math.log10(value) for value in values] or [0.0]
    first, last = math.floor(min(logs) + SAME), math.floor(max(logs) + SAME) + 1
    step = max(1, (last - first) // MOST_RATIOS)
    return tuple(10.0 ** (number / 10) for number in range(first, last + step, step))


def _place(value: float, edges: Sequence[float]) -> float:
    """Return before, in or behind which class a value lies, with the share of the class."""
    number = bisect_right(edges, value) - 1
    if number < 0 or number >= len(edges) - 1:
        return float(max(0, min(len(edges) - 1, number)))
    return number + (value - edges[number]) / (edges[number + 1] - edges[number])
