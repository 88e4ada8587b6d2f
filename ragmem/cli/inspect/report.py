"""`ragmem inspect report`: a report of the memory as one HTML file, as pictures, or as text."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragmem.cli.common import (
    bold,
    check_target,
    open_memory,
    printable,
    say,
    say_json,
    select_projects,
    size,
    tell,
    write_picture,
)
from ragmem.cli.inspect.plots import (
    AtOption,
    LatencyOption,
    PrivateOption,
    measure_latency,
    reference_moment,
    say_plots,
)
from ragmem.cli.options import AllOption, JsonOption, ProjectOption
from ragmem.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.services.reporting.report import Report


def report(
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write one HTML file; - is standard output."),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option("--svg", metavar="FOLDER", help="Write each plot as an SVG file into this folder."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite existing files.")] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the HTML file in the browser.")] = False,
    project: ProjectOption = None,
    every: AllOption = False,
    latency: LatencyOption = False,
    private: PrivateOption = False,
    at: AtOption = "",
    as_json: JsonOption = False,
) -> int:
    """Write a report with plots to one HTML file, to SVG files, or to the terminal."""
    given = [name for name, value in (("--html", html), ("--svg", svg), ("--json", as_json)) if value]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} are mutually exclusive", hint="give one of them")
    if show and (html is None or str(html) == "-"):
        raise UsageError("--open requires --html", hint="name the file: --html report.html")
    if force and html is None and svg is None:
        raise UsageError("--force requires --html or --svg", hint="name the file: --html report.html")
    _check_places(html, svg, force=force)
    moment = reference_moment(at)
    with open_memory() as memory:
        projects = select_projects(memory, project, every=every)
        known = memory.catalog.projects.names()
        names = None if projects is None else [known.get(one, one) for one in projects]
        made = memory.reports.build(
            where="all projects" if names is None else ", ".join(names),
            projects=projects,
            private=private,
            latency=measure_latency(memory, projects) if latency else None,
            at=moment,
        )
    if as_json:
        from ragmem.services.reporting.report import report_shape

        say_json({"schema": 1, "report": report_shape(made)})
    elif html is not None:
        _write_page(made, html, force=force, show=show)
    elif svg is not None:
        _write_pictures(made, svg, force=force)
    else:
        _say(made)
    return EXIT_OK


def _check_places(html: Path | None, svg: Path | None, *, force: bool) -> None:
    """Raise UsageError before the report is made if its files could not be written."""
    from ragmem.services.processes.atomic_write import place_for

    check_target(html, force=force)
    if svg is None:
        return
    from ragmem.services.reporting.plots import PLOTS

    if svg.exists() and not svg.is_dir():
        raise UsageError(f'"{svg}" is not a folder', hint="give the name of a folder")
    if not svg.exists() and not svg.absolute().parent.is_dir():
        raise UsageError(f'there is no folder "{svg.parent}"', hint="create it, or give another path")
    if svg.is_dir():
        for name in PLOTS:
            place_for(svg / f"{name}.svg", force=force)


def _write_page(made: "Report", html: Path, *, force: bool, show: bool) -> None:
    from ragmem.services.processes.atomic_write import new_file
    from ragmem.services.reporting.page import page

    text = page(made)
    if str(html) == "-":
        say(text.rstrip("\n"))
        return
    with new_file(html, force=force) as file:
        file.write(text.encode("utf-8"))
    say(f"{html}: {made.title}, {len(made.plots)} plots, {size(html.stat().st_size)}")
    if show:
        import webbrowser

        if not webbrowser.open(html.resolve().as_uri()):
            tell("no browser could be opened: set BROWSER to your browser")


def _write_pictures(made: "Report", folder: Path, *, force: bool) -> None:
    from ragmem.charts.svg import svg

    folder.mkdir(exist_ok=True)
    for name, plot in made.plots.items():
        write_picture(svg(plot, name=name), folder / f"{name}.svg", plot.title, force=force)


def _say(made: "Report") -> None:
    from ragmem.charts.terminal import NARROWEST, WIDEST
    from ragmem.charts.widths import wrap

    room = max(NARROWEST, min(shutil.get_terminal_size().columns, WIDEST)) - 2
    say(bold(made.title))
    say(f"as of {made.made:%Y-%m-%d %H:%M} UTC, ragmem {made.version}")
    say()
    for sentence in made.sentences:
        for number, line in enumerate(wrap(printable(sentence), room)):
            say(f"{'  ' if number else '- '}{line}")
    say()
    say_plots(made.plots.values())
