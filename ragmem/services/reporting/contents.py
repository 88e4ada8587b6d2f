"""What a memory holds: tiers, sources, projects, and what most of it mentions."""

from collections import Counter

from ragmem.charts.model import Plot, Row, Stacks
from ragmem.services.reporting.reading import LONGEST, ReportReader


def tiers(reading: ReportReader) -> Plot:
    """Return which tier the memories of each source are in."""
    found = reading.figures.tiers()
    parts = [tier for tier in ("ingest", "summarize", "discard") if any(two == tier for _, two in found)]
    parts += sorted({two for _, two in found} - set(parts))
    totals = Counter[str]()
    for (source, _), count in found.items():
        totals[source] += count
    told = reading.source_names([*totals])
    largest = sorted(totals, key=lambda source: (-totals[source], source))
    return Stacks(
        "Tiers per source",
        "memories",
        parts,
        [Row(told[one], [found.get((one, part), 0) for part in parts]) for one in largest[:LONGEST]],
        "Verbatim (ingest), as a summary (summarize), or in full text only (discard).",
        "source",
    )


def sources(reading: ReportReader) -> Plot:
    """Return the biggest sources."""
    found = reading.figures.sources()
    told = reading.source_names([one.source for one in found])
    return Stacks(
        "Biggest sources",
        "memories",
        ["memories"],
        [
            Row(told[one.source], [one.memories], f"{one.characters / 1e6:,.1f} M letters")
            for one in found[:LONGEST]
        ],
        named="source",
    )


def projects(reading: ReportReader) -> Plot:
    """Return how many memories each project has."""
    found = reading.figures.by_project()
    known = reading.catalog.projects.names()
    # Rows and no mapping: two of them may have one name.
    rows = [
        Row(f"project {number}" if reading.private else reading.shown(known.get(one, one)), [count])
        for number, (one, count) in enumerate([*found.items()][:LONGEST], 1)
    ]
    return Stacks("Projects", "memories", ["memories"], rows, named="project")


def topics(reading: ReportReader) -> Plot:
    """Return which entities most memories mention."""
    rows = [
        Row(f"entity {number}" if reading.private else reading.shown(name), [count])
        for number, (name, count) in enumerate(reading.figures.mentioned(LONGEST), 1)
    ]
    return Stacks("What most memories mention", "memories", ["memories"], rows, named="entity")
