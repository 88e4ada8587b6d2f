"""`ragmem seed --expect`: compare a memory with a file of expectations, for people, programs and CI."""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.cli.common import bold, dim, printable, say, tell
from ragmem.config.expectations import Expectations, QuestionExpectation, read_expectations
from ragmem.errors import ConfigError, UsageError
from ragmem.services.seeding.expectation_check import COUNTED_TIERS, Outcome, Verdict, compare
from ragmem.services.seeding.outcome_reports import annotations, describe_outcome, junit, path_from, summary

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.services.retrieval.question import Answer
    from ragmem.services.seeding.report import SeedReport

_MARKS = {"passed": "ok", "failed": "FAILED", "skipped": "skipped"}


@dataclass(frozen=True, slots=True)
class ExpectOptions:
    """The options of `seed` about expectations; without `file` there are none."""

    file: Path | None
    junit: Path | None
    github: bool
    write: bool

    def validate(self, *, dry_run: bool) -> "ExpectOptions":
        """Return the options; raises UsageError if they contradict or a file cannot be written."""
        from ragmem.services.processes.atomic_write import place_for

        given = {"--junit": self.junit, "--github": self.github, "--write-expect": self.write}
        for option, value in given.items():
            if value and self.file is None:
                raise UsageError(f"{option} requires --expect", hint="ragmem seed --expect FILE")
        if self.write and (dry_run or self.junit or self.github):
            raise UsageError(
                "--write-expect cannot be combined with a comparison",
                hint="ragmem seed --expect FILE --write-expect",
            )
        if self.write and self.file is not None and place_for(self.file, force=True).exists():
            raise UsageError(
                f'the file "{self.file}" already exists', hint="move it aside, or choose another name"
            )
        if self.junit is not None and self.file is not None:
            place = place_for(self.junit, force=True)
            if place == self.file.resolve():
                raise UsageError(
                    f'"{self.junit}" is the file of --expect and would be overwritten',
                    hint="give --junit another file",
                )
        return self

    def read(self, memory: "Ragmem") -> Expectations | None:
        """Return the expectations, None if there are none; raises ConfigError for a wrong file."""
        if self.file is None or self.write:
            return None
        return read_expectations(self.file, sources=memory.settings.sources)


def verdict_of(memory: "Ragmem", report: "SeedReport", expected: Expectations) -> Verdict:
    """Compare the memory with the expectations; raises ConfigError for a question that cannot be asked."""
    from ragmem.services.retrieval.question import Question

    degraded: dict[str, None] = {}

    def ask(asked: QuestionExpectation, limit: int) -> "Answer":
        try:
            projects = memory.projects.resolve([asked.project]) if asked.project else None
            question = Question(asked.question, projects=projects, limit=limit)
            answer = memory.query(asked.question, question=question)
        except UsageError as error:
            # The project does not exist, or the question is too long.
            raise ConfigError(f"{expected.path}:{asked.line}: {error}", hint=error.hint) from error
        if answer.rung == "text":
            degraded.update(dict.fromkeys(answer.notes))
        return answer

    verdict = compare(
        expected,
        report,
        stored={} if report.dry_run else _tier_counts(memory),
        ask=ask,
        streamed=[name for name, one in memory.settings.sources.items() if one.reader == "transcripts"],
        home=str(memory.home),
        redactor=memory.redactor,
    )
    for note in degraded:
        tell(f"note: {note}")
    return verdict


def _tier_counts(memory: "Ragmem") -> dict[tuple[str, str], int]:
    from ragmem.storage.memories.report_queries import Figures

    return Figures(memory.catalog.database).tiers()


def say_verdict(verdict: Verdict) -> None:
    """Write a line for each expectation, then the totals."""
    say()
    for outcome in verdict.outcomes:
        say(_line(outcome, verdict))
    say(bold(describe_outcome(verdict)))


def _line(outcome: Outcome, verdict: Verdict) -> str:
    mark = f"{_MARKS[outcome.status]:<7}"
    where = f"  {verdict.path.name}:{outcome.line}" if outcome.status == "failed" else ""
    text = printable(f"{outcome.name}: {outcome.message}").replace("\n", " ")
    return f"{bold(mark) if outcome.status == 'failed' else mark}  {text}{dim(where)}"


def shape(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict as JSON."""
    return {
        "file": str(verdict.path),
        **{status: len(verdict.of(status)) for status in ("passed", "failed", "skipped")},
        "outcomes": [{**asdict(one), "seconds": round(one.seconds, 3)} for one in verdict.outcomes],
    }


def report_to_ci(verdict: Verdict, options: ExpectOptions) -> None:
    """Write the JUnit file and the annotations for GitHub that the options ask for.

    GitHub's commands go to standard error, which its runner reads as well, so that stdout stays unchanged.
    """
    from ragmem.services.processes.atomic_write import new_file

    shown = path_from(verdict.path, Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd()))
    if options.junit is not None:
        with new_file(options.junit, force=True) as file:
            file.write(junit(verdict, shown=shown).encode())
    if options.github:
        for line in annotations(verdict, shown=shown):
            tell(line)
        if page := os.environ.get("GITHUB_STEP_SUMMARY"):
            with Path(page).open("a", encoding="utf-8") as file:
                file.write(summary(verdict, shown=shown))


def write_expectations(memory: "Ragmem", report: "SeedReport", path: Path) -> None:
    """Write a first file of expectations, which hold now: the present counts are the minimum."""
    from ragmem.services.processes.atomic_write import new_file

    stored = _tier_counts(memory)
    lines = [
        "# Expectations that `ragmem seed --expect` checks; docs/ci.md explains each key.",
        "# A number must match exactly; a range is { min = 1, max = 9 }, and either end is optional.",
        "",
        f"unread = {{ max = {report.failed} }}" if report.failed else "unread = 0",
    ]
    for tally in report.tallies:
        if tally.files:
            memories = sum(stored.get((tally.source, tier), 0) for tier in COUNTED_TIERS)
            lines += [
                "",
                f"[sources.{tally.source}]",
                f"files = {{ min = {tally.files} }}",
                f"memories = {{ min = {memories} }}",
            ]
    lines += [
        "",
        "# [[must_find]]",
        '# question = "why did the deploy fail"',
        f'# source = "{report.tallies[0].source if report.tallies else "memory"}"',
        '# path = "deploy-*.md"',
        "# within = 3",
        "",
        "# [[must_not_find]]",
        '# question = "something that nobody here has ever written about"',
    ]
    with new_file(path) as file:
        file.write(("\n".join(lines) + "\n").encode())
