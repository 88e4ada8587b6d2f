"""`ragmem inspect graph`: the most connected entities, or the graph itself for another program."""

import sys
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragmem.cli.common import open_memory, plural, say, say_json, select_projects, tell
from ragmem.cli.inspect.lines import say_entities
from ragmem.cli.options import AllOption, JsonOption, LimitOption, ProjectOption
from ragmem.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.services.graph.export import ExportReport

ExportForm = Literal["graphml", "json", "mermaid"]
"""The formats of a graph for other programs."""


def graph(
    export: Annotated[
        ExportForm | None, typer.Option("--export", "-e", help="Export the graph in this format.")
    ] = None,
    around: Annotated[
        str, typer.Option("--around", metavar="NAME", help="Export only the neighbourhood of this entity.")
    ] = "",
    depth: Annotated[
        int | None, typer.Option("--depth", min=1, max=10, help="Number of steps around it; 2 by default.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the export to a new file.", dir_okay=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace that file.")] = False,
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show the most connected entities, or export the graph as GraphML, node-link JSON or Mermaid.

    An export has all entities, a Mermaid diagram the 60 most connected, unless you give --limit.
    """
    from ragmem.services.graph.shapes import top_shape

    if export is None:
        for name, given in (("--around", around), ("--depth", depth), ("--out", out), ("--force", force)):
            if given:
                raise UsageError(f"{name} requires --export", hint="use --export graphml, json or mermaid")
    elif as_json:
        raise UsageError(
            "--json and --export are mutually exclusive", hint="--export json writes the graph as JSON"
        )
    if depth and not around:
        raise UsageError("--depth requires --around", hint="name the entity: --around NAME")
    if force and out is None:
        raise UsageError("--force requires --out", hint="name the file: --out FILE")
    with open_memory() as memory:
        projects = select_projects(memory, project, every=every)
        if export is not None:
            done = _export(memory, projects, export, around, depth or 2, limit, out, force=force)
            _tell_size(done, out)
            return EXIT_OK
        shape = top_shape(memory.graph(projects).top(limit=limit or 20), redactor=memory.redactor)
        titles = memory.catalog.projects.names()
    if as_json:
        say_json({"schema": 1, **shape})
        return EXIT_OK
    say_entities(shape["entities"], titles)
    return EXIT_OK


def _export(
    memory: "Ragmem",
    projects: tuple[str, ...] | None,
    form: ExportForm,
    around: str,
    depth: int,
    limit: int | None,
    out: Path | None,
    *,
    force: bool,
) -> "ExportReport":
    from ragmem.charts.widths import escape_controls
    from ragmem.services.processes.atomic_write import new_file

    views = memory.graph(projects)
    if out is None and sys.stdout.isatty():
        shown = BytesIO()
        done = views.export(form, shown, around=around, depth=depth, limit=limit)
        written = shown.getvalue()
        # JSON has escapes that say the same.
        say((escape_controls(written) if form == "json" else written).decode().rstrip("\n"))
        return done
    if out is None:
        sys.stdout.flush()
        done = views.export(form, sys.stdout.buffer, around=around, depth=depth, limit=limit)
        sys.stdout.buffer.flush()
        return done
    with new_file(out, force=force) as file:
        return views.export(form, file, around=around, depth=depth, limit=limit)


def _tell_size(done: "ExportReport", out: Path | None) -> None:
    sizes = f"{plural(done.entities, 'entity', 'entities')}, {plural(done.relations, 'relation')}"
    if out is not None:
        tell(f'wrote "{out}": {sizes}')
    if done.truncated:
        tell(f"note: the graph is larger than these {sizes}; -n sets the number of entities")
