"""The registry of plots by name."""

from collections.abc import Callable, Mapping, Sequence

from ragmem.charts.model import Axis, Columns, Plot
from ragmem.services.reporting.connections import connections, degree
from ragmem.services.reporting.content_plots import projects, sources, tiers, topics
from ragmem.services.reporting.context import ReportContext
from ragmem.services.reporting.lifecycle_plots import archive, gc, injections, keep_reasons, recalls, states
from ragmem.services.reporting.time_plots import ages, decay, growth, weeks


def latency(context: ReportContext) -> Plot:
    """Return the latency of questions, if it was measured."""
    nothing = Columns("Time of a question", Axis("time", "ms"), Axis("questions"), [], [])
    return context.latency or nothing


PLOTS: Mapping[str, Callable[[ReportContext], Plot]] = {
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
    "kept": keep_reasons,
    "archive": archive,
    "recalls": recalls,
    "injections": injections,
    "gc": gc,
    "latency": latency,
}
"""All plots by the names that people type."""


def plots_of(context: ReportContext, names: Sequence[str] = ()) -> dict[str, Plot]:
    """Return plots by their names, all of them but an unmeasured latency unless some are named."""
    wanted = names or [name for name in PLOTS if name != "latency" or context.latency is not None]
    return {name: PLOTS[name](context) for name in wanted}
