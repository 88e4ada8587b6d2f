"""`ragmem inspect plots`: curves and counts of the memory in the terminal, or as JSON."""

import shutil
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ragmem.cli.common import bold, open_memory, say, say_json, select_projects, style, tell
from ragmem.cli.options import AllOption, JsonOption, ProjectOption
from ragmem.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from ragmem.api.memory import Ragmem
    from ragmem.charts.model import Plot, Tone
    from ragmem.services.reporting.latency import Latency

EARLIEST = 12
"""The first year for which plots can be made: they reach back ten years."""

QUESTIONS = 100
"""Number of questions that measure the latency."""

_COLOURS = {"plain": 36, "fresh": 34, "firm": 32, "lasting": 35, "fading": 33, "gone": 2}


class PlotName(StrEnum):
    """The plots; a test holds them equal to those of `services.reporting.plots`."""

    DECAY = "decay"
    AGES = "ages"
    WEEKS = "weeks"
    GROWTH = "growth"
    TIERS = "tiers"
    SOURCES = "sources"
    PROJECTS = "projects"
    DEGREE = "degree"
    TOPICS = "topics"
    CONNECTIONS = "connections"
    STATES = "states"
    KEPT = "kept"
    ARCHIVE = "archive"
    RECALLS = "recalls"
    INJECTIONS = "injections"
    GC = "gc"
    LATENCY = "latency"


LatencyOption = Annotated[
    bool, typer.Option("--latency", help=f"Also time {QUESTIONS} queries, which loads the model.")
]
PrivateOption = Annotated[
    bool, typer.Option("--private", help="Only counts, without titles and names of projects and entities.")
]
AtOption = Annotated[
    str, typer.Option("--at", help="Compute ages at this time instead of now: 2026-03-15, 7d, yesterday.")
]


def plots(
    names: Annotated[
        list[PlotName] | None,
        typer.Argument(metavar="[NAME]...", help="Only these plots; by default all but latency."),
    ] = None,
    project: ProjectOption = None,
    every: AllOption = False,
    latency: LatencyOption = False,
    private: PrivateOption = False,
    at: AtOption = "",
    as_json: JsonOption = False,
) -> int:
    """Draw plots of decay, ages, tiers, degrees, connections, states and more."""
    from ragmem.charts.numbers import plot_shape

    moment = reference_moment(at)
    wanted = [name.value for name in dict.fromkeys(names or ())]
    asks = latency or PlotName.LATENCY.value in wanted
    if latency and wanted and PlotName.LATENCY.value not in wanted:
        wanted.append(PlotName.LATENCY.value)
    with open_memory() as memory:
        projects = select_projects(memory, project, every=every)
        found = memory.reports.plots(
            wanted,
            projects=projects,
            private=private,
            latency=measure_latency(memory, projects) if asks else None,
            at=moment,
        )
    if as_json:
        say_json({"schema": 1, "plots": {name: plot_shape(plot) for name, plot in found.items()}})
        return EXIT_OK
    say_plots(found.values())
    return EXIT_OK


def reference_moment(at: str) -> "datetime":
    """Return the moment in UTC from which ages count; raises UsageError for an invalid one."""
    from datetime import UTC

    from ragmem.api.memory import now
    from ragmem.services.processes.dates import parse_moment

    if not at:
        return now()
    moment = parse_moment(at, now=now()).astimezone(UTC)
    if moment.year < EARLIEST:
        raise UsageError(f'"{at}" is before the year {EARLIEST}', hint="plots cover the ten years before it")
    return moment


def measure_latency(memory: "Ragmem", projects: "Sequence[str] | None") -> "Latency":
    """Measure how long questions take, and print a notice before."""
    tell(f"timing {QUESTIONS} queries")
    return memory.reports.latency(projects=projects, questions=QUESTIONS)


def say_plots(plots: "Iterable[Plot]") -> None:
    """Write plots with a blank line between them."""
    from ragmem.charts.terminal import lines, signs_for

    width = shutil.get_terminal_size().columns
    signs = signs_for(sys.stdout.encoding)
    for number, plot in enumerate(plots):
        if number:
            say()
        title, *rest = lines(plot, width=width, signs=signs, paint=_paint)
        say(bold(title))
        for line in rest:
            say(line)


def _paint(text: str, tone: "Tone") -> str:
    return style(text, str(_COLOURS[tone]))
