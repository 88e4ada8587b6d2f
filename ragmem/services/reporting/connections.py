"""Plots of the relations of entities and the connections of memories."""

from collections import Counter
from collections.abc import Mapping, Sequence

from ragmem.charts.model import Axis, Columns, Curves, Layer, Line, Plot, Scale
from ragmem.errors import BackendError
from ragmem.services.reporting.context import ReportContext


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
    counts = strength_class(found, (0, 1, 2, 5, 10, 20, 50))
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


def strength_class(found: Mapping[int, int], ends: Sequence[int]) -> list[float]:
    """Return the size of each class: up to the first end, up to the second, ..., and above the last."""
    counts = [0.0] * (len(ends) + 1)
    for number, count in found.items():
        counts[sum(number > end for end in ends)] += count
    return counts
