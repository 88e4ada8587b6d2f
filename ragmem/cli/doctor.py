"""`ragmem doctor`: find problems and repair them."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ragmem import __version__
from ragmem.api.memory import Ragmem
from ragmem.cli.common import (
    open_memory,
    plural,
    require_consent,
    say,
    say_json,
    say_markdown,
    table,
    tell,
)
from ragmem.cli.options import DryRunOption, JsonOption, QuietOption, YesOption
from ragmem.errors import EXIT_NO, ConfigError, UsageError
from ragmem.services.doctor.repair import Step, plan
from ragmem.services.doctor.report import Check, Report

ROUNDS = 3
"""Maximum number of rounds of one run: a repair may reveal further damage."""

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem doctor
  ragmem doctor --deep --json
  ragmem doctor --updates
  ragmem doctor --repair --dry-run
  ragmem doctor --repair --yes

\b
Exit codes:
  0  all checks passed, or there are only warnings
  1  a check failed
  2  usage
  6  the database is damaged; restore a backup
"""


@app.command(epilog=EPILOG)
def doctor(
    deep: Annotated[
        bool,
        typer.Option("--deep", help="Also read every database page, and search for each chunk by its text."),
    ] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what can be repaired.")] = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Write nothing, not even a temporary test memory.")
    ] = False,
    updates: Annotated[
        bool, typer.Option("--updates", help="Also check the package index for a newer ragmem.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Find problems and repair them."""
    if repair and updates:
        raise UsageError("--repair and --updates are mutually exclusive", hint="ragmem doctor --updates")
    if repair and read_only:
        raise UsageError(
            "--repair and --read-only are mutually exclusive", hint="ragmem doctor --repair --dry-run"
        )
    for given, name in ((dry_run, "--dry-run"), (yes, "--yes")):
        if given and not repair:
            raise UsageError(f"{name} requires --repair", hint=f"ragmem doctor --repair {name}")
    try:
        memory = open_memory(quiet=True)
    except ConfigError as error:
        report = Report((Check("configuration", "failed", str(error), error.hint),))
        _say_report(report, as_json=as_json, quiet=quiet)
        return EXIT_NO
    with memory:
        report = memory.doctor.examine(deep=deep, read_only=read_only or (repair and dry_run))
        if updates:
            return _say_updates(report, home=memory.home, as_json=as_json, quiet=quiet)
        steps = plan(report) if repair else []
        if not steps:
            _say_report(report, as_json=as_json, quiet=quiet)
            return report.exit_code
        if not as_json:
            _say_report(report, as_json=False, quiet=quiet)
            say()
            table(("repair", "action"), [(step.name, step.what) for step in steps])
        if dry_run:
            if as_json:
                _say_json(report, steps)
            return report.exit_code
        if not yes:
            require_consent(
                f"do {plural(len(steps), 'repair')}?",
                nobody="a repair writes to the memory, and there is no terminal to confirm it",
                hint="see the plan first: ragmem doctor --repair --dry-run",
                refused="nothing was changed",
                refused_hint="ragmem doctor --repair --dry-run shows the plan",
            )
        done, report = _repair(memory, steps, deep=deep, quiet=quiet or as_json)
    if as_json:
        _say_json(report, done)
    else:
        say()
        _say_report(report, as_json=False, quiet=quiet)
    return report.exit_code


def _repair(memory: Ragmem, steps: list[Step], *, deep: bool, quiet: bool) -> tuple[list[Step], Report]:
    done: list[Step] = []
    for _ in range(ROUNDS):
        for step in memory.doctor.repair(steps):
            done.append(step)
            if not quiet:
                tell(f"{step.name or 'backup'}: {step.outcome}")
        report = memory.doctor.examine(deep=deep)
        tried = {step.name for step in done}
        steps = [step for step in plan(report) if step.name not in tried]
        if not steps:
            break
    return done, report


def _say_updates(report: Report, *, home: Path, as_json: bool, quiet: bool) -> int:
    """Show a report with what the package index says, and the part of the changelog that is known here."""
    from ragmem.services.doctor.updates import ask_index

    update = ask_index(os.environ, home=home)
    report = Report((*report.checks, update.check))
    if as_json:
        told = {"index": update.index, "newest": update.newest, "changes": update.changes}
        _say_json(report, [], updates={"installed": __version__, **told})
        return report.exit_code
    _say_report(report, as_json=False, quiet=quiet)
    if update.changes:
        say()
        say_markdown(update.changes)
    return report.exit_code


def _say_report(report: Report, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        _say_json(report, [])
        return
    table(
        ("check", "status", "detail", "next step"),
        [(check.name, check.status, check.detail, check.fix) for check in report.checks],
    )
    if report.failed and not quiet:
        tell(f"{plural(len(report.failed), 'thing')} wrong")


def _say_json(report: Report, steps: list[Step], **parts: Any) -> None:
    document: dict[str, Any] = {
        "schema": 1,
        "well": not report.failed,
        "checks": [
            {"name": c.name, "status": c.status, "detail": c.detail, "fix": c.fix, "repair": c.mend}
            for c in report.checks
        ],
    }
    if steps:
        document["repairs"] = [
            {"name": step.name or "backup", "what": step.what, "outcome": step.outcome} for step in steps
        ]
    say_json(document | parts)
