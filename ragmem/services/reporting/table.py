"""Every plot of a memory by the name that people type."""

from collections.abc import Callable, Mapping, Sequence

from ragmem.charts.model import Axis, Columns, Plot
from ragmem.services.reporting.bonds import connections, degree
from ragmem.services.reporting.contents import projects, sources, tiers, topics
from ragmem.services.reporting.lives import archive, gc, injections, kept, recalls, states
from ragmem.services.reporting.over_time import ages, decay, growth, weeks
from ragmem.services.reporting.reading import ReportReader


def latency(reading: ReportReader) -> Plot:
    """Return how long questions take here, if that was measured."""
    nothing = Columns("Time of a question", Axis("time", "ms"), Axis("questions"), [], [])
    return reading.latency or nothing


PLOTS: Mapping[str, Callable[[ReportReader], Plot]] = {
    "decay": decay,
    "ages": ages,
    "weeks": weeks,
    "growth": growth,
    "tiers": tiers,
    "sources": sources,
    "projects": projects,
    "degree": degree,
    "topics": topics,
    "connections": connections,
    "states": states,
    "kept": kept,
    "archive": archive,
    "recalls": recalls,
    "injections": injections,
    "gc": gc,
    "latency": latency,
}
"""Every plot by the name that people type."""


def plots_of(reading: ReportReader, names: Sequence[str] = ()) -> dict[str, Plot]:
    """Return plots by their names, all of them but an unmeasured latency unless some are named."""
    wanted = names or [name for name in PLOTS if name != "latency" or reading.latency is not None]
    return {name: PLOTS[name](reading) for name in wanted}
