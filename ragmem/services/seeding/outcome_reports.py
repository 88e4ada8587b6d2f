"""Reports about expectations for CI: JUnit XML, annotations and a summary for GitHub."""

import re
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from ragmem.charts.svg_parts import replace_forbidden
from ragmem.services.seeding.expectation_check import Group, Outcome, Verdict

GROUPS: tuple[Group, ...] = ("counts", "questions")


def junit(verdict: Verdict, *, shown: str) -> str:
    """Return the outcomes as JUnit XML: a suite for the counts and one for the questions.

    `shown` is the path of the file of expectations in the report.
    """
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<testsuites name="ragmem seed"{_totals(list(verdict.outcomes))}>')
    for group in GROUPS:
        outcomes = [outcome for outcome in verdict.outcomes if outcome.group == group]
        lines.append(f'  <testsuite name="{group}"{_totals(outcomes)}>')
        for outcome in outcomes:
            lines += _case(outcome, shown)
        lines.append("  </testsuite>")
    lines.append("</testsuites>")
    return "\n".join(lines) + "\n"


def _totals(outcomes: list[Outcome]) -> str:
    counted = {
        "tests": len(outcomes),
        "failures": sum(outcome.status == "failed" for outcome in outcomes),
        "errors": 0,
        "skipped": sum(outcome.status == "skipped" for outcome in outcomes),
    }
    seconds = sum(outcome.seconds for outcome in outcomes)
    return "".join(f' {name}="{number}"' for name, number in counted.items()) + f' time="{seconds:.3f}"'


def _case(outcome: Outcome, shown: str) -> Iterator[str]:
    start = (
        f'    <testcase classname="ragmem.seed.{outcome.group}" name={_attribute(outcome.name)}'
        f' file={_attribute(shown)} line="{outcome.line}" time="{outcome.seconds:.3f}"'
    )
    if outcome.status == "passed":
        yield f"{start}/>"
        return
    yield f"{start}>"
    said = _attribute(outcome.message)
    if outcome.status == "failed":
        text = escape(replace_forbidden(f"{shown}:{outcome.line}: {outcome.name}: {outcome.message}"))
        yield f'      <failure message={said} type="expectation">{text}</failure>'
    else:
        yield f"      <skipped message={said}/>"
    yield "    </testcase>"


def _attribute(text: str) -> str:
    return quoteattr(replace_forbidden(" ".join(text.split())))


def annotations(verdict: Verdict, *, shown: str) -> list[str]:
    """Return a workflow command of GitHub Actions for each failed expectation."""
    return [
        f"::error file={_property(shown)},line={outcome.line},title={_property(outcome.name)}"
        f"::{_data(f'{outcome.name}: {outcome.message}')}"
        for outcome in verdict.of("failed")
    ]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(verdict: Verdict, *, shown: str) -> str:
    """Return the Markdown summary of a job: how many expectations hold, and a table of the failed ones."""
    failed = verdict.of("failed")
    lines = [f"### ragmem seed: {describe_outcome(verdict)}", ""]
    if failed:
        lines += ["| line | expected | actual |", "|---|---|---|"]
        lines += [
            f"| {_cell(f'{shown}:{outcome.line}')} | {_cell(outcome.name)} | {_cell(outcome.message)} |"
            for outcome in failed
        ]
        lines.append("")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Escape untrusted text: no markup, no link, no mention, no new cell."""
    plain = escape(" ".join(text.split()))
    return re.sub(r"([\\`*_{}\[\]()#+!|~@:-])", lambda found: f"&#{ord(found[0])};", plain)


def describe_outcome(verdict: Verdict) -> str:
    """Return how many expectations hold, in words."""
    failed, skipped = len(verdict.of("failed")), len(verdict.of("skipped"))
    total = len(verdict.outcomes) - skipped
    held = f"{total - failed:,} of {total:,} expectations hold"
    return f"{held}, {skipped:,} skipped" if skipped else held


def path_from(path: Path, workspace: Path) -> str:
    """Return a path relative to the repository, or an absolute one outside of it."""
    place = path.resolve()
    root = workspace.resolve()
    return place.relative_to(root).as_posix() if place.is_relative_to(root) else str(place)
