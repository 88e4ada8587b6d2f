"""The plots by name, and those of the contents: tiers, sources, projects, and the most frequent entities."""

from collections.abc import Callable, Mapping, Sequence

from ragmem.charts.model import Axis, Columns, Plot, Row, Stacks
from ragmem.services.reporting.context import LONGEST, ReportContext, largest_sources
from ragmem.services.reporting.lifecycle_plots import (
    archive,
    connections,
    degree,
    gc,
    injections,
    keep_reasons,
    recalls,
    states,
)
from ragmem.services.reporting.time_plots import ages, decay, growth, weeks


def tiers(context: ReportContext) -> Plot:
    """Return the tiers of the memories of each source."""
    found = context.figures.tiers()
    parts = [tier for tier in ("ingest", "summarize", "discard") if any(two == tier for _, two in found)]
    parts += sorted({two for _, two in found} - set(parts))
    largest = largest_sources(found)
    names = context.source_names(largest)
    return Stacks(
        "Tiers per source",
        "memories",
        parts,
        [Row(names[one], [found.get((one, part), 0) for part in parts]) for one in largest[:LONGEST]],
        "Verbatim (ingest), as a summary (summarize), or in full text only (discard).",
        "source",
    )


def sources(context: ReportContext) -> Plot:
    """Return the largest sources."""
    found = context.figures.sources()
    names = context.source_names([one.source for one in found])
    return Stacks(
        "Biggest sources",
        "memories",
        ["memories"],
        [
            Row(names[one.source], [one.memories], f"{one.characters / 1e6:,.1f} M letters")
            for one in found[:LONGEST]
        ],
        category="source",
    )


def projects(context: ReportContext) -> Plot:
    """Return the number of memories of each project."""
    found = context.figures.by_project()
    known = context.catalog.projects.names()
    # Rows instead of a mapping: two projects may have the same name.
    rows = [
        Row(f"project {number}" if context.private else context.redact_line(known.get(one, one)), [count])
        for number, (one, count) in enumerate([*found.items()][:LONGEST], 1)
    ]
    return Stacks("Projects", "memories", ["memories"], rows, category="project")


def topics(context: ReportContext) -> Plot:
    """Return the entities with the most memories."""
    rows = [
        Row(f"entity {number}" if context.private else context.redact_line(name), [count])
        for number, (name, count) in enumerate(context.figures.top_entities(LONGEST), 1)
    ]
    return Stacks("What most memories mention", "memories", ["memories"], rows, category="entity")


def latency(context: ReportContext) -> Plot:
    """Return the latency of questions, if it was measured."""
    nothing = Columns("Query times", Axis("time", "ms"), Axis("questions"), [], [])
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
