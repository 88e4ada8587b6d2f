"""Round numbers for an axis, and how they are written."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ragmem.charts.plots.model import Axis, Scale

STEPS = (1, 2, 5, 10)
"""What stands before the zeros of a step from tick to tick."""

SAME = 1e-9
"""Share of the values themselves below which their span counts as none: no tick could tell them apart."""


@dataclass(frozen=True, slots=True)
class Range:
    """An axis with its ends and ticks; `low` is below `high`."""

    low: float
    high: float
    ticks: tuple[float, ...]
    scale: Scale = Scale.LINEAR

    def share(self, value: float) -> float:
        """Return where a value lies: 0 at the low end, 1 at the high one, and no farther."""
        low, high = self.low, self.high
        if self.scale is Scale.LOG:
            low, high = math.log10(low), math.log10(high)
            value = math.log10(value)
        return max(0.0, min(1.0, (value - low) / (high - low)))

    @property
    def labels(self) -> list[str]:
        """The ticks as they are written."""
        return [written(tick) for tick in self.ticks]


def ranged(values: Iterable[float], axis: Axis, *, wanted: int = 5) -> Range:
    """Return the range of an axis that holds these values and ends at round numbers, with some ticks.

    Without a value it goes from 0 to 1, with one only a little to both sides. Expects values that the axis
    takes (`model.refuse_all_but_numbers`).
    """
    every = [float(value) for value in (*values, axis.least, axis.most) if value is not None]
    if axis.scale is Scale.LOG:
        return _logarithmic(every, wanted)
    low, high = (min(every), max(every)) if every else (0.0, 1.0)
    if high - low <= max(SAME * max(abs(low), abs(high)), 1e-290):
        pad = max(abs(low) * 0.5, 1e-280) if low or high else 1.0
        low, high = low - pad, high + pad
        if axis.least is not None and low < axis.least:
            low = float(axis.least)
    step = _step((high - low) / max(1, wanted))
    first, last = math.floor(low / step + SAME), math.ceil(high / step - SAME)
    ticks = tuple(number * step for number in range(first, last + 1))
    return Range(min(ticks[0], low), max(ticks[-1], high), ticks)


def _step(least: float) -> float:
    """Return the smallest round step that is not below this one."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((one * power for one in STEPS if one * power >= least * (1 - SAME)), 10 * power)


def _logarithmic(values: list[float], wanted: int) -> Range:
    low, high = (min(values), max(values)) if values else (1.0, 10.0)
    first, last = math.floor(math.log10(low) + SAME), math.ceil(math.log10(high) - SAME)
    last = max(last, first + 1)
    ends = max(10.0**first, 1e-300), min(10.0**last, 1e300)
    jump = max(1, math.ceil((last - first) / max(1, wanted)))
    ticks = tuple(10.0**power for power in range(first, last + 1, jump) if -300 <= power <= 300)
    return Range(min(ends[0], low), max(ends[1], high), ticks, Scale.LOG)


def written(value: float) -> str:
    """Return a number as people write it: 0.25, 1,500, 2.5M; never longer than eleven letters."""
    size = abs(value)
    if not value:
        return "0"
    if size >= 1e15 or size < 1e-4:
        return f"{value:.3g}"
    for unit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if size >= unit:
            return f"{value / unit:.3g}".replace("e+03", "000") + letter
    if size >= 1000:
        return f"{round(value):,}"
    return f"{value:.4g}"


def whole(value: float) -> str:
    """Return a number of a table: whole ones with commas, others to four places."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.4g}"
