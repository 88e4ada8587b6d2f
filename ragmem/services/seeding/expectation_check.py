"""Check a memory against a file of expectations: counts per source, and what questions find."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ragmem.config.expectations import Count, Expectations, QuestionExpectation
from ragmem.domain.model import Match, Tier, possible_files
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.retrieval.question import Answer
from ragmem.services.seeding.report import SeedReport, Tally

Status = Literal["passed", "failed", "skipped"]
Group = Literal["counts", "questions"]

COUNTED_TIERS = (Tier.INGEST, Tier.SUMMARIZE)
"""The tiers that `memories` counts."""

MAX_NAME = 80
"""Characters of a question in the name of an outcome."""

SEARCH_DEPTH = 20
"""Matches that are searched for the rank of a memory which does not come early enough."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one expectation on a line: `message` is the actual value, or why it was skipped."""

    group: Group
    name: str
    line: int
    status: Status
    message: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The results of all expectations of a file."""

    path: Path
    outcomes: tuple[Outcome, ...]

    def of(self, status: Status) -> list[Outcome]:
        """Return the outcomes of one status."""
        return [outcome for outcome in self.outcomes if outcome.status == status]


def compare(
    expected: Expectations,
    report: SeedReport,
    *,
    stored: Mapping[tuple[str, str], int],
    ask: Callable[[QuestionExpectation, int], Answer],
    streamed: Sequence[str] = (),
    home: str = "",
    redactor: Redactor,
) -> Verdict:
    """Return the result of each expectation after a seeding, or of those that a dry run can check.

    `stored` maps source and tier to a number of memories; `streamed` are the sources that are read as
    transcripts, which a dry run does not read; `ask` answers a question with a number of matches. `home` is
    shown as `~`.
    """
    names = Counter[str]()
    outcomes = [
        _check_count(count, names, report, stored=stored, streamed=streamed) for count in expected.counts
    ]
    for asked in expected.questions:
        name = _unique_name(_question_name(asked, redactor=redactor), names)
        if report.dry_run:
            outcomes.append(
                Outcome("questions", name, asked.line, "skipped", "a dry run stores nothing to query")
            )
        else:
            outcomes.append(_check_question(asked, name, ask, home=home, redactor=redactor))
    return Verdict(expected.path, tuple(outcomes))


def _unique_name(name: str, used: Counter[str]) -> str:
    """Return a name with a number where it is used already: JUnit readers merge equal names."""
    used[name] += 1
    return name if used[name] == 1 else f"{name} ({used[name]})"


def _check_count(
    count: Count,
    names: Counter[str],
    report: SeedReport,
    *,
    stored: Mapping[tuple[str, str], int],
    streamed: Sequence[str],
) -> Outcome:
    name = _unique_name(f"{count.source or 'all sources'}: {count.counted}", names)
    tally = next((one for one in report.tallies if one.source == count.source), None)
    if not count.source:
        found = report.failed
    elif tally is None:
        return Outcome("counts", name, count.line, "skipped", "not seeded now")
    elif report.dry_run and count.source in streamed and count.counted not in {"files", "unread"}:
        return Outcome("counts", name, count.line, "skipped", "a dry run reads no transcripts")
    else:
        found = _number(count, tally, stored=None if report.dry_run else stored)
    if count.holds(found):
        return Outcome("counts", name, count.line, "passed", f"{found:,}")
    return Outcome("counts", name, count.line, "failed", f"{found:,}, expected {count.description}")


def _number(count: Count, tally: Tally, *, stored: Mapping[tuple[str, str], int] | None) -> int:
    """Return a number of a source: memories that are stored or would be, files that were read or failed."""
    tiers = {
        tier.value: int(getattr(tally, tier.value)) if stored is None else stored.get((tally.source, tier), 0)
        for tier in COUNTED_TIERS
    }
    read = {"files": tally.files, "unread": tally.failed, Tier.DISCARD.value: tally.discard}
    return {**read, **tiers, "memories": sum(tiers.values())}[count.counted]


def _question_name(asked: QuestionExpectation, redactor: Redactor) -> str:
    question = " ".join(redactor.redact(asked.question)[0].split())
    shown = question if len(question) <= MAX_NAME else question[: MAX_NAME - 1] + "…"
    wanted = " ".join(filter(None, (asked.source, asked.path)))
    if asked.found:
        return _no_command(f'"{shown}" finds {wanted}')
    return _no_command(f'"{shown}" does not find {wanted}' if wanted else f'"{shown}" finds nothing')


def _no_command(text: str) -> str:
    """Return a text that no runner executes: GitHub's takes `##[NAME]` anywhere in a line for a command."""
    return text.replace("##[", "## [")


def _check_question(
    asked: QuestionExpectation,
    name: str,
    ask: Callable[[QuestionExpectation, int], Answer],
    *,
    home: str,
    redactor: Redactor,
) -> Outcome:
    begun = time.perf_counter()
    matches = ask(asked, max(asked.within, SEARCH_DEPTH)).matches
    seconds = time.perf_counter() - begun
    ranks = list(_ranks(asked, matches, home=home))
    early = [rank for rank in ranks if rank <= asked.within]
    if asked.found:
        status: Status = "passed" if early else "failed"
        message = f"at rank {ranks[0]}" if ranks else "it is not found"
        if not early:
            message += f", expected within {asked.within}; {_first(matches, home=home, redactor=redactor)}"
    else:
        status = "failed" if early else "passed"
        message = (
            f"at rank {early[0]}: {_show(matches[early[0] - 1], home=home, redactor=redactor)}"
            if early
            else "not found"
        )
    return Outcome("questions", name, asked.line, status, _no_command(message), seconds)


def _ranks(asked: QuestionExpectation, matches: Sequence[Match], *, home: str) -> Iterator[int]:
    pattern = _pattern(asked.path, home=home) if asked.path else None
    for rank, match in enumerate(matches, start=1):
        if asked.source in {"", match.memory.source} and (
            pattern is None or any(map(pattern.fullmatch, possible_files(match.memory.uri)))
        ):
            yield rank


def _pattern(glob: str, *, home: str) -> re.Pattern[str]:
    """Compile a glob, ignoring case: `*` and `?` match within a name, `**` any number of folders."""
    if glob.startswith("~/"):
        glob = home.rstrip("/") + glob[1:]
    if not glob.startswith("/"):
        glob = f"/**/{glob}"
    marks = {"/**/": "/(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(/\*\*/|\*\*|\*|\?)", glob)
    return re.compile(
        "".join(marks.get(part) or re.escape(part) for part in parts), re.DOTALL | re.IGNORECASE
    )


def _first(matches: Sequence[Match], *, home: str, redactor: Redactor) -> str:
    return f"first comes {_show(matches[0], home=home, redactor=redactor)}" if matches else "nothing is found"


def _show(match: Match, *, home: str, redactor: Redactor) -> str:
    memory = match.memory
    place = memory.uri
    if home and place.startswith(home.rstrip("/") + "/"):
        place = "~" + place[len(home.rstrip("/")) :]
    title = " ".join(redactor.redact(memory.title)[0].split())
    return f'"{title}" ({memory.source}, {place})'
