"""`ragmem import`: import an export, or the memories of another tool."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragmem.cli.common import Bar, open_memory, plural, say, say_json, table, tell
from ragmem.cli.options import DryRunOption, JsonOption, QuietOption
from ragmem.errors import EXIT_FAILED, EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.readers.foreign import Tool
    from ragmem.services.transfer.foreign_importer import ForeignImport

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem import memory.jsonl.gz
  ragmem export - | ragmem import --dry-run -
  ragmem import --from claude-mem ~/.claude-mem/claude-mem.db
  ragmem import --from chatgpt --dry-run export.zip

\b
Exit codes:
  0  done
  2  usage or configuration
  3  the export is damaged, or a newer ragmem wrote it; nothing was imported
     --from: the store is damaged or in use; memories read so far are kept
  5  the store is busy
"""

STDIN = Path("-")

ToolName = Literal[
    "claude-mem",
    "mem0",
    "basic-memory",
    "mcp-memory-service",
    "mempalace",
    "chatgpt",
    "claude-ai",
    "cursor",
    "opencode",
]
"""A tool whose store can be imported."""


@app.command("import", epilog=EPILOG)
def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="An export (plain or gzip) or another tool's store; - reads standard input."
        ),
    ],
    tool: Annotated[
        ToolName | None,
        typer.Option("--from", help="The tool that wrote it; detected by default if that is certain."),
    ] = None,
    keep: Annotated[
        Literal["newer", "existing", "incoming"],
        typer.Option("--keep", help="Which version of a memory to keep if both differ."),
    ] = "newer",
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Import an export, or the memories of another tool.

    Importing twice changes nothing.
    """
    if tool is not None or file != STDIN:
        from ragmem.readers.foreign import find_tool, recognise

        if tool is not None and file == STDIN:
            raise UsageError(f"the store of {tool} cannot be read from standard input", hint="give its path")
        if found := find_tool(tool) if tool else recognise(file):
            if keep != "newer":
                raise UsageError(
                    "--keep is for exports of ragmem",
                    hint="from other tools, changed memories are always updated",
                )
            return _import_foreign(file, found, dry_run=dry_run, as_json=as_json, quiet=quiet)
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
            keep=keep,
            dry_run=dry_run,
            now=now(),
            progress=bar,
            sizes=memory.settings.chunking,
        )
    if done.note and not quiet:
        tell(f"note: stored, only in full text until a later seed indexes it: {done.note}")
    if as_json:
        say_json({"schema": 1, "dry_run": dry_run, **asdict(done)})
    else:
        more = f", {done.forgotten:,} forgotten here" if done.forgotten else ""
        say(
            f"{'would import' if dry_run else 'imported'} {plural(done.new, 'new memory', 'new memories')}"
            f" and {done.changed:,} changed; {done.unchanged:,} unchanged,"
            f" {done.kept:,} kept as they are{more}"
        )
    return EXIT_OK


def _import_foreign(path: Path, tool: "Tool", *, dry_run: bool, as_json: bool, quiet: bool) -> int:
    from ragmem.api.memory import now
    from ragmem.services.transfer.foreign_importer import import_foreign

    with open_memory(quiet=quiet) as memory, Bar(quiet=quiet or as_json) as bar:
        done = import_foreign(
            memory.catalog,
            lambda: memory.store,
            memory.settings,
            tool,
            path,
            home=memory.home,
            dry_run=dry_run,
            now=now(),
            progress=bar,
        )
    if not quiet:
        if done.note:
            tell(f"note: stored, only in full text until a later seed indexes it: {done.note}")
        for reason, count in sorted(done.left_out.items()):
            tell(f"note: left out: {reason}: {count:,}")
        for refusal in done.refusals:
            tell(f"warning: {refusal.message}")
    if as_json:
        say_json(
            {"schema": 1, "dry_run": dry_run, "path": path, **asdict(done), "left_out": dict(done.left_out)}
        )
    else:
        _say_foreign(done, dry_run=dry_run)
    return EXIT_FAILED if done.refusals else EXIT_OK


def _say_foreign(done: "ForeignImport", *, dry_run: bool) -> None:
    if done.groups:
        table(
            ("project", "kind", "memories", "from", "to"),
            [(group.name, group.kind, group.count, group.since, group.until) for group in done.groups],
        )
    more = f", {done.archived:,} archived here" if done.archived else ""
    say(
        f"{'would import' if dry_run else 'imported'} {plural(done.new, 'new memory', 'new memories')}"
        f" and {done.changed:,} changed from {done.tool};"
        f" {done.unchanged:,} unchanged, {done.doubled:,} with a known text{more}"
    )
