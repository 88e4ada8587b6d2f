"""Make the usual plots of plain numbers: bars of counts, and a histogram of values."""

from collections.abc import Mapping, Sequence

from ragmem.domain.charts import Mark
from ragmem.services.plots.model import Axis, Columns, Layer, Row, Scale, Stacks, refuse_all_but_numbers
from ragmem.services.plots.ticks import ranged, written


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
    """Return how often values occur, in classes of equal width between round numbers.

    On a logarithmic axis the classes are of equal ratio. `marks` are at values. Raises ValueError for values
    that cannot be drawn on the axis.
    """
    refuse_all_but_numbers([*values, *(mark.at for mark in marks)], above_nought=x.scale is Scale.LOG)
    axis = ranged(values, x)
    edges = [_at(axis.low, axis.high, place / classes, x.scale) for place in range(classes)]
    counts = [0.0] * classes
    for value in values:
        counts[min(classes - 1, int(axis.share(value) * classes))] += 1
    placed = [Mark(axis.share(mark.at) * classes, mark.label) for mark in marks]
    names = [written(edge) for edge in edges]
    return Columns(title, x, Axis(counted), names, [Layer(counted, counts)], placed, note)


def _at(low: float, high: float, share: float, scale: Scale) -> float:
    if scale is Scale.LOG:
        return float(low * (high / low) ** share)
    return low + (high - low) * share
