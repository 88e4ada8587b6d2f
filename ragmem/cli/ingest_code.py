"""`ragmem ingest --code`: read the code of a project, and print the result."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.cli.common import Bar, open_memory, plural, say, say_json, table, tell
from ragmem.errors import EXIT_FAILED, EXIT_OK

if TYPE_CHECKING:
    from ragmem.services.code.report import CodeReport

NAMED = 3
"""Paths that are listed for each reason of a failure."""

SHOWN = 10
"""Files that the report for people lists in each group."""


def ingest_code(paths: Sequence[str], *, rebuild: bool, dry_run: bool, as_json: bool, quiet: bool) -> int:
    """Bring the code graph of these folders up to date and print the changes."""
    reports = []
    with open_memory(quiet=quiet) as memory, Bar(quiet=quiet or as_json) as bar:
        for path in paths:
            done = memory.code.ingest(Path(path), rebuild=rebuild, dry_run=dry_run, progress=bar)
            reports.append(done)
            bar.close()
    if as_json:
        say_json({"schema": 1, "dry_run": dry_run, "code": [report.shape() for report in reports]})
    else:
        for report in reports:
            _say(report, quiet=quiet)
    return EXIT_FAILED if any(report.failed for report in reports) else EXIT_OK


def _say(report: "CodeReport", *, quiet: bool) -> None:
    say(f"{report.project}  {report.root}")
    rows = [(language, files) for language, files in report.languages.most_common()]
    table(("language", "files"), rows)
    say(
        f"{len(report.new):,} new, {len(report.changed):,} changed, {len(report.renamed):,} renamed,"
        f" {len(report.gone):,} gone, {report.unchanged:,} unchanged"
    )
    made = "would be" if report.dry_run else "are"
    counted = f"{plural(report.symbols, 'symbol', 'symbols')} and {plural(report.edges, 'edge', 'edges')}"
    say(f"{counted} {made} in the graph; {report.seconds:.2f} s")
    failed: dict[str, list[str]] = {}
    for path, reason in report.failed:
        failed.setdefault(reason, []).append(path)
    for reason, paths in list(failed.items())[:SHOWN]:
        more = f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else ""
        tell(f"failed: {', '.join(paths[:NAMED])}{more}: {reason}")
    if left := sum(map(len, list(failed.values())[SHOWN:])):
        tell(f"... and {left:,} more failed; --json counts them by their reasons")
    if quiet:
        return
    for old, new in report.renamed[:SHOWN]:
        tell(f"renamed: {old} -> {new}")
    notes = [
        *((path, reason, "skipped") for path, reason in report.skipped),
        *((path, problem, "not read completely") for path, problem in report.problems.items()),
    ]
    for path, reason, what in notes[:SHOWN]:
        tell(f"{what}: {path}: {reason}")
    if len(notes) > SHOWN:
        tell(f"... and {len(notes) - SHOWN:,} more; --json counts them by their reasons")
