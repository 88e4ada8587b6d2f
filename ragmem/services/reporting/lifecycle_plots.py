"""Plots of the lifecycle and the use of memories: states, reasons, archive, recalls, injections, gc."""

from collections import Counter
from collections.abc import Mapping, Sequence

from ragmem.charts.model import Axis, Columns, Curves, Layer, Line, Plot, Row, Scale, Stacks, bars_of
from ragmem.errors import BackendError
from ragmem.services.reporting.context import LAYERS, ReportContext
from ragmem.services.reporting.lifecycle_picture import RULES
from ragmem.storage.lifecycle.archive import archived_counts

RUNS = 10
"""Number of gc runs that are shown."""


def states(context: ReportContext) -> Plot:
    """Return the states of the memories, including archived ones."""
    found = context.figures.states(sorted(context.lifecycle.curated))
    archived = sum(one.memories for one in archived_counts(context.catalog.database, context.projects))
    order = ("buffer", "proven", "permanent", "superseded", "waiting")
    counts = {name: found.get(name, 0) for name in order} | {"archived": archived}
    return bars_of(
        "Lifecycle",
        counts,
        unit="memories",
        category="state",
        note=(
            "Connected and recalled memories become proven; isolated and unspecific ones are archived and "
            "can be restored."
        ),
    )


def keep_reasons(context: ReportContext) -> Plot:
    """Return the reasons that keep memories from expiring."""
    found = context.figures.retention_counts(sorted(context.lifecycle.curated))
    return bars_of(
        "Why memories are kept",
        found,
        unit="memories",
        category="reason",
        note="One memory may have several reasons.",
    )


def archive(context: ReportContext) -> Plot:
    """Return the rules that archived memories."""
    found = archived_counts(context.catalog.database, context.projects)
    counts = {RULES.get(one.rule, one.rule): one.memories for one in found}
    return bars_of("Archived", counts, unit="memories", category="rule")


def recalls(context: ReportContext) -> Plot:
    """Return the distribution of the number of sessions that recalled a memory."""
    found = context.figures.recall_histogram()
    names = ["0", "1", "2", "3-5", "6-10", ">10"]
    never = found.get(0, 0)
    every = sum(found.values())
    return Columns(
        "Recalls",
        Axis("sessions that recalled it"),
        Axis("memories"),
        names,
        [Layer("memories", _strength_class(found, (0, 1, 2, 5, 10)))],
        note=f"{every - never:,} of {every:,} were recalled in a session." if every else "",
    )


def injections(context: ReportContext) -> Plot:
    """Return the feedback on the memories that were injected into sessions."""
    found = context.figures.injection_uses()
    return Stacks(
        "Injections",
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
        category="event",
    )


def gc(context: ReportContext) -> Plot:
    """Return the actions of the latest gc runs, which are for all projects."""
    runs = context.catalog.gc_runs.latest(RUNS)
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
    return Stacks("Runs of gc", "memories", actions or ["archive"], rows, category="run")


def degree(context: ReportContext) -> Plot:
    """Return the distribution of the number of relations of an entity."""
    x, y = Axis("relations of an entity", scale=Scale.LOG), Axis("entities", scale=Scale.LOG)
    title = "Degrees in the graph of entities"
    try:
        store = context.open_store()
        found = Counter(
            count for project in context.figures.by_project() for _, count in store.nodes(project)
        )
    except BackendError as error:
        # The error names the store and its path.
        why = "" if context.private else f": {context.redact_line(str(error))}"
        return Curves(title, x, y, [], note=f"The store cannot be read{why}.")
    alone = found.pop(0, 0)
    entities = sum(found.values())
    relations = sum(count * number for count, number in found.items()) // 2
    note = (
        f"{entities + alone:,} entities, {relations:,} relations; {found.get(1, 0):,} have one relation,"
        f" {alone:,} none, the most connected {max(found, default=0):,}."
    )
    points = [(float(count), float(number)) for count, number in sorted(found.items())]
    return Curves(title, x, y, [Line("entities", points)], note=note, joined=False)


def connections(context: ReportContext) -> Plot:
    """Return the distribution of the number of connections of a memory."""
    found = context.figures.connection_histogram()
    names = ["0", "1", "2", "3-5", "6-10", "11-20", "21-50", ">50"]
    counts = _strength_class(found, (0, 1, 2, 5, 10, 20, 50))
    every = sum(found.values())
    alone = found.get(0, 0)
    note = f"{every - alone:,} of {every:,} are connected with another one." if every else ""
    return Columns(
        "Connections of a memory",
        Axis("connections"),
        Axis("memories"),
        names,
        [Layer("memories", counts)],
        note=note,
    )


def _strength_class(found: Mapping[int, int], ends: Sequence[int]) -> list[float]:
    """Return the size of each class: up to the first end, up to the second, ..., and above the last."""
    counts = [0.0] * (len(ends) + 1)
    for number, count in found.items():
        counts[sum(number > end for end in ends)] += count
    return counts
