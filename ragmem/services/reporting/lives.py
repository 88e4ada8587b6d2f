"""How memories live and of what use they were: states, reasons, archive, recalls, injections, gc."""

from collections import Counter

from ragmem.charts.model import Axis, Columns, Layer, Plot, Row, Stacks, bars_of
from ragmem.services.reporting.bonds import strength_class
from ragmem.services.reporting.lifecycle_picture import RULES
from ragmem.services.reporting.reading import LAYERS, ReportReader
from ragmem.storage.lifecycle.lifecycle_counts import archived_counts

RUNS = 10
"""Runs of gc that are shown."""


def states(reading: ReportReader) -> Plot:
    """Return what state the memories are in, those in the archive included."""
    found = reading.figures.states(sorted(reading.lifecycle.curated))
    archived = sum(one.memories for one in archived_counts(reading.catalog.database, reading.projects))
    order = ("buffer", "proven", "permanent", "superseded", "waiting")
    counts = {name: found.get(name, 0) for name in order} | {"archived": archived}
    return bars_of(
        "Lifecycle",
        counts,
        counted="memories",
        named="state",
        note="What is connected or recalled becomes proven; what is alone and says nothing specific is"
        " archived and can be restored.",
    )


def kept(reading: ReportReader) -> Plot:
    """Return what keeps memories from expiring."""
    found = reading.figures.kept(sorted(reading.lifecycle.curated))
    return bars_of(
        "What keeps memories",
        found,
        counted="memories",
        named="reason",
        note="One memory may have several reasons.",
    )


def archive(reading: ReportReader) -> Plot:
    """Return which rules brought memories into the archive."""
    found = archived_counts(reading.catalog.database, reading.projects)
    counts = {RULES.get(one.rule, one.rule): one.memories for one in found}
    return bars_of("In the archive", counts, counted="memories", named="rule")


def recalls(reading: ReportReader) -> Plot:
    """Return in how many sessions the memories were recalled."""
    found = reading.figures.recalled()
    names = ["0", "1", "2", "3-5", "6-10", ">10"]
    never = found.get(0, 0)
    every = sum(found.values())
    return Columns(
        "Recalls",
        Axis("sessions that recalled it"),
        Axis("memories"),
        names,
        [Layer("memories", strength_class(found, (0, 1, 2, 5, 10)))],
        note=f"{every - never:,} of {every:,} were recalled in a session." if every else "",
    )


def injections(reading: ReportReader) -> Plot:
    """Return what became known of the use of what sessions were given."""
    found = reading.figures.given()
    return Stacks(
        "What sessions were given",
        "injections",
        ["rated good", "rated bad", "recalled by another session", "nothing known"],
        [
            Row(
                one.event,
                [one.good, one.bad, one.recalled, one.injections - one.good - one.bad - one.recalled],
                f"{one.tokens:,} tokens",
            )
            for one in found
        ],
        named="event",
    )


def gc(reading: ReportReader) -> Plot:
    """Return what the latest runs of gc did; of all projects, for a run is of all."""
    runs = reading.catalog.gc_runs.latest(RUNS)
    did = [Counter[str]() for _ in runs]
    for one, run in zip(did, runs, strict=True):
        for name, count in run.counts.items():
            one[name.partition("/")[0]] += count
    total = sum(did, Counter[str]())
    actions = sorted(total, key=lambda name: (-total[name], name))[:LAYERS]
    rows = [
        Row(
            f"{run.started:%Y-%m-%d %H:%M}",
            [one[action] for action in actions],
            "undone" if run.undone else "" if run.ended else "not ended",
        )
        for one, run in zip(did, runs, strict=True)
    ]
    return Stacks("Runs of gc", "memories", actions or ["archive"], rows, named="run")
