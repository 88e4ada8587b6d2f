"""`ragmem inspect lifecycle`: the lifecycle of memories as charts, tables, JSON, or a picture."""

import shutil
from typing import TYPE_CHECKING

from ragmem.cli.common import (
    bold,
    check_target,
    dim,
    open_memory,
    say,
    say_json,
    select_projects,
    table,
    write_picture,
)
from ragmem.cli.inspect.plots import say_plots
from ragmem.cli.options import AllOption, ForceOption, JsonOption, LimitOption, ProjectOption, SvgOption
from ragmem.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.charts.model import Sheet
    from ragmem.services.reporting.lifecycle_report import LifecycleReport

LINES = 10
"""Lines of each list without --limit."""

MEMBERS = 8
"""Members of a topic that are listed."""

TITLE = 44
"""Characters of a memory's title in a table."""


def lifecycle(
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    svg: SvgOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> int:
    """Show states and connections of memories, what was archived and why, and what is due next."""
    if as_json and svg is not None:
        raise UsageError("--json and --svg are mutually exclusive", hint="give one of them")
    check_target(svg, force=force)
    with open_memory() as memory:
        projects = select_projects(memory, project, every=every)
        report = memory.reports.lifecycle(
            projects, limit=limit or LINES, members=None if as_json else MEMBERS
        )
        known = memory.catalog.projects.names()
    names = None if projects is None else [known.get(one, one) for one in projects]
    if as_json:
        from ragmem.services.reporting.lifecycle_picture import lifecycle_shape

        say_json({"schema": 1, **lifecycle_shape(report)})
        return EXIT_OK
    from ragmem.services.reporting.lifecycle_picture import format_projects, sheet

    charts = sheet(report, format_projects(names))
    if svg is not None:
        from ragmem.charts.svg import sheet_svg

        write_picture(sheet_svg(charts), svg, charts.title, force=force)
    else:
        _say_charts(charts)
        _say_tables(report)
    return EXIT_OK


def _say_charts(charts: "Sheet") -> None:
    from ragmem.charts.terminal import NARROWEST, WIDEST
    from ragmem.charts.widths import wrap

    say(bold(charts.title))
    for line in wrap(charts.summary, max(NARROWEST, min(shutil.get_terminal_size().columns, WIDEST))):
        say(line)
    say()
    say_plots(charts.plots)


def _say_tables(report: "LifecycleReport") -> None:
    from ragmem.charts.widths import truncate

    for one in report.groups:
        say()
        say(f"{bold(truncate(one.title or one.id[:12], TITLE))}  {one.size:,} memories")
        if one.names:
            say(f"  {', '.join(one.names)}")
        for member in one.members:
            say(f"  {member.at:%Y-%m-%d}  {member.id[:12]}  {truncate(member.title, TITLE)}")
        if one.size > MEMBERS:
            say(dim(f"  and {one.size - MEMBERS:,} more: --json shows all"))
    if report.loners:
        say()
        say(bold("Isolated memories: next to be archived, then next to be reviewed"))
        table(
            ("id", "newer", "examined in", "reprieves", "worthless", "because", "title"),
            [
                (
                    one.id[:12],
                    one.newer,
                    "goes" if one.action == "archive" else "now" if not one.left else f"{one.left}",
                    one.reprieves,
                    f"{one.score:.2f}",
                    truncate(", ".join(one.reasons[:3]), TITLE),
                    truncate(one.title, TITLE),
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
