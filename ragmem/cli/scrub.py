"""`ragmem scrub`: remove secrets, or any other text, from all stored data."""

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ragmem.cli.common import (
    Bar,
    open_memory,
    plural,
    require_consent,
    say,
    say_json,
    size,
    standard_input,
    tell,
)
from ragmem.cli.options import DryRunOption, JsonOption, QuietOption, YesOption
from ragmem.errors import EXIT_FAILED, EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.services.scrub.scrub import Plan, ScrubResult

STDIN = "-"

MOST_PATTERN = 65_536
"""Bytes of a pattern on standard input."""

SHOWN = 20
"""Memories that are listed; --json has all of them."""

SOURCE = "edit it; the next seed removes only known secrets"

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem scrub --dry-run
  ragmem scrub --yes
  printf %s "${OLD_TOKEN:-old token}" | ragmem scrub - --yes
  ragmem scrub --regex 'CUST-[0-9]{6}' --dry-run

\b
Exit codes:
  0  nothing is left, or the plan was shown
  2  usage; PATTERN matches more than half of all memories, without --allow-large
  3  something is left and is named
  5  the store is busy: try again
"""


@app.command(epilog=EPILOG)
def scrub(
    pattern: Annotated[
        str | None,
        typer.Argument(
            metavar="PATTERN",
            help="Text to remove; - reads it from standard input. Default: all known secrets.",
        ),
    ] = None,
    regex: Annotated[bool, typer.Option("--regex", "-E", help="PATTERN is a regular expression.")] = False,
    backups: Annotated[
        Literal["rewrite", "delete", "keep"],
        typer.Option("--backups", help="What to do with backups that contain it."),
    ] = "rewrite",
    allow_large: Annotated[
        bool,
        typer.Option("--allow-large", help="Allow a PATTERN that matches more than half of all memories."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Allow a PATTERN of one to three characters.")
    ] = False,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Remove secrets, or any other text, from all stored data."""
    from ragmem.services.scrub.scrub import is_large
    from ragmem.services.scrub.target import scrub_target
    from ragmem.services.sharing.review import own_shared

    if regex and pattern is None:
        raise UsageError("--regex needs a PATTERN", hint="ragmem scrub --regex 'CUST-[0-9]{6}'")
    read = _read(pattern)
    with open_memory(quiet=quiet) as memory, Bar(quiet=quiet or as_json) as bar:
        what = scrub_target(read, memory.redactor, regex=regex, force=force)
        memory.require()
        if not dry_run:
            memory.inbox.drain()
        planned = memory.scrub.plan(what, progress=bar)
        bar.close()
        if dry_run:
            _say_plan(planned, None, as_json=as_json, quiet=quiet)
            return EXIT_OK
        if pattern is not None and is_large(planned) and not allow_large:
            raise UsageError(
                f"{len(planned.memories)} of {planned.total} memories match",
                hint="check them first: add --dry-run",
            )
        if not planned.empty and not yes:
            if not as_json and not quiet and sys.stdin.isatty():
                _say_plan(planned, None, as_json=False, quiet=False)
            _ask(planned)
        done = memory.scrub.apply(what, planned, backups=backups, progress=bar)
        shared = own_shared(memory.catalog, [one.id for one in planned.memories])
    _say_plan(planned, done, as_json=as_json, quiet=quiet)
    if shared and not (as_json or quiet):
        tell(f"note: your team has {plural(len(shared), 'memory', 'memories')} of these as they were")
        tell(
            "  the next `ragmem share push` withdraws the changed ones; docs/share.md explains what git keeps"
        )
    return EXIT_FAILED if done.left else EXIT_OK


def _read(pattern: str | None) -> str | None:
    if pattern != STDIN:
        return pattern
    raw = standard_input(MOST_PATTERN)
    if len(raw) > MOST_PATTERN:
        raise UsageError(f"the pattern has more than {MOST_PATTERN} bytes", hint="give only the secret")
    try:
        return raw.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise UsageError("the pattern is not UTF-8", hint="convert it first") from error


def _ask(planned: "Plan") -> None:
    what = f"change {plural(len(planned.memories), 'memory', 'memories')} permanently"
    require_consent(
        f"{what}? This cannot be undone",
        nobody=f"this would {what}, and there is no terminal to confirm it",
        hint="check the plan first: add --dry-run",
        refused="nothing was changed",
        refused_hint="ragmem scrub --dry-run shows the plan",
    )


def _say_plan(planned: "Plan", done: "ScrubResult | None", *, as_json: bool, quiet: bool) -> None:
    if as_json:
        say_json(_shape(planned, done))
        return
    would = done is None
    if not quiet:
        for one in planned.memories[:SHOWN]:
            kinds = ", ".join(
                f"[redacted: {kind}]" + (f" x {count}" if count > 1 else "")
                for kind, count in one.kinds.items()
            )
            say(f"{one.id}  {'archived: ' if one.archived else ''}{kinds}  {one.title}".rstrip())
        if len(planned.memories) > SHOWN:
            say(f"and {plural(len(planned.memories) - SHOWN, 'other memory', 'other memories')}")
    living = sum(not one.archived for one in planned.memories)
    counts = [
        plural(living, "memory", "memories"),
        f"{len(planned.memories) - living} archived",
        plural(sum(planned.places.values()), "value") + " in the database",
        plural(len(planned.files), "other file"),
        plural(len(planned.backups), "backup"),
    ]
    if planned.empty:
        say("nothing to remove")
    else:
        say(f"{'would clean' if would else 'cleaned'} {', '.join(counts)}")
    if not quiet:
        _tell_outside(planned)
    if done is not None:
        _say_proof(done, quiet=quiet)


def _tell_outside(planned: "Plan") -> None:
    for path in planned.files:
        tell(f"in {path}")
    for backup in planned.backups:
        tell(f"in the backup {backup.path}" + (f": {backup.problem}" if backup.problem else ""))
    for path in planned.sources[:SHOWN]:
        tell(f"warning: the file {path} still has it; {SOURCE}")
    if len(planned.sources) > SHOWN:
        tell(f"and {plural(len(planned.sources) - SHOWN, 'other file')}; --json names all")
    for path in planned.config:
        tell(f"warning: the configuration {path} contains it and was not changed")


def _say_proof(done: "ScrubResult", *, quiet: bool) -> None:
    for line in done.left:
        say(f"left in {line}")
    where = f"{plural(done.searched, 'file')}, {size(done.bytes)}"
    say(f"{len(done.left)} left in {where}")
    if done.note and not quiet:
        tell(f"note: {done.note}")


def _shape(planned: "Plan", done: "ScrubResult | None") -> dict[str, Any]:
    shape: dict[str, Any] = {
        "schema": 1,
        "dry_run": done is None,
        "memories": [
            {"id": one.id, "title": one.title, "archived": one.archived, "kinds": dict(one.kinds)}
            for one in planned.memories
        ],
        "places": dict(planned.places),
        "kinds": dict(planned.kinds),
        "files": [str(path) for path in planned.files],
        "backups": [{"path": str(one.path), "problem": one.problem} for one in planned.backups],
        "sources": [str(path) for path in planned.sources],
        "config": [str(path) for path in planned.config],
    }
    if done is not None:
        shape |= {
            "changed": done.cleaned.changed,
            "removed": done.cleaned.removed,
            "removed_backups": [str(path) for path in done.removed_backups],
            "left": done.left,
            "searched": {"files": done.searched, "bytes": done.bytes},
            "note": done.note,
        }
    return shape
