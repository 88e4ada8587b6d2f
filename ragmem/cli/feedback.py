"""`ragmem feedback`: rate a memory as useful or not, or report a problem."""

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from ragmem.cli.common import check_target, open_memory, printable, require_consent, say, say_json, tell
from ragmem.cli.options import DryRunOption, JsonOption, MemoryArgument, SessionOption, YesOption
from ragmem.errors import EXIT_OK, ConfigError, UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem feedback 3q7hn2zk5x4m good
  ragmem feedback 3q7hn2zk5x4m bad --session 5f2c
  ragmem feedback --report --dry-run

\b
Exit codes:
  0  the rating is stored, or the report is written
  2  usage or configuration, or no such id
  5  the store is busy
"""


@app.command(epilog=EPILOG)
def feedback(
    identifier: MemoryArgument = "",
    verdict: Annotated[
        Literal["good", "bad"] | None,
        typer.Argument(metavar="good|bad", help="good keeps an isolated memory, bad costs it a reprieve."),
    ] = None,
    session: SessionOption = "",
    report: Annotated[
        bool, typer.Option("--report", help="Write a problem report for an issue; nothing is sent.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="With --report: the file to write.")
    ] = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> int:
    """Rate a memory as useful or not, or report a problem.

    A report has versions, the findings of doctor, and the places in the code where errors occurred. It has no
    memory texts and no secrets, and "~" stands for your home directory. It is shown before it is written, and
    stays on this machine.
    """
    if report:
        if identifier:
            raise UsageError("--report rates no memory", hint="ragmem feedback --report")
        return _report(out, dry_run=dry_run, yes=yes, as_json=as_json)
    for given, name in ((out, "--out"), (dry_run, "--dry-run"), (yes, "--yes")):
        if given:
            raise UsageError(f"{name} requires --report", hint="ragmem feedback --report")
    if not identifier or verdict is None:
        raise UsageError("a rating needs an id and good or bad", hint="ragmem feedback ID good")
    with open_memory() as opened:
        memory = opened.lifecycle.rate(identifier, verdict, session=session)
        standing = opened.lifecycle.status(memory.id)
    if as_json:
        from ragmem.services.lifecycle.feedback import life_shape

        say_json({"schema": 1, "id": memory.id, "verdict": verdict, "life": life_shape(standing)})
        return EXIT_OK
    title = printable(opened.redactor.redact(memory.title or memory.uri)[0])
    say(f"{memory.short_id}  {title}: {verdict} (feedback {standing.entry.feedback:+d})")
    return EXIT_OK


def _report(out: Path | None, *, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Show a report, ask, and write it."""
    from ragmem.domain.secrets.redaction import DEFAULT
    from ragmem.services.doctor.problem_report import compose_report
    from ragmem.services.doctor.report import Check, Report
    from ragmem.services.processes.atomic_write import new_file

    check_target(out, force=False)
    try:
        with open_memory(quiet=True) as memory:
            found = memory.doctor.examine(read_only=True)
            state: Path | None = memory.settings.places.state
            redactor = memory.redactor
    except ConfigError as error:
        # A configuration that cannot be read is what may be to report.
        found, state, redactor = Report((Check("configuration", "failed", str(error)),)), None, DEFAULT
    text = compose_report(found, state=state, home=Path.home(), redactor=redactor)
    path = out or (state or Path.cwd()) / time.strftime("ragmem-report-%Y%m%d-%H%M%S.md", time.gmtime())
    if not as_json:
        say(text)
    if not dry_run:
        if not yes:
            require_consent(
                f"write this to {path}?",
                nobody="a report must be confirmed on a terminal before it is written",
                hint="ragmem feedback --report --dry-run",
                refused="nothing was written",
            )
        if out is None:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with new_file(path) as file:
            file.write(text.encode())
    if as_json:
        say_json({"schema": 1, "path": "" if dry_run else str(path), "report": text})
    elif not dry_run:
        tell(f"written to {path}; nothing was sent: read it, add what you did, and attach it to an issue")
    return EXIT_OK
