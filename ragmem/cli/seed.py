"""`ragmem seed`: index new and changed files of the configured sources."""

import sys
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from ragmem.cli.common import (
    Bar,
    format_reason,
    open_memory,
    plural,
    say,
    say_json,
    shown_globs,
    size,
    table,
    tell,
)
from ragmem.cli.options import DryRunOption, ExplainOption, JsonOption, QuietOption, SourcesFileOption
from ragmem.errors import EXIT_FAILED, EXIT_NO, EXIT_OK, UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem seed
  ragmem seed --source memory --dry-run
  ragmem seed --check
  ragmem seed --background
  ragmem seed --expect ragmem-expect.toml --junit ragmem.xml

\b
Exit codes:
  0  done
  1  --check: something would change; --expect: an expectation does not hold
  2  usage or configuration
  3  some files could not be read or stored, or no model made the vectors
"""

SHOWN_PROBLEMS = 20
SHOWN_UNREAD = 5


@app.command(epilog=EPILOG)
def seed(
    source: Annotated[
        list[str] | None, typer.Option("--source", "-s", help="Only this source; repeatable.")
    ] = None,
    dry_run: DryRunOption = False,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 if anything would change.")
    ] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Read every file again, and rebuild all vectors and the graph.")
    ] = False,
    no_llm: Annotated[
        bool, typer.Option("--no-llm", help="Do not call a language model now; a later seed does.")
    ] = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Exit when everything is in full text; vectors follow later.")
    ] = False,
    background: Annotated[
        bool, typer.Option("--background", help="Like --no-wait, but make the vectors in the background.")
    ] = False,
    explain: ExplainOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    sources_file: SourcesFileOption = None,
    expect: Annotated[
        Path | None,
        typer.Option(
            "--expect", metavar="FILE", help="Then compare the memory with the expectations in this file."
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", help="With --expect: write the results as JUnit XML."),
    ] = None,
    github: Annotated[
        bool, typer.Option("--github", help="With --expect: annotate the file in GitHub Actions.")
    ] = False,
    write_expect: Annotated[
        bool, typer.Option("--write-expect", help="Write the file of --expect from the current state.")
    ] = False,
) -> int:
    """Index new and changed files of the configured sources."""
    from ragmem.cli import seed_expect

    options = seed_expect.ExpectOptions(expect, junit, github, write_expect).validate(
        dry_run=dry_run or check
    )
    verdict = None
    if explain and not dry_run:
        raise UsageError("--explain requires --dry-run", hint="ragmem seed --dry-run --explain")
    if background and (dry_run or check):
        raise UsageError(
            "--background cannot be combined with --check or --dry-run", hint="ragmem seed --background"
        )
    listed = dry_run and expect is None
    waits = no_wait or background
    with open_memory(sources_file=sources_file, quiet=quiet) as memory, Bar(quiet=quiet or as_json) as bar:
        expected = options.read(memory)
        report = memory.seed(
            sources=source or (),
            dry_run=dry_run or check,
            explain=listed,
            rebuild=rebuild,
            llm=not no_llm,
            wait=not waits,
            progress=bar,
            on_searchable=_tell_searchable
            if sys.stderr.isatty() and not (quiet or as_json or waits)
            else None,
        )
        bar.close()
        indexing = background and bool(report.pending) and index_in_background(memory)
        origins = {key: origin for key, _, origin in memory.settings.origins()}
        for tally in report.tallies:
            # Most shipped globs match nothing on most machines; a person's own one is perhaps mistyped.
            meant = source or origins[f"sources.{tally.source}.glob"] != "default"
            if meant and not (tally.files or tally.failed or quiet):
                spec = memory.settings.sources[tally.source]
                # A relative glob begins at the folder of its file, which is seldom the current one.
                globs = [one if one[0] in "~/{" else str(spec.base / one) for one in spec.globs]
                tell(f"note: source {tally.source}: no file matches {shown_globs(globs)}")
        active, wanted = memory.models.active(), memory.models.wanted_id()
        if expected is not None:
            verdict = seed_expect.verdict_of(memory, report, expected)
        elif expect is not None:
            seed_expect.write_expectations(memory, report, expect)
    if active is not None and active.model != wanted and not quiet:
        step = (
            f'`ragmem models use` makes them with "{wanted}"'
            if wanted
            else "`ragmem doctor` says what the configured model lacks"
        )
        tell(f'note: the vectors are those of "{active.model}"; {step}')
    if as_json:
        expectations = {"expectations": seed_expect.shape(verdict)} if verdict else {}
        say_json(_document(report, explain=listed) | {"background": indexing} | expectations)
    else:
        _say(report, listed=listed, explain=explain, quiet=quiet, named=bool(source))
        if not quiet:
            _tell_indexed(report, background=indexing)
            _tell_unread(report)
    if verdict is not None:
        if not as_json:
            seed_expect.say_verdict(verdict)
        seed_expect.report_to_ci(verdict, options)
        if verdict.of("failed"):
            return EXIT_NO
        # The expectations decide which files may be unread.
        if not check:
            return EXIT_FAILED if report.note else EXIT_OK
    if check and report.would_change:
        return EXIT_NO
    return EXIT_FAILED if report.failed or report.note else EXIT_OK


def _document(report: Any, *, explain: bool) -> dict[str, Any]:
    document: dict[str, Any] = {
        "schema": 1,
        "dry_run": report.dry_run,
        "would_change" if report.dry_run else "changed": report.would_change,
        "resumed": report.resumed,
        "indexed": report.indexed,
        "pending": report.pending,
        "note": report.note,
        "run": report.run,
        "lost": report.lost,
        "sources": [asdict(tally) for tally in report.tallies],
        "problems": [asdict(problem) for problem in report.problems],
        "characters": report.characters,
        "chunks": report.chunks,
        "extraction": asdict(report.extraction) if report.extraction else None,
        "recognition": asdict(report.recognition) if report.recognition else None,
        "transcripts": asdict(report.streamed) if report.streamed else None,
        "unread": [asdict(one) for one in report.unread],
        "cut": report.cut,
        "searchable_seconds": round(report.searchable_seconds, 3),
        "seconds": round(report.seconds, 3),
    }
    if explain:
        document["decisions"] = [
            {**asdict(decision), "id": decision.id[:12], "tier": decision.tier.value}
            for decision in report.decisions
        ]
    return document


def _say(report: Any, *, listed: bool, explain: bool, quiet: bool, named: bool) -> None:
    if listed and not quiet:
        rows = [
            (
                decision.tier.value,
                decision.change,
                decision.kind,
                decision.title,
                decision.uri,
                format_reason(decision.reason, explain=explain),
            )
            for decision in report.decisions
        ]
        if rows:
            table(("tier", "change", "kind", "memory", "path", "because"), rows)
            say()
    # A source without files is silent unless the person named it.
    told = [one for one in report.tallies if named or one.files or one.failed]
    names = [field.name for field in fields(told[0])] if told else []
    counts = [[getattr(tally, name) for name in names] for tally in told]
    if len(counts) > 1:
        counts.append(["total", *(sum(row[column] for row in counts) for column in range(1, len(names)))])
    if quiet:
        for problem in report.problems:
            if problem.level == "failed":
                tell(f"failed: {problem.place}: {problem.reason}")
        return
    if told:
        table(names, counts)
    else:
        tell("note: no source has any files; `ragmem inspect sources` shows the globs")
    if report.resumed:
        done = "would be finished" if report.dry_run else "finished"
        tell(f"{plural(report.resumed, 'memory', 'memories')} of an earlier run {done}")
    if report.streamed:
        _tell_transcripts(report.streamed, dry_run=report.dry_run)
    if report.lost:
        gone = plural(report.lost, "memory", "memories")
        tell(
            f"note: the files of {gone} are gone; `ragmem gc --missing --dry-run` lists what can be archived"
        )
    if report.note:
        waiting = plural(report.pending, "memory waits", "memories wait")
        tell(
            f"failed: {waiting} for vectors, only in full text until the next seed indexes them: "
            f"{report.note}"
        )
    if done := report.recognition:
        if done.read:
            tell(f"{done.model} read {plural(done.read, 'text', 'texts')} for names")
        if done.note:
            tell(f"note: the rules' entities stand: {done.note}")
        elif done.waiting:
            tell(f"note: {plural(done.waiting, 'text waits', 'texts wait')} for the model for names")
    if report.extraction:
        _tell_extraction(report.extraction)
    if report.run:
        say(f"run {report.run}")
    # Failures first: the exit code is theirs, and many warnings must not hide them.
    for problem in sorted(report.problems, key=lambda one: one.level != "failed")[:SHOWN_PROBLEMS]:
        reason = problem.reason if problem.place in problem.reason else f"{problem.place}: {problem.reason}"
        tell(f"{problem.level}: {reason}")
    if len(report.problems) > SHOWN_PROBLEMS:
        tell(f"... and {len(report.problems) - SHOWN_PROBLEMS:,} more; --json lists all")


def _tell_transcripts(done: Any, *, dry_run: bool) -> None:
    read = f"{size(done.bytes)} of {plural(done.files, 'transcript')}"
    if dry_run:
        tell(f"transcripts: {read} would be read")
        return
    rate = f" in {done.seconds:.1f} s, {size(int(done.bytes / done.seconds))}/s" if done.seconds else ""
    twice = f", {done.doubled:,} of them also in another transcript" if done.doubled else ""
    tell(f"transcripts: {read} read{rate}: {plural(done.exchanges, 'exchange')}{twice}")


def index_in_background(memory: Any) -> bool:
    """Have another process index what waits; return whether one does."""
    from ragmem.daemon import indexer

    try:
        # One that runs already looks again before it ends.
        indexer.start(memory)
    except OSError as error:
        tell(f"note: cannot start a process for the vectors: {error.strerror}")
        return False
    return True


def _tell_searchable(report: Any) -> None:
    """Report when full text is complete, unless nothing waits for vectors."""
    if report.pending and not report.note:
        waiting = plural(report.pending, "memory waits", "memories wait")
        tell(f"in full text after {report.searchable_seconds:.1f} s; {waiting} for vectors")


def _tell_indexed(report: Any, *, background: bool) -> None:
    if report.indexed:
        # A file with what a script printed tells what was stored, and needs no clock.
        if sys.stderr.isatty():
            tell(f"indexed after {report.seconds:.1f} s")
    elif report.pending and not report.note:
        makes = "a background process" if background else "`ragmem ingest --drain`, or the next seed,"
        _tell_searchable(report)
        tell(f"note: {makes} makes the vectors")


def _tell_unread(report: Any) -> None:
    """Print what was found but not read, in at most `SHOWN_UNREAD` lines."""
    lines = [
        f"not read: {one.what}, {'more than ' if one.more else ''}{plural(one.files, 'file')},"
        f" {size(one.bytes)}: {one.command}"
        for one in report.unread
    ]
    if report.cut:
        lines.append(f"note: {report.cut}; `glob` in sources.toml can name more")
    if len(lines) > SHOWN_UNREAD:
        lines[SHOWN_UNREAD - 1 :] = [f"... and {len(lines) - SHOWN_UNREAD + 1:,} more; --json lists all"]
    for line in lines:
        tell(line)


def _tell_extraction(done: Any) -> None:
    if done.asked:
        said = f"asked {done.model} about {plural(done.asked, 'text', 'texts')}"
        if done.invalid:
            answers = plural(done.invalid, "answer was", "answers were")
            said += f"; {answers} invalid and replaced by the rules' entities"
        if done.invented:
            said += f"; {plural(done.invented, 'invented entity', 'invented entities')} left out"
        tell(said)
    waiting = f"{plural(done.waiting, 'text waits', 'texts wait')} for the language model"
    if done.note:
        tell(f"note: {waiting}, the rules' entities stand: {done.note}")
    elif done.waiting:
        tell(f"note: {waiting}")
