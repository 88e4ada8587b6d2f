"""The latency of questions on this machine: asked one after the other, with words of the memory itself."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragmem.charts.histogram import histogram_of
from ragmem.charts.model import Axis, Columns, Mark, Scale

QUESTIONS = 100
"""Default number of questions."""

LEAST_MS = 0.01
"""Minimum time shown, for times below the resolution of the clock."""


@dataclass(frozen=True, slots=True)
class Latency:
    """The times in milliseconds: of the first question, which opens what it needs, and of the others."""

    first: float
    others: Sequence[float]

    def share(self, part: float) -> float:
        """Return the time within which this share of the questions was answered; 0 without questions."""
        if not self.others:
            return 0.0
        return sorted(self.others)[min(len(self.others) - 1, int(part * len(self.others)))]


def measure_latency(
    ask: Callable[[str], object], questions: Sequence[str], *, clock: Callable[[], float] = time.perf_counter
) -> Latency:
    """Ask each question once and return the times; errors of `ask` are passed on."""
    times = []
    for question in questions:
        began = clock()
        ask(question)
        times.append(max(LEAST_MS, (clock() - began) * 1000))
    return Latency(times[0] if times else 0.0, times[1:])


def latency_plot(found: Latency) -> Columns:
    """Return the times as a histogram with the median and the 95th percentile."""
    half, most = found.share(0.5), found.share(0.95)
    known = bool(found.others)
    return histogram_of(
        "Query times",
        found.others,
        Axis("time", "ms", Scale.LOG),
        unit="questions",
        marks=[Mark(half, f"p50 {half:.1f} ms"), Mark(most, f"p95 {most:.1f} ms")] if known else [],
        note=f"{len(found.others):,} questions made of stored titles, one after the other in one process;"
        f" half of them took {half:.1f} ms at most, 95 of 100 {most:.1f} ms. The first, which opens what is"
        f" needed, took {found.first:,.0f} ms."
        if known
        else "There are fewer than two titles to query with.",
    )
