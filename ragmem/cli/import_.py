"""`ragmem import`: import an export."""

import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ragmem.cli.common import Bar, open_memory, plural, say, say_json, tell
from ragmem.cli.options import DryRunOption, JsonOption, QuietOption
from ragmem.errors import EXIT_OK

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem import memory.jsonl.gz
  ragmem export - | ragmem import --dry-run -

\b
Exit codes:
  0  done
  2  usage or configuration
  3  the export is damaged, or a newer ragmem wrote it; nothing was imported
  5  the store is busy
"""

STDIN = Path("-")


class KeepName(StrEnum):
    """Which version of a memory is kept if the contents differ."""

    NEWER = "newer"
    EXISTING = "existing"
    INCOMING = "incoming"


@app.command("import", epilog=EPILOG)
def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="An export, plain or gzip; - reads standard input.")
    ],
    keep: Annotated[
        KeepName, typer.Option("--keep", help="Which version to keep of a memory that differs here.")
    ] = KeepName.NEWER,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Import an export; a second import changes nothing."""
    from ragmem.api.memory import now
    from ragmem.services.transfer.export_reader import ExportReader
    from ragmem.services.transfer.importer import import_export

    if file == STDIN and sys.stdin.isatty():
        tell("reading from the terminal; end with ^D")
    with (
        open_memory(quiet=quiet) as memory,
        ExportReader(None if file == STDIN else file, stream=sys.stdin.buffer) as source,
        Bar(quiet=quiet or as_json) as bar,
    ):
        done = import_export(
            memory.catalog,
            lambda: memory.store,
            source,
            keep=keep.value,
            dry_run=dry_run,
            now=now(),
            progress=bar,
            sizes=memory.settings.chunking,
        )
    if done.note and not quiet:
        tell(f"note: stored, found by full text, and indexed by a later seed: {done.note}")
    if as_json:
        say_json({"schema": 1, "dry_run": dry_run, **asdict(done)})
    else:
        say(
            f"{'would import' if dry_run else 'imported'} {plural(done.new, 'new memory', 'new memories')}"
            f" and {done.changed:,} changed; {done.unchanged:,} unchanged, {done.kept:,} kept as they are"
        )
    return EXIT_OK
