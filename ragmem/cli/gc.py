"""`ragmem gc`: remove what is doubled, broken or gone; undo it."""

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from ragmem.cli.common import (
    DryRunOption,
    JsonOption,
    QuietOption,
    SourcesFileOption,
    open_memory,
    plural,
    say,
    say_json,
    table,
    tell,
)
from ragmem.errors import EXIT_FAILED, EXIT_OK, UsageError
from ragmem.services.gc import Plan

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem gc --dry-run
  ragmem gc --missing --yes
  ragmem gc --undo

\b
Exit codes:
  0  done
  2  usage, or more than half would go
  3  done, but memories wait for vectors: no model can be had
  5  the store is busy
"""


@app.command(epilog=EPILOG)
def gc(
    missing: Annotated[
        bool, typer.Option("--missing", help="Also remove memories that have left their source.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Bring back what the latest run removed.")] = False,
    run: Annotated[str, typer.Option("--run", metavar="RUN", help="With --undo: the run to undo.")] = "",
    dry_run: DryRunOption = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    allow_large: Annotated[
        bool, typer.Option("--allow-large", help="Remove more than half of the memories if the plan says so.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    sources_file: SourcesFileOption = None,
) -> int:
    """Remove what is doubled, broken or gone; undo it."""
    if undo and (missing or dry_run):
        raise UsageError("--undo takes --run only", hint="ragmem gc --undo")
    if run and not undo:
        raise UsageError("--run goes with --undo", hint=f"ragmem gc --undo --run {run}")
    with open_memory(sources_file=sources_file, quiet=quiet) as memory:
        if undo:
            target, restored, note = memory.undo_gc(run)
            if as_json:
                say_json({"schema": 1, "undone": target.run, "restored": restored, "note": note})
            else:
                say(f"restored {plural(restored, 'memory', 'memories')} of run {target.run}")
            return _end(note)
        plan = memory.plan_gc(missing=missing)
        if not as_json:
            _say_plan(plan)
        document = {
            "schema": 1,
            "dry_run": dry_run,
            "memories": plan.memories,
            "items": [{**asdict(item), "id": item.id[:12]} for item in plan.items],
            "sweep": dict(plan.sweep),
            "expired": plan.expired,
        }
        if dry_run or plan.empty:
            if as_json:
                say_json(document)
            return EXIT_OK
        _confirm(plan, yes=yes)
        outcome = memory.apply_gc(plan, allow_large=allow_large)
    if as_json:
        say_json(document | {"outcome": asdict(outcome)})
    else:
        say(
            f"removed {plural(outcome.removed, 'memory', 'memories')}, finished {outcome.mended:,},"
            f" dropped {outcome.dropped:,} unowned"
        )
        if outcome.run and not quiet:
            tell(f"undo with: ragmem gc --undo --run {outcome.run}")
    return _end(outcome.note)


def _end(note: str) -> int:
    """Tell why memories wait for their vectors, if some do; return the exit code."""
    if not note:
        return EXIT_OK
    tell(f"failed: found by full text, and finished by the next seed or gc: {note}")
    return EXIT_FAILED


def _say_plan(plan: Plan) -> None:
    if plan.items:
        table(
            ("action", "rule", "id", "memory", "because"),
            [(i.action, i.rule, i.id[:12], i.title or i.uri, i.reason) for i in plan.items],
        )
        say()
    swept = {name: count for name, count in plan.sweep.items() if count}
    if swept:
        say("no memory owns: " + ", ".join(f"{count:,} {name}" for name, count in swept.items()))
    if plan.expired:
        say(f"archive to purge: {plural(plan.expired, 'memory', 'memories')}")
    if plan.empty:
        say(f"nothing to do: {plural(plan.memories, 'memory', 'memories')}, all in order")


def _confirm(plan: Plan, *, yes: bool) -> None:
    removing = len(plan.ids("remove"))
    if yes or not removing:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            f"this would remove {plural(removing, 'memory', 'memories')} and nobody is here to ask",
            hint="look with --dry-run, then say --yes",
        )
    if not typer.confirm(f"remove {plural(removing, 'memory', 'memories')}?", err=True):
        raise UsageError("nothing was removed", hint="ragmem gc --dry-run shows the plan")
