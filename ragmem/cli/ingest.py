"""`ragmem ingest`: store files, folders or standard input."""

import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.cli.common import (
    Bar,
    confirm,
    format_reason,
    open_memory,
    plural,
    printable,
    say,
    say_json,
    size,
    standard_input,
    table,
    tell,
)
from ragmem.cli.options import (
    DryRunOption,
    EventTimeOption,
    ExplainOption,
    JsonOption,
    OwnSpecOption,
    QuietOption,
)
from ragmem.domain.model import Kind
from ragmem.domain.model.lifecycle import EntryType
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import EXIT_FAILED, EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.domain.model import Draft, Memory
    from ragmem.services.ingestion.drafts import DraftResult
    from ragmem.services.ingestion.folder_survey import FolderSurvey
    from ragmem.services.ingestion.ingest import IngestResult
    from ragmem.services.ingestion.options import DraftOptions
    from ragmem.services.processes.refusals import Refusal

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

SHOWN_WARNINGS = 20

EPILOG = """\b
Examples:
  ragmem ingest notes.md
  ragmem ingest docs/ --tag design
  ragmem ingest --yes .
  ragmem ingest report.pdf costs.xlsx
  git log -5 | ragmem ingest -
  ragmem ingest --code .
  ragmem ingest --buffer --type decision --text "We pin the driver at 2.9"

\b
Exit codes:
  0  stored; --buffer: accepted, or a duplicate of a waiting text
  2  usage or configuration, or a large folder without --yes and without a terminal
  3  some files could not be read or stored, or the ragmem home cannot be written
"""


