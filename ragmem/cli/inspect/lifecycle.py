"""`ragmem inspect lifecycle`: how the memories live, as charts, tables, JSON, or a picture."""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragmem.cli.common import (
    JsonOption,
    LimitOption,
    bold,
    open_memory,
    say,
    say_json,
    styled,
    table,
)
from ragmem.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.charts.charts import Sheet, Tone
    from ragmem.services.reporting.lifecycle_report import LifecycleReport

LINES = 10
"""Lines of each list without --limit."""

TITLE = 44
"""Letters of a memory's title in a table."""

_COLOURS = {"plain": 36, "fresh": 34, "firm": 32, "lasting": 35, "fading": 33, "gone": 2}


def lifecycle(
    project: Annotated[
        list[str] | None, typer.Option("--project", "-p", help="Only this project: name, id or path.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", "-a", help="All projects, not only this one and yours.")
    ] = False,
    limit: LimitOption = None,
    svg: Annotated[
        Path | None,
        typer.Option("--svg", metavar="FILE", help="Draw a picture into this file; - is standard output."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the file if there is one.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Show what state memories are in, what connects them, what went and why, and what goes next."""
    if as_json and svg is not None:
        raise UsageError("--json and --svg exclude each other", hint="give one of them")
    if every and project:
        raise UsageError("--all and --project exclude each other", hint="give one of them")
    if svg is not None and str(svg) != "-":
        from ragmem.services.processes.atomic_write import place_for

        place_for(svg, force=force)
    with open_memory() as memory:
        memory.require()
        projects = memory.named_projects(project) if project else None if every else memory.default_projects()
        report = memory.lifecycle_report(projects, limit=limit or LINES)
        known = memory.catalog.projects.names()
    names = None if projects is None else [known.get(one, one) for one in projects]
    if as_json:
        from ragmem.services.reporting.lifecycle_picture import lifecycle_shape

        say_json({"schema": 1, **lifecycle_shape(report)})
        return EXIT_OK
    from ragmem.services.reporting.lifecycle_picture import sheet, where_of

    drawn = sheet(report, where_of(names))
    if svg is not None:
        _draw(drawn, svg, force=force)
    else:
        _say_charts(drawn)
        _say_tables(report)
    return EXIT_OK


def _draw(drawn: "Sheet", svg: Path, *, force: bool) -> None:
    from ragmem.charts import chart_svg
    from ragmem.services.processes.atomic_write import new_file

    picture = chart_svg.svg(drawn)
    if str(svg) == "-":
        say(picture.rstrip("\n"))
        return
    with new_file(svg, force=force) as file:
        file.write(picture.encode("utf-8"))
    say(f"{svg}: {drawn.title}")


def _say_charts(drawn: "Sheet") -> None:
    from ragmem.charts import chart_lines

    width = shutil.get_terminal_size().columns
    say(bold(drawn.title))
    for line in chart_lines.wrapped(drawn.told, max(chart_lines.NARROWEST, min(width, chart_lines.WIDEST))):
        say(line)
    for line in chart_lines.drawn(
        drawn, width=width, brush=chart_lines.brush_for(sys.stdout.encoding), paint=_painted
    ):
        say(bold(line) if line and not line.startswith(" ") else line)


def _painted(text: str, tone: "Tone") -> str:
    return styled(text, str(_COLOURS[tone]))


def _say_tables(report: "LifecycleReport") -> None:
    from ragmem.charts.widths import fitted

    if report.loners:
        say()
        say(bold("Alone: what goes next, then what is looked at next"))
        table(
            ("id", "newer", "looked at in", "reprieves", "substance", "because", "title"),
            [
                (
                    one.id[:12],
                    one.newer,
                    "goes" if one.action == "archive" else "now" if not one.left else f"{one.left}",
                    one.reprieves,
                    f"{one.score:.1f}",
                    fitted(", ".join(one.reasons[:3]), TITLE),
                    fitted(one.title, TITLE),
                )
                for one in report.loners
            ],
        )
    if report.runs:
        say()
        say(bold("Runs of gc"))
        table(
            ("run", "started", "by", "archived now", "what it did"),
            [
                (
                    run.run,
                    run.started.strftime("%Y-%m-%d %H:%M"),
                    run.caller,
                    run.archived,
                    ", ".join(f"{name} {count:,}" for name, count in run.counts.items())
                    + (" (undone)" if run.undone else "" if run.ended else " (not ended)"),
                )
                for run in report.runs
            ],
        )
