"""Round numbers for an axis, number formats, and positions of labels."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragmem.charts.model import Axis, Scale

STEPS = (1, 2, 5, 10)
"""Leading digits of the distance between ticks."""

TOLERANCE = 1e-9
"""A span below this share of the values counts as zero: no ticks could separate them."""


@dataclass(frozen=True, slots=True)
class Range:
    """An axis with its ends and ticks; `low` is below `high`."""

    low: float
    high: float
    ticks: tuple[float, ...]
    scale: Scale = Scale.LINEAR

    def share(self, value: float) -> float:
        """Return the position of a value from 0 (the low end) to 1 (the high end), clipped."""
        low, high = self.low, self.high
        if self.scale is Scale.LOG:
            low, high = math.log10(low), math.log10(high)
            value = math.log10(value)
        return max(0.0, min(1.0, (value - low) / (high - low)))

    @property
    def labels(self) -> list[str]:
        """The text of each tick."""
        return [format_number(tick) for tick in self.ticks]


def axis_range(values: Iterable[float], axis: Axis, *, wanted: int = 5) -> Range:
    """Return a range with round ends that includes these values, with about `wanted` ticks.

    Without values it goes from 0 to 1; a single value lies in its middle.
    `Axis.check` must accept the values.
    """
    every = [float(value) for value in (*values, axis.least, axis.most) if value is not None]
    if axis.scale is Scale.LOG:
        return _logarithmic(every, wanted)
    low, high = (min(every), max(every)) if every else (0.0, 1.0)
    if high - low <= max(TOLERANCE * max(abs(low), abs(high)), 1e-290):
        pad = max(abs(low) * 0.5, 1e-280) if low or high else 1.0
        low, high = low - pad, high + pad
        if axis.least is not None and low < axis.least:
            low = float(axis.least)
    step = _step((high - low) / max(1, wanted))
    first, last = math.floor(low / step + TOLERANCE), math.ceil(high / step - TOLERANCE)
    ticks = tuple(number * step for number in range(first, last + 1))
    return Range(min(ticks[0], low), max(ticks[-1], high), ticks)


def _step(least: float) -> float:
    """Return the smallest round step that is at least this large."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((one * power for one in STEPS if one * power >= least * (1 - TOLERANCE)), 10 * power)


def _logarithmic(values: list[float], wanted: int) -> Range:
    low, high = (min(values), max(values)) if values else (1.0, 10.0)
    first, last = math.floor(math.log10(low) + TOLERANCE), math.ceil(math.log10(high) - TOLERANCE)
    last = max(last, first + 1)
    ends = max(10.0**first, 1e-300), min(10.0**last, 1e300)
    jump = max(1, math.ceil((last - first) / max(1, wanted)))
    ticks = tuple(10.0**power for power in range(first, last + 1, jump) if -300 <= power <= 300)
    return Range(min(ends[0], low), max(ends[1], high), ticks, Scale.LOG)


def format_number(value: float) -> str:
    """Return a short form of a number: 0.25, 1,500, 2.5M; at most eleven characters."""
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


def format_count(value: float) -> str:
    """Return a number for a table: integers with commas, others with four significant digits."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.4g}"


def spread(wanted: Sequence[float], *, gap: float, low: float, high: float) -> list[float | None]:
    """Return a position between `low` and `high` near each wanted one, in order and at least `gap` apart.

    If there is not enough room, the last ones get None.
    """
    order = sorted(range(len(wanted)), key=lambda number: (wanted[number], number))
    room = int((high - low) / gap + 1e-9) + 1 if high >= low else 0
    order = order[:room]
    found = [max(low, min(high, wanted[number])) for number in order]
    for number in range(1, len(found)):
        found[number] = max(found[number], found[number - 1] + gap)
    limit = high
    for number in range(len(found) - 1, -1, -1):
        found[number] = min(found[number], limit)
        limit = found[number] - gap
    places = {number: max(low, place) for number, place in zip(order, found, strict=True)}
    return [places.get(number) for number in range(len(wanted))]
