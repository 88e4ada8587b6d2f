"""`ragmem export`: export all memories verbatim as JSON Lines."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ragmem.cli.common import Bar, open_memory, plural, say, say_json, size
from ragmem.cli.options import (
    DryRunOption,
    ForceOption,
    JsonOption,
    KindOption,
    QuietOption,
    SinceOption,
    SourceOption,
)
from ragmem.errors import EXIT_OK, UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem export memory.jsonl.gz
  ragmem export --kind error --since 30d - | wc -l

\b
Exit codes:
  0  written
  2  usage, or the file exists
  3  the file cannot be written
"""

STDOUT = Path("-")


@app.command(epilog=EPILOG)
def export(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The target; .gz compresses, - is standard output.")
    ] = STDOUT,
    project: Annotated[
        list[str] | None,
        typer.Option("--project", "-p", help="Only this project: name, id or path; repeatable."),
    ] = None,
    source: SourceOption = None,
    kind: KindOption = None,
    since: SinceOption = "",
    force: ForceOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Export all memories verbatim as JSON Lines."""
    from ragmem.api.memory import now
    from ragmem.services.ingestion.scope import require_sources
    from ragmem.services.processes.atomic_write import place_for
    from ragmem.services.processes.dates import parse_moment
    from ragmem.services.transfer.exporter import export as export_lines
    from ragmem.services.transfer.exporter import export_file
    from ragmem.storage.maintenance.catalog_export import Contents, Selection

    if file == STDOUT and as_json and not dry_run:
        raise UsageError("--json and standard output are mutually exclusive", hint="name a file")
    moment = now()
    with open_memory(quiet=quiet) as memory, Bar(quiet=quiet or as_json) as bar:
        memory.require()
        if not dry_run:
            memory.inbox.drain()
        selection = Selection(
            projects=memory.projects.resolve(project or ()),
            sources=require_sources(memory.catalog, memory.settings, source or ()),
            kinds=tuple(kind or ()),
            since=parse_moment(since, now=moment) if since else None,
        )
        if dry_run:
            if file != STDOUT:
                place_for(file, force=force)
            counts = Contents(memory.catalog.database).counts(selection)
        elif file == STDOUT:
            sys.stdout.flush()
            export_lines(memory.catalog, _write, selection=selection, now=moment, progress=bar)
            sys.stdout.buffer.flush()
            return EXIT_OK
        else:
            counts = dict(
                export_file(
                    memory.catalog, file, selection=selection, force=force, now=moment, progress=bar
                ).counts
            )
    written = 0 if dry_run else file.stat().st_size
    if as_json:
        document = {"schema": 1, "dry_run": dry_run, "file": str(file), "bytes": written, "counts": counts}
        say_json(document)
    else:
        what = plural(counts["memories"], "memory", "memories")
        say(f"would write {what}" if dry_run else f"{file}: {what}, {size(written)}")
    return EXIT_OK


def _write(lines: bytes) -> object:
    """Write lines to standard output; control characters are escaped on a terminal."""
    from ragmem.charts.widths import escape_controls

    return sys.stdout.buffer.write(escape_controls(lines) if sys.stdout.isatty() else lines)
