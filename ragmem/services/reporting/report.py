"""A report of a memory: plots in chapters, and sentences about what stands out, made by rules."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ragmem.charts.model import Columns, Curves, Plot, Stacks
from ragmem.charts.numbers import plot_shape
from ragmem.services.reporting.context import ReportContext
from ragmem.services.reporting.plots import plots_of
from ragmem.storage.sql.rows import from_stamp

CHAPTERS: Mapping[str, Sequence[str]] = {
    "What there is": ("sources", "tiers", "projects", "topics"),
    "When": ("ages", "weeks", "growth", "decay"),
    "What connects": ("degree", "connections"),
    "How it lives": ("states", "kept", "archive", "gc"),
    "Of what use it is": ("recalls", "injections", "latency"),
}
"""Chapters of a report with their plots."""

MOST = 0.5
"""Share above which one source is most of a memory."""

LITTLE = 0.3
"""Share of connected memories below which they are few."""

STALE = timedelta(days=30)
"""Time without a run of gc, or without a new memory, that is worth a sentence."""


@dataclass(frozen=True, slots=True)
class Report:
    """Plots by name, and sentences; `where` names the projects, `made` is the moment of the data."""

    where: str
    made: datetime
    version: str
    private: bool
    memories: int
    sentences: Sequence[str]
    plots: Mapping[str, Plot]

    @property
    def title(self) -> str:
        """The title of the report."""
        return f"The memory of {self.where}"


def report_of(context: ReportContext, *, where: str, version: str) -> Report:
    """Return the report; the same for the same store, moment and measured latency."""
    plots = plots_of(context)
    unnamed = "all projects" if context.projects is None else "some projects"
    return Report(
        unnamed if context.private else context.redact_line(where),
        context.now,
        version,
        context.private,
        context.figures.total(),
        list(_sentences(context, plots)),
        plots,
    )


def report_shape(report: Report) -> dict[str, Any]:
    """Return a report as JSON fields."""
    return {
        "title": report.title,
        "made_at": report.made.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "version": report.version,
        "private": report.private,
        "memories": report.memories,
        "sentences": list(report.sentences),
        "plots": {name: plot_shape(plot) for name, plot in report.plots.items()},
    }


def _sentences(context: ReportContext, plots: Mapping[str, Plot]) -> Iterator[str]:
    figures = context.figures
    total = figures.total()
    if not total:
        yield "Nothing is stored yet: `ragmem seed` reads your files."
        return
    yield from _size(context, plots, total)
    yield from _time(context)
    connections = plots["connections"]
    if isinstance(connections, Columns):
        alone = int(connections.totals[0])
        few = "only " if 1 - alone / total < LITTLE else ""
        share = _share(total - alone, total)
        yield f"{few}{share} of the memories are connected with another one; {alone:,} are isolated."
    degree = plots["degree"]
    if isinstance(degree, Curves) and degree.lines:
        yield f"The graph has {degree.note}"
    yield from _life(context, plots, total)
    yield from _use(plots, total)


def _size(context: ReportContext, plots: Mapping[str, Plot], total: int) -> Iterator[str]:
    sources = context.figures.sources()
    letters = sum(one.characters for one in sources)
    yield (
        f"{total:,} memories from {_plural(len(sources), 'source')} with {letters / 1e6:,.1f} million"
        f" characters in {_plural(len(context.figures.by_project()), 'project')}."
    )
    shown = plots["sources"]
    if isinstance(shown, Stacks) and len(sources) > 1 and sources[0].memories > MOST * total:
        yield f"{_share(sources[0].memories, total)} of them come from {shown.rows[0].label}."
    tiers = context.figures.tiers()
    little = sum(count for (_, tier), count in tiers.items() if tier == "discard")
    if little:
        yield f"{little:,} ({_share(little, total)}) say so little that they are kept in full text only."


def _time(context: ReportContext) -> Iterator[str]:
    figures = context.figures
    extent, middle = figures.extent("event_at"), figures.middle("event_at")
    if extent is None or middle is None:
        return
    first, last = map(from_stamp, extent)
    yield (
        f"They cover {first:%Y-%m-%d} to {last:%Y-%m-%d}; half of them are from"
        f" {from_stamp(middle):%Y-%m-%d} or later."
    )
    if context.now - last > STALE:
        yield f"Nothing in it is newer than {(context.now - last).days:,} days: was `ragmem seed` run?"


def _life(context: ReportContext, plots: Mapping[str, Plot], total: int) -> Iterator[str]:
    states = _counts(plots["states"])
    if waiting := states.get("waiting", 0):
        yield f"{waiting:,} wait for their vectors; `ragmem seed` or the next write makes them."
    if superseded := states.get("superseded", 0):
        yield f"{superseded:,} ({_share(superseded, total)}) are superseded by newer ones."
    if archived := states.get("archived", 0):
        rules = _counts(plots["archive"])
        reasons = ", ".join(f"{count:,.0f} {rule}" for rule, count in rules.items())
        yield f"{archived:,.0f} are in the archive ({reasons}) and can be restored."
    kept = _counts(plots["kept"])
    if pinned := kept.get("pinned", 0):
        yield f"{_plural(int(pinned), 'memory', 'memories')} pinned, {kept.get('protected', 0):,} protected."
    runs = context.catalog.gc_runs.latest(1)
    if not runs:
        yield "`ragmem gc` has never run here: nothing was merged or archived."
    elif context.now - runs[0].started > STALE:
        yield f"`ragmem gc` last ran {(context.now - runs[0].started).days:,} days ago."


def _use(plots: Mapping[str, Plot], total: int) -> Iterator[str]:
    recalls = plots["recalls"]
    if isinstance(recalls, Columns) and (never := int(recalls.totals[0])) < total:
        yield f"{total - never:,} ({_share(total - never, total)}) were recalled in a session."
    given = plots["injections"]
    if isinstance(given, Stacks) and given.rows:
        good, bad, again, _ = (sum(row.counts[part] for row in given.rows) for part in range(4))
        every = sum(sum(row.counts) for row in given.rows)
        yield (
            f"{every:,.0f} memories were injected into sessions; {good:,.0f} of them are rated good,"
            f" {bad:,.0f} bad, and {again:,.0f} more were recalled by another session too."
        )
    if "latency" in plots:
        yield plots["latency"].note


def _counts(plot: Plot) -> dict[str, float]:
    """Return name -> count of the non-empty bars of a plot."""
    rows = plot.rows if isinstance(plot, Stacks) else []
    return {row.label: count for row in rows if (count := sum(row.counts))}


def _share(part: float, whole: float) -> str:
    """Return a percentage; 0% and 100% mean exactly nothing and everything."""
    share = part / whole
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{share:.0%}"


def _plural(count: int, noun: str, nouns: str = "") -> str:
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"
