"""`ragmem ingest`: store files, folders or standard input."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ragmem.cli.common import (
    Bar,
    DryRunOption,
    JsonOption,
    QuietOption,
    open_memory,
    printable,
    say,
    say_json,
    standard_input,
    table,
    tell,
)
from ragmem.domain.model import Kind
from ragmem.errors import EXIT_FAILED, EXIT_OK, UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem ingest notes.md
  ragmem ingest docs/ --tag design
  git log -5 | ragmem ingest -
  ragmem ingest --code .

\b
Exit codes:
  0  stored
  2  usage or configuration
  3  some files could not be read
"""


@app.command(epilog=EPILOG)
def ingest(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Files and folders; - reads standard input.")
    ],
    kind: Annotated[
        Kind | None, typer.Option("--kind", "-k", help="The kind of all of them; else each is judged.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="A tag for all of them; repeatable.")
    ] = None,
    project: Annotated[
        str, typer.Option("--project", "-p", help="The project they belong to, or user; else the folder's.")
    ] = "",
    spec: Annotated[str, typer.Option("--spec", help="The spec within the project.")] = "",
    at: Annotated[str, typer.Option("--at", help="When it happened: 2026-03-15, 7d, yesterday.")] = "",
    title: Annotated[str, typer.Option("--title", help="A title for standard input.")] = "",
    code: Annotated[
        bool, typer.Option("--code", help="The paths are repositories or folders of code, read as a graph.")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="With --code: read and link the whole project again.")
    ] = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Store files, folders or standard input."""
    from ragmem.memory import now
    from ragmem.services.hand_in import HandIn
    from ragmem.services.judge import judge
    from ragmem.services.shapes import memory_shape
    from ragmem.services.when import parse_moment

    if "" in paths:
        # An unset variable in a script must not store the folder that it happens to run in.
        raise UsageError("a path is empty", hint="give a path, or - for standard input")
    if code:
        if any((kind, tag, project, spec, at, title)) or "-" in paths:
            raise UsageError("--code takes folders alone", hint="ragmem ingest --code .")
        from ragmem.cli.ingest_code import ingest_code

        return ingest_code(paths, rebuild=rebuild, dry_run=dry_run, as_json=as_json, quiet=quiet)
    if rebuild:
        raise UsageError(
            "--rebuild goes with --code", hint="ragmem seed --rebuild, or ingest --code --rebuild"
        )
    moment = now()
    with open_memory(quiet=quiet) as memory:
        wish = HandIn(
            kind=kind,
            tags=tuple(tag or ()),
            project=project,
            spec=spec,
            at=parse_moment(at, now=moment) if at else None,
        )
        text = standard_input(memory.settings.seed.max_file_bytes) if "-" in paths else None
        handed = memory.hand_in([Path(path) for path in paths if path != "-"], wish, text=text, title=title)
        drafts, problems = handed.drafts, handed.problems
        if dry_run:
            rows = [
                judge(draft, now=moment, sizes=memory.settings.chunking, keep_discarded=True)
                for draft in drafts
            ]
            shapes = [
                {**memory_shape(item.memory), "change": "dry run", "because": item.signal.reason}
                for item in rows
            ]
        else:
            with Bar(quiet=quiet or as_json or len(drafts) < 10) as bar:
                stored = memory.ingest(drafts, projects=handed.projects, progress=bar)
            shapes = [
                {
                    **memory_shape(item.judged.memory),
                    "change": item.change,
                    "because": item.judged.signal.reason,
                    "note": item.note,
                }
                for item in stored
            ]
            notes = dict.fromkeys(item.note for item in stored if item.note)
            for note in () if quiet else notes:
                tell(f"note: stored, found by full text, and indexed by a later seed: {note}")
    if as_json:
        say_json(
            {
                "schema": 1,
                "dry_run": dry_run,
                "memories": shapes,
                "problems": problems,
                "warnings": handed.warnings,
            }
        )
    elif dry_run:
        table(
            ("id", "tier", "kind", "memory", "because"),
            [(s["id"], s["tier"], s["kind"], s["title"] or s["uri"], s["because"]) for s in shapes],
        )
    else:
        for shape in shapes:
            say(str(shape["id"]))
            if not quiet and sys.stderr.isatty():
                tell(printable(f"  {shape['change']}, {shape['tier']}: {shape['title'] or shape['uri']}"))
    if not as_json:
        if not quiet:
            for warning in handed.warnings:
                tell(printable(f"warning: {warning}"))
        for problem in problems:
            tell(printable(f"failed: {problem}"))
    return EXIT_FAILED if problems else EXIT_OK
