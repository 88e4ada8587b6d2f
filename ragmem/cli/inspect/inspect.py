"""`ragmem inspect`: explore memories, graph, code, settings and costs."""

from typing import Annotated, Any, Literal

import typer

from ragmem.cli.common import (
    bold,
    moment,
    open_memory,
    printable,
    run_default_command,
    say,
    say_fitted,
    say_json,
    say_markdown,
    size,
    table,
)
from ragmem.cli.inspect.code import code, say_code
from ragmem.cli.inspect.connections import connections, history
from ragmem.cli.inspect.explore import can_explore, explore, run_explorer
from ragmem.cli.inspect.export import graph
from ragmem.cli.inspect.graph import communities, entities, entity, path, timeline
from ragmem.cli.inspect.impact import impact
from ragmem.cli.inspect.injections import injections
from ragmem.cli.inspect.lifecycle import lifecycle
from ragmem.cli.inspect.lines import say_ageing, say_life
from ragmem.cli.inspect.memories import memories
from ragmem.cli.inspect.merges import merges
from ragmem.cli.inspect.plots import plots
from ragmem.cli.inspect.queue import queue
from ragmem.cli.inspect.records import records
from ragmem.cli.inspect.report import report
from ragmem.cli.inspect.sources import sources
from ragmem.cli.inspect.transcripts import transcripts
from ragmem.cli.options import FromOption, JsonOption, LimitOption, MemoryArgument, SourcesFileOption
from ragmem.config.secrets import mask_secrets
from ragmem.errors import EXIT_OK

EPILOG = """\b
Examples:
  ragmem inspect
  ragmem inspect memories --kind error --since 30d
  ragmem inspect entity PostgreSQL
  ragmem inspect timeline PostgreSQL --since 2025-01-01
  ragmem inspect graph --export graphml --out graph.graphml
  ragmem inspect lifecycle --svg lifecycle.svg
  ragmem inspect plots decay ages
  ragmem inspect report --html report.html
  ragmem inspect config --json

\b
Exit codes:
  0  shown
  1  nothing found: no path, no mention, no match
  2  no such id or entity
"""

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Explore memories, graph, code, settings and costs.",
    epilog=EPILOG,
)


@app.callback(invoke_without_command=True)
def inspect(context: typer.Context, as_json: JsonOption = False) -> int:
    """Explore memories, graph, code, settings and costs.

    Without a command, on a terminal, it opens the explorer where Textual is installed; else it shows the
    numbers.
    """
    if context.invoked_subcommand is None and not as_json and can_explore():
        return run_explorer()
    return run_default_command(context, stats, group="inspect", as_json=as_json)


@app.command()
def stats(as_json: JsonOption = False) -> int:
    """Show statistics: memories by state, source and kind, chunks, vectors, entities, size."""
    with open_memory() as memory:
        found = memory.reports.statistics() | {"idle_gc": memory.lifecycle.is_automatic()}
    if as_json:
        say_json({"schema": 1, **found})
        return EXIT_OK
    catalog = found["catalog"]
    say_fitted(f"{bold('home')}        {found['home']}  ({size(found['bytes'])})", indent=12)
    if "database" in found:
        say_fitted(f"{bold('database')}    {found['database']}", indent=12)
    total = catalog["total"]
    say(
        f"{bold('memories')}    {total['memories']:,}  in {total['chunks']:,} chunks,"
        f" {size(total['characters'])} of text"
    )
    for name, count in found["store"].items():
        say(f"{bold(name.replace('_', ' ').ljust(10))}  {count:,}")
    for part in ("state", "tier", "kind", "source", "project"):
        if catalog[part]:
            counts = ", ".join(f"{name} {count:,}" for name, count in list(catalog[part].items())[:12])
            say_fitted(f"{bold(part.ljust(10))}  {counts}", indent=12)
    held = found["inbox"]
    if held["waiting"] or held["aside"]:
        since = f" since {held['since']}" if held["since"] else ""
        counts = f"waiting {held['waiting']:,}{since}, set aside {held['aside']:,}"
        say(f"{bold('inbox'.ljust(10))}  {counts}")
    told = "on: `ragmem serve` runs it while idle" if found["idle_gc"] else "off"
    say(f"{bold('idle gc'.ljust(10))}  {told}")
    return EXIT_OK


app.command()(sources)

BESIDE = 13
"""Columns of a name, which the further lines of its value leave free."""

_TOLD_APART = frozenset(
    (
        "text",
        "summary",
        "chunks",
        "id",
        "code",
        "superseded_by",
        "perhaps_outdated",
        "replaced",
        "life",
        "ageing",
    )
)