@app.command(epilog=EPILOG)
def ingest(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]", help="Files and folders; - reads standard input."),
    ] = None,
    kind: Annotated[
        Kind | None,
        typer.Option("--kind", "-k", help="The kind of all texts; by default each is classified."),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="A tag for all texts; repeatable.")
    ] = None,
    project: Annotated[
        str,
        typer.Option(
            "--project", "-p", help="The project that they belong to, or user; by default the folder's."
        ),
    ] = "",
    spec: OwnSpecOption = "",
    at: EventTimeOption = "",
    title: Annotated[str, typer.Option("--title", help="The title of standard input or --text.")] = "",
    buffer: Annotated[
        bool, typer.Option("--buffer", help="Write to the inbox and return at once; the next query finds it.")
    ] = False,
    text: Annotated[
        list[str] | None, typer.Option("--text", help="With --buffer: a text to store; repeatable.")
    ] = None,
    type_: Annotated[
        EntryType | None, typer.Option("--type", help="With --buffer: the type of the entry.")
    ] = None,
    session: Annotated[
        str, typer.Option("--session", help="With --buffer: the session that the text comes from.")
    ] = "",
    agent: Annotated[str, typer.Option("--agent", help="With --buffer: the agent within the session.")] = "",
    as_lines: Annotated[
        bool,
        typer.Option(
            "--jsonl", help="With --buffer: read JSON Lines from standard input, one text per line."
        ),
    ] = False,
    drain: Annotated[bool, typer.Option("--drain", help="Ingest everything in the inbox.")] = False,
    code: Annotated[
        bool, typer.Option("--code", help="Read the paths as code, and build the code graph.")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="With --code: read and link the whole project again.")
    ] = False,
    reset: Annotated[
        bool, typer.Option("--reset", help="Drop the tags, kind and date that earlier calls gave.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before reading a large folder.")
    ] = False,
    dry_run: DryRunOption = False,
    explain: ExplainOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Store files, folders or standard input."""
    from ragmem.api.memory import now
    from ragmem.cli import ingest_buffer
    from ragmem.inbox.buffer import Request
    from ragmem.services.ingestion.options import DraftOptions
    from ragmem.services.processes.dates import parse_moment

    paths = _check_paths(
        paths or [], explain=explain, dry_run=dry_run, titled=bool(title) and not (buffer or code or drain)
    )
    if drain:
        if paths or any((kind, tag, project, spec, at, title, buffer, text, code, rebuild, reset, dry_run)):
            raise UsageError("--drain cannot be combined with other arguments", hint="ragmem ingest --drain")
        return ingest_buffer.drain(as_json=as_json, quiet=quiet)
    if buffer:
        if code or rebuild or reset or dry_run:
            raise UsageError("--buffer takes only texts and files", hint="ragmem ingest --buffer notes.md")
        request = Request(
            texts=text or (),
            paths=paths,
            tags=tag or (),
            as_lines=as_lines,
            as_json=as_json,
            quiet=quiet,
            event_time=parse_moment(at, now=now()) if at else None,
            kind=kind.value if kind else "",
            type=type_.value if type_ else "",
            title=title,
            project=project,
            spec=spec,
            session=session,
            agent=agent,
        )
        return ingest_buffer.buffer(request)
    if any((text, type_, session, agent, as_lines)):
        raise UsageError(
            "--text, --type, --session, --agent and --jsonl require --buffer",
            hint="ragmem ingest --buffer --text TEXT",
        )
    if not paths:
        raise UsageError("missing argument 'PATH...'", hint="give files and folders, or - for standard input")
    if code:
        if any((kind, tag, project, spec, at, title, reset)) or "-" in paths:
            raise UsageError("--code takes only folders", hint="ragmem ingest --code .")
        from ragmem.cli.ingest_code import ingest_code

        return ingest_code(paths, rebuild=rebuild, dry_run=dry_run, as_json=as_json, quiet=quiet)
    if rebuild:
        raise UsageError(
            "--rebuild requires --code", hint="ragmem seed --rebuild, or ingest --code --rebuild"
        )
    moment, run = now(), ""
    with open_memory(quiet=quiet) as memory:
        wish = DraftOptions(
            kind=kind,
            tags=tuple(tag or ()),
            project=project,
            spec=spec,
            at=parse_moment(at, now=moment) if at else None,
            reset=reset,
        )
        _confirm_large_folders(memory, paths, yes=yes, dry_run=dry_run, quiet=quiet)
        handed = _hand_in(memory, paths, wish, title=title, dry_run=dry_run, quiet=quiet or as_json)
        drafts, problems = handed.drafts, handed.problems
        if dry_run:
            shapes = _plan(memory, drafts, at=moment, explain=explain, as_json=as_json)
        else:
            with Bar(quiet=quiet or as_json or len(drafts) < 10) as bar:
                rejected: list[Refusal] = []
                stored = memory.ingest(drafts, projects=handed.projects, progress=bar, refusals=rejected)
            problems += [one.message for one in rejected]
            handed.warnings.extend(memory.ingestion.archive_missing_pages(drafts, handed.unread))
            run = next((item.run for item in stored if item.run), "")
            notes = dict.fromkeys(item.note for item in stored if item.note and item.note not in problems)
            for note in () if quiet else notes:
                tell(f"note: stored, only in full text until a later seed indexes it: {note}")
            if as_json:
                shapes = [
                    _shape(one.memory, memory.redactor, change=one.change, because=one.because, note=one.note)
                    for one in stored
                ]
            else:
                _say(stored, memory.redactor, quiet=quiet, run=run)
    if as_json:
        say_json(
            {
                "schema": 1,
                "dry_run": dry_run,
                "run": run,
                "memories": shapes,
                "problems": problems,
                "warnings": handed.warnings,
            }
        )
    else:
        _tell(() if quiet else handed.warnings, problems)
    return EXIT_FAILED if problems else EXIT_OK


def _shape(memory: "Memory", redactor: Redactor, **more: str) -> dict[str, Any]:
    from ragmem.services.retrieval.shapes import memory_shape

    return {**memory_shape(memory, redactor=redactor), **more}


def _plan(
    memory: "Ragmem", drafts: Sequence["Draft"], *, at: datetime, explain: bool, as_json: bool
) -> list[dict[str, Any]]:
    """Return the shapes of the memories that drafts would give; print them as a table unless `as_json`."""
    from ragmem.services.ingestion.classify import classify_draft
    from ragmem.services.ingestion.ingest import signal_rule

    rows = (
        classify_draft(
            draft,
            now=at,
            sizes=memory.settings.chunking,
            rule=signal_rule(draft, "judge"),
            redactor=memory.redactor,
        )
        for draft in drafts
    )
    shapes = [
        _shape(
            item.memory,
            memory.redactor,
            change="dry run",
            because=item.explain(memory.redactor) if explain else item.signal.reason,
        )
        for item in rows
    ]
    if not as_json:
        table(
            ("id", "tier", "kind", "memory", "path", "because"),
            [
                (
                    one["id"],
                    one["tier"],
                    one["kind"],
                    one["title"],
                    one["uri"],
                    format_reason(one["because"], explain=explain),
                )
                for one in shapes
            ],
        )
    return shapes


def _check_paths(paths: list[str], *, explain: bool, dry_run: bool, titled: bool) -> list[str]:
    """Return the paths; raises UsageError for an empty one, or an option that does not fit them."""
    if explain and not dry_run:
        raise UsageError("--explain requires --dry-run", hint="ragmem ingest --dry-run --explain PATH")
    if "" in paths:
        # An unset variable in a script must not store the working folder.
        raise UsageError("a path is empty", hint="give a path, or - for standard input")
    for address in (path for path in paths if "://" in path and not Path(path).exists()):
        raise UsageError(f'"{address}" is a URL, not a file', hint="save the page, and give its path")
    if titled and paths and "-" not in paths:
        raise UsageError(
            "--title is for standard input, not for files", hint="ragmem ingest - --title TITLE < FILE"
        )
    return paths


def _tell(warnings: Sequence[str], problems: Sequence[str]) -> None:
    for warning in warnings[:SHOWN_WARNINGS]:
        tell(f"warning: {warning}")
    if len(warnings) > SHOWN_WARNINGS:
        tell(f"... and {len(warnings) - SHOWN_WARNINGS:,} more; --json lists all")
    for problem in problems:
        tell(f"failed: {problem}")


def _point_to_seed(folders: Sequence["FolderSurvey"]) -> None:
    for folder in folders:
        if folder.sources:
            asked = " ".join(f"-s {name}" for name in folder.sources)
            which = f'"{folder.folder}"' if len(folders) > 1 else "this folder"
            tell(f"note: seed also reads {which} and tracks changes: ragmem seed {asked}")


def _confirm_large_folders(
    memory: "Ragmem", paths: Sequence[str], *, yes: bool, dry_run: bool, quiet: bool
) -> None:
    """Ask before large folders are read; raises UsageError if the answer is no, or nobody can be asked.

    A dry run stores nothing, so it asks only about folders of unknown size.
    """
    folders = memory.ingestion.survey([Path(path) for path in paths if path != "-"])
    _point_to_seed(() if quiet else folders)
    large = [one for one in folders if (one.more if dry_run else one.is_large)]
    if yes or not large:
        return
    told = [f'"{one.folder}": {_folder_size(one)}' for one in large]
    if not sys.stdin.isatty():
        raise UsageError(
            printable(f"there is no terminal to confirm reading {told[0]}"),
            hint="check it with --dry-run; `ragmem ingest --help` explains how to confirm in advance",
        )
    for line in told:
        tell(line)
    what = "it" if len(large) == 1 else "them"
    if not confirm(f"read {what}?"):
        raise UsageError("nothing was read", hint="name a smaller folder, or check it with --dry-run")


def _folder_size(folder: "FolderSurvey") -> str:
    more = "more than " if folder.more else ""
    return f"{more}{plural(folder.files, 'file')}, {size(folder.bytes)}"


def _hand_in(
    memory: "Ragmem", paths: Sequence[str], wish: "DraftOptions", *, title: str, dry_run: bool, quiet: bool
) -> "DraftResult":
    given = standard_input(memory.settings.seed.max_file_bytes) if "-" in paths else None
    files = [Path(path) for path in paths if path != "-"]
    with Bar(quiet=quiet) as bar:
        return memory.ingestion.draft(files, wish, text=given, title=title, dry_run=dry_run, progress=bar)


def _say(stored: "Sequence[IngestResult]", redactor: Redactor, *, quiet: bool, run: str) -> None:
    # Programs that read both streams find the rest with `--json` and `ragmem inspect runs`.
    verbose = not quiet and sys.stderr.isatty()
    for one in stored:
        say(one.memory.short_id)
        if verbose:
            name, _ = redactor.redact(one.memory.title or one.memory.uri)
            tell(f"  {one.change}, {one.memory.tier}: {name}")
    if run and verbose:
        tell(f"run {run}; what it stored: ragmem forget --ingest {run} --dry-run")
