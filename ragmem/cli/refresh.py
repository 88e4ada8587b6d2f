"""`ragmem refresh`: write proven memories into an assistant's memory file."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.cli.common import moment, open_memory, plural, say, say_json, tell
from ragmem.cli.options import JsonOption, QuietOption
from ragmem.errors import EXIT_NO, EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.services.context.refresh import Line
    from ragmem.services.context.refresh_file import RefreshPlan

DEFAULT_LINES = 100

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem refresh --dry-run
  ragmem refresh
  ragmem refresh --file AGENTS.md --max-lines 60
  ragmem refresh --for codex
  ragmem refresh --file AGENTS.md --check

\b
Exit codes:
  0  the file is up to date
  1  --check: it is not
  2  usage or configuration, or broken markers
  3  the file cannot be written
  6  the store is damaged
"""


@app.command(epilog=EPILOG)
def refresh(
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="Write this file instead of Claude Code's memory of the project.",
            dir_okay=False,
        ),
    ] = None,
    assistant: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="ASSISTANT",
            help="Write the project file of this assistant: AGENTS.md, GEMINI.md, a Cursor rule.",
        ),
    ] = "",
    project: Annotated[
        str, typer.Option("--project", "-p", help="Another project than the current one: name, id or path.")
    ] = "",
    max_lines: Annotated[
        int,
        typer.Option(
            "--max-lines", metavar="N", min=10, max=200, help="Maximum number of lines of the block."
        ),
    ] = DEFAULT_LINES,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change; write nothing.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 unless the file is up to date.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Write proven memories into an assistant's memory file."""
    if file is not None and assistant:
        raise UsageError("--file and --for are mutually exclusive", hint="give one of them")
    if dry_run and check:
        raise UsageError("--dry-run and --check are mutually exclusive", hint="give one of them")
    with open_memory(quiet=quiet) as memory:
        memory.require()
        named = memory.projects.resolve([project])[0] if project else ""
        done = memory.memory_file.update(
            project=named,
            file=file,
            assistant=assistant,
            environ=os.environ,
            max_lines=max_lines,
            dry_run=dry_run or check,
        )
    if as_json:
        say_json(_document(done, wrote=done.changed and not (dry_run or check)))
    elif dry_run and done.changed:
        say(done.diff.removesuffix("\n"))
    if not quiet and not as_json:
        tell(_describe_result(done, dry_run=dry_run, check=check))
        for line, name in done.index.gone if check or dry_run else ():
            tell(f'left out, because "{name}" is gone: {line.text} ({line.source} {line.id[:12]})')
    return EXIT_NO if check and done.changed else EXIT_OK


def _describe_result(done: "RefreshPlan", *, dry_run: bool, check: bool) -> str:
    what = f"{plural(done.index.lines, 'memory', 'memories')} of {done.index.considered:,} proven"
    if not done.changed and not done.index.lines:
        return f"{done.path}: nothing to write, none of {done.index.considered:,} memories qualifies"
    if not done.changed:
        return f"{done.path}: up to date, {what}"
    if check:
        return f"{done.path}: not up to date; run `ragmem refresh`"
    return f"{done.path}: {'would write' if dry_run else 'wrote'} {what}"


def _document(done: "RefreshPlan", *, wrote: bool) -> dict[str, Any]:
    return {
        "schema": 1,
        "path": str(done.path),
        "changed": done.changed,
        "written": wrote,
        "memories": done.index.lines,
        "considered": done.index.considered,
        "groups": [
            {
                "title": group.title,
                "lines": [_line(line) for line in lines],
            }
            for group, lines in done.index.groups
        ],
        "gone": [{**_line(line), "name": name} for line, name in done.index.gone],
    }


def _line(line: "Line") -> dict[str, str]:
    return {"id": line.id, "at": moment(line.at), "text": line.text, "source": line.source}