@app.command()
def memory(
    identifier: MemoryArgument,
    as_json: JsonOption = False,
) -> int:
    """Show everything about one memory: origin, classification, lifecycle, code, chunks and text."""
    from ragmem.api.home import now
    from ragmem.services.code.links import code_of
    from ragmem.services.code.shapes import links_shape
    from ragmem.services.lifecycle.feedback import life_shape
    from ragmem.services.retrieval.shapes import ageing_shape, memory_shape
    from ragmem.services.retrieval.supersessions import (
        previous_version_line,
        previous_version_shapes,
        superseded_line,
        superseded_shape,
        supersession_state,
    )

    with open_memory() as opened:
        found = opened.memory(identifier)
        state = supersession_state(opened.catalog, found)
        life = life_shape(opened.lifecycle.status(found.id))
        chunks = opened.catalog.memories.chunks(found)
        code_links = links_shape(code_of(opened.catalog, found))
        ageing = ageing_shape(found, opened.settings.decay, now=now())
    shape = memory_shape(found, verbatim=True, redactor=opened.redactor) | {
        "chunks": [
            {"id": chunk.id, "heading": chunk.heading, "start": chunk.start, "end": chunk.end}
            for chunk in chunks
        ],
        "code": code_links,
        "superseded_by": superseded_shape(state.superseded, redactor=opened.redactor),
        "perhaps_outdated": superseded_shape(state.outdated, redactor=opened.redactor),
        "replaced": previous_version_shapes(state.replaced, redactor=opened.redactor),
        "life": life,
        "ageing": ageing,
    }
    if as_json:
        say_json({"schema": 1, "memory": shape})
        return EXIT_OK
    for name, value in shape.items():
        if name in _TOLD_APART or value in ("", [], {}, False):
            continue
        say_fitted(f"{bold(name.ljust(12))} {_shown(value)}", indent=BESIDE)
    if link := state.link:
        say_fitted(f"{bold('state now'.ljust(12))} {superseded_line(link)}", indent=BESIDE)
        because = opened.redactor.redact(link.reason)[0]
        say_fitted(f"{bold('because'.ljust(12))} {because}", indent=BESIDE)
    for former in state.replaced:
        told = printable(previous_version_line(former, opened.redactor))
        say_fitted(f"{bold('replaces'.ljust(12))} {former.supersession.older[:12]}, {told}", indent=BESIDE)
    say(f"{bold('chunks'.ljust(12))} {len(chunks)}")
    say_code(code_links)
    say_life(life)
    say_ageing(ageing)
    if found.summary:
        say(f"\n{bold('summary')}")
        say_markdown(found.summary)
    say()
    say_markdown(found.text)
    return EXIT_OK


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_shown(one)}" for name, one in value.items())
    return (
        ", ".join(map(_shown, value)) if isinstance(value, list) else "yes" if value is True else str(value)
    )


for view in (
    explore,
    memories,
    connections,
    history,
    entities,
    entity,
    path,
    communities,
    timeline,
    merges,
    graph,
    records,
    code,
    impact,
    lifecycle,
    plots,
    report,
    injections,
    queue,
    transcripts,
):
    app.command()(view)


@app.command()
def config(as_json: JsonOption = False, sources_file: SourcesFileOption = None) -> int:
    """Show each setting and where its value comes from."""
    with open_memory(sources_file=sources_file) as memory:
        rows = [
            (key, mask_secrets(value, redactor=memory.redactor), origin)
            for key, value, origin in memory.settings.origins()
        ]
        places = memory.settings.places
    if as_json:
        say_json(
            {
                "schema": 1,
                "config": [{"key": key, "value": value, "origin": origin} for key, value, origin in rows],
                "places": {name: str(getattr(places, name)) for name in ("config", "data", "state", "cache")},
            }
        )
        return EXIT_OK
    table(("key", "value", "origin"), [(key, _format_value(value), origin) for key, value, origin in rows])
    return EXIT_OK


@app.command()
def usage(
    by: Annotated[
        Literal["day", "model", "purpose"], typer.Option("--by", help="Group the rows by this.")
    ] = "day",
    since: FromOption = "",
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show requests to providers, their cost, and what is left of today's caps."""
    from ragmem.cli.inspect.usage import show_usage

    return show_usage(by=by, since=since, limit=limit, as_json=as_json)


@app.command()
def log(limit: LimitOption = None, as_json: JsonOption = False) -> int:
    """Show the log of operations, latest first."""
    with open_memory() as memory:
        memory.require()
        entries = memory.catalog.log.entries(limit=limit or 20)
        runs = {run.run for run in memory.catalog.archive.runs()}
    rows = [
        {**entry, "at": moment(entry["at"]), "undoable": entry["detail"].get("run") in runs}
        for entry in entries
    ]
    if as_json:
        say_json({"schema": 1, "log": rows})
        return EXIT_OK
    table(
        ("at", "operation", "detail"),
        [
            (
                row["at"],
                row["operation"],
                ", ".join(f"{name} {value}" for name, value in row["detail"].items())
                + (" (can be undone)" if row["undoable"] else ""),
            )
            for row in rows
        ],
    )
    return EXIT_OK


@app.command()
def runs(limit: LimitOption = None, as_json: JsonOption = False) -> int:
    """List the runs that stored memories, latest first; `forget --ingest RUN` removes one."""
    with open_memory() as memory:
        memory.require()
        found = memory.catalog.storing_runs.latest(limit or 20)
    if as_json:
        rows = [
            {
                "run": one.run,
                "at": moment(one.at),
                "operation": one.operation,
                "memories": one.memories,
                "sources": dict(one.sources),
            }
            for one in found
        ]
        say_json({"schema": 1, "runs": rows})
        return EXIT_OK
    table(
        ("run", "at", "by", "memories", "sources"),
        [
            (one.run, moment(one.at), one.operation or "-", one.memories, ", ".join(one.sources))
            for one in found
        ],
    )
    return EXIT_OK


def _format_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value)
    return str(value)
