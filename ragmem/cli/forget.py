"""`ragmem forget`: archive chosen memories, or delete them permanently."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.cli.common import Bar, open_memory, plural, require_consent, say, say_json, table, tell
from ragmem.cli.options import DryRunOption, JsonOption, QuietOption, YesOption
from ragmem.errors import EXIT_FAILED, EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.services.scrub.forget import Candidate, ForgetResult, Plan

SHOWN = 20
"""Memories that are listed; --json has all of them."""

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem forget 3q7hn2zk5x4m --dry-run
  ragmem forget 3q7hn2zk5x4m --yes
  ragmem forget --source memory --project user --dry-run
  ragmem forget 3q7hn2zk5x4m --purge --dry-run

\b
Exit codes:
  0  done, nothing to forget, or the plan was shown
  2  usage; no such id; no terminal to ask on; more than half of all memories would be removed
  3  purged, but a text remains in the places named; or vectors have to wait
  5  the store is busy: try again
"""


@app.command(epilog=EPILOG)
def forget(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]", help="Ids, or prefixes of them.")] = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", "-s", metavar="NAME", help="All memories of this source; repeatable."),
    ] = None,
    project: Annotated[
        list[str] | None,
        typer.Option(
            "--project", "-p", metavar="NAME", help="All memories of this project, or user; repeatable."
        ),
    ] = None,
    ingest: Annotated[
        str,
        typer.Option(
            "--ingest",
            metavar="RUN",
            help="All memories stored by this run of seed or ingest; see `inspect runs`.",
        ),
    ] = "",
    undo: Annotated[str, typer.Option("--undo", metavar="RUN", help="Restore what this run removed.")] = "",
    purge: Annotated[
        bool,
        typer.Option("--purge", help="Delete permanently, also from the archive; this cannot be undone."),
    ] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    allow_large: Annotated[
        bool, typer.Option("--allow-large", help="Allow removing more than half of all memories.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Archive chosen memories, or delete them permanently.

    Conditions are combined with "and". Forgotten memories go into the archive, and no seed or hook stores
    them again. To remove a secret from texts that stay, use `ragmem scrub`.
    """
    from ragmem.services.scrub.forget import refuse_large
    from ragmem.services.sharing.review import own_shared

    if undo:
        if ids or source or project or ingest or purge or dry_run:
            raise UsageError(
                "--undo cannot be combined with other options", hint=f"ragmem forget --undo {undo}"
            )
        return _undo(undo, as_json=as_json, quiet=quiet)
    with open_memory(quiet=quiet) as memory, Bar(quiet=quiet or as_json) as bar:
        memory.require()
        if not dry_run:
            memory.inbox.drain()
        if purge and not dry_run and (note := memory.removal.finish_purge()) and not quiet:
            tell(f"note: {note}")
        planned = memory.removal.plan(
            ids or (), sources=source or (), projects=project or (), run=ingest, purge=purge
        )
        if dry_run or planned.empty:
            _say(planned, None, purge=purge, as_json=as_json, quiet=quiet)
            return EXIT_OK
        refuse_large(planned, allow_large=allow_large)
        if not yes:
            if not as_json and not quiet and sys.stdin.isatty():
                _say(planned, None, purge=purge, as_json=False, quiet=False)
            _ask(planned, purge=purge)
        shared = own_shared(memory.catalog, [*(one.id for one in planned.going), *planned.archived])
        if purge:
            done = memory.removal.purge(planned, allow_large=True, progress=bar)
        else:
            done = memory.removal.archive(planned, allow_large=True)
    _say(planned, done, purge=purge, as_json=as_json, quiet=quiet)
    if shared and not (as_json or quiet):
        named = " ".join(row.id[:12] for row in shared[:SHOWN])
        tell(f"note: your team has {plural(len(shared), 'memory', 'memories')} of these; withdraw them with:")
        tell(f"  ragmem share withdraw {named}")
    return EXIT_FAILED if done.left else EXIT_OK


def _ask(planned: "Plan", *, purge: bool) -> None:
    what = _summary(planned, purge=purge)
    require_consent(
        f"{what}?" + (" There is no undo" if purge else ""),
        nobody=f"this would {what}, and there is no terminal to confirm it",
        hint="check the plan with --dry-run; --help explains how to confirm without a terminal",
        refused="nothing was forgotten",
        refused_hint="ragmem forget --dry-run shows the plan",
    )


def _summary(planned: "Plan", *, purge: bool) -> str:
    count = plural(len(planned.going), "memory", "memories")
    if not purge:
        return f"archive {count}"
    lying = f" and {plural(len(planned.archived), 'archived one')}" if planned.archived else ""
    return f"delete {count}{lying} permanently"


def _undo(run: str, *, as_json: bool, quiet: bool) -> int:
    with open_memory(quiet=quiet) as memory:
        done = memory.removal.undo(run)
    if as_json:
        say_json({"schema": 1, "undone": done.run, **asdict(done)})
    else:
        say(f"restored {plural(done.restored, 'memory', 'memories')} of run {done.run}")
        if done.left:
            tell(f"{done.left:,} stay in the archive: a newer text has taken their place")
    if done.note:
        tell(f"failed: only in full text until the next seed or gc indexes it: {done.note}")
        return EXIT_FAILED
    return EXIT_OK


def _say(planned: "Plan", done: "ForgetResult | None", *, purge: bool, as_json: bool, quiet: bool) -> None:
    if as_json:
        say_json(_document(planned, done, purge=purge))
        return
    if planned.empty:
        say("nothing to forget")
    elif done is None:
        _list(planned.going)
        say(f"would {_summary(planned, purge=purge)}, of {planned.total:,}")
    elif purge:
        say(f"deleted {plural(done.purged, 'memory', 'memories')} permanently")
    else:
        say(f"archived {plural(done.forgotten, 'memory', 'memories')}, run {done.run}")
        if not quiet:
            tell(f"undo with: ragmem forget --undo {done.run}")
    if planned.mixed and not quiet:
        tell(
            f"{plural(len(planned.mixed), 'merged memory', 'merged memories')} with other texts as well "
            "are kept:"
        )
        for one in planned.mixed[:SHOWN]:
            tell(f"  {one.id[:12]}  {one.title}")
    if done is None:
        return
    for line in done.left:
        say(f"left in {line}")
    if quiet:
        return
    for path in done.sources[:SHOWN]:
        tell(f"note: the file {path} is unchanged; its text is not stored again until it changes")
    if done.note:
        tell(f"note: {done.note}")


def _list(going: "tuple[Candidate, ...]") -> None:
    if not going:
        return
    rows = [(one.id[:12], one.source, one.project, one.title) for one in going[:SHOWN]]
    table(("id", "source", "project", "memory"), rows)
    if len(going) > SHOWN:
        say(f"and {plural(len(going) - SHOWN, 'other memory', 'other memories')}; --json lists all")
    say()


def _document(planned: "Plan", done: "ForgetResult | None", *, purge: bool) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "schema": 1,
        "dry_run": done is None,
        "purge": purge,
        "total": planned.total,
        "memories": [{**asdict(one), "id": one.id[:12]} for one in planned.going],
        "archived": [key[:12] for key in planned.archived],
        "mixed": [one.id[:12] for one in planned.mixed],
    }
    if done is not None:
        shape |= {
            "run": done.run,
            "forgotten": done.forgotten,
            "purged": done.purged,
            "left": list(done.left),
            "sources": [str(path) for path in done.sources],
            "note": done.note,
        }
    return shape
