"""Measure whether applicable rules are injected, and only those: invented projects, questions and moments.

rules.toml has the projects: standing rules, a few facts, and moments, of which about half lie outside of any
scope. A question is asked as `ragmem query` asks it, with and without the rules in scope. A moment is a
prompt, a file that is about to be edited, or a command that is about to run: told is what its scope says,
wrong is each rule told that does not apply. The vocabulary of scopes was tuned on half of the projects.
"""

import math
import statistics
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import common

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Scope
from ragmem.domain.retrieval.rule_moment import Moment, moment_of_command, moment_of_path, moment_of_text
from ragmem.services.retrieval.calibration import calibration_for
from ragmem.services.retrieval.query import Assistance, Question, ask
from ragmem.services.retrieval.sources import rules_for

DATA = Path(__file__).with_suffix(".toml")
NOW = datetime(2026, 6, 1, tzinfo=UTC)
DEPTH = 10
FILE, RUN = "file: ", "run: "
QUICK = 3
HALVES = ("all", "seen", "unseen")
HEADERS = (
    "half",
    "cases",
    "in scope",
    "first",
    "in three",
    "first before",
    "injected",
    "wrong",
    "silent outside",
)


@dataclass(frozen=True)
class Case:
    """A moment, the rules that apply to it, and the one that matters most; "" outside of any scope."""

    text: str
    rules: frozenset[str]
    main: str


@dataclass(frozen=True)
class Project:
    """An invented project; `rules` and moments name a rule by its key."""

    name: str
    half: str
    rules: Mapping[str, str]
    facts: Sequence[str]
    cases: Sequence[Case]


@dataclass
class Counts:
    """What was counted for one half and one sort of moments."""

    inside: int = 0
    outside: int = 0
    first: int = 0
    three: int = 0
    before: int = 0
    told: int = 0
    right: int = 0
    wrong: int = 0
    silent: int = 0
    asked: int = 0
    seconds: list[float] = field(default_factory=list)

    def share(self, count: int, of: int) -> float:
        """Return a share; NaN of nothing."""
        return count / of if of else math.nan

    def document(self) -> dict[str, Any]:
        """Return the shares."""
        return {
            "moments": self.inside + self.outside,
            "in_scope": self.inside,
            "first": self.share(self.first, self.asked),
            "in_three": self.share(self.three, self.asked),
            "first_before": self.share(self.before, self.asked),
            "told": self.share(self.told, self.inside),
            "wrong": self.share(self.wrong, self.wrong + self.right),
            "silent_outside": self.share(self.silent, self.outside),
            "seconds": statistics.median(self.seconds) if self.seconds else math.nan,
        }


def read() -> list[Project]:
    """Return the projects of rules.toml."""
    rows = tomllib.loads(DATA.read_text(encoding="utf-8"))["project"]
    return [
        Project(
            row["name"],
            row["half"],
            row["rules"],
            row["facts"],
            [Case(text, frozenset(keys.split()), keys.partition(" ")[0]) for keys, text in row["moments"]],
        )
        for row in rows
    ]


def moment_of(text: str) -> Moment:
    """Return the moment of a prompt, a file or a command."""
    if text.startswith(FILE):
        return moment_of_path(text.removeprefix(FILE))
    return moment_of_command(text.removeprefix(RUN)) if text.startswith(RUN) else moment_of_text(text)


def sort_of(text: str) -> str:
    """Return the sort of a moment."""
    return "file" if text.startswith(FILE) else "command" if text.startswith(RUN) else "prompt"


def store(memory: Ragmem, project: Project) -> dict[str, str]:
    """Store the rules and facts of a project; return memory id -> key of a rule, "" for a fact."""
    texts = [*project.rules.items(), *(("", fact) for fact in project.facts)]
    drafts = [
        Draft("notes", f"{number}.md", text, scope=Scope(project.name), event_time=NOW)
        for number, (_, text) in enumerate(texts)
    ]
    return {
        result.id: key for (key, _), result in zip(texts, memory.ingest(drafts), strict=True) if result.id
    }


def measure(memory: Ragmem, project: Project, case: Case, keys: Mapping[str, str], one: Counts) -> None:
    """Count what one moment is told, and where a question finds the rules that apply."""
    since = time.perf_counter()
    applying = rules_for(memory.catalog, moment_of(case.text), projects=[project.name])
    one.seconds.append(time.perf_counter() - since)
    told = {keys[rule.memory_id] or "a fact" for rule, _ in applying}
    one.right += len(told & case.rules)
    one.wrong += len(told - case.rules)
    if not case.rules:
        one.outside += 1
        one.silent += not told
        return
    one.inside += 1
    one.told += bool(told & case.rules)
    if sort_of(case.text) == "prompt":
        found, before = (answer_keys(memory, project, case, keys, weight) for weight in (None, 0.0))
        one.asked += 1
        one.first += found[:1] != [] and found[0] in case.rules
        one.three += any(key in case.rules for key in found[:3])
        one.before += before[:1] != [] and before[0] in case.rules


def answer_keys(
    memory: Ragmem, project: Project, case: Case, keys: Mapping[str, str], weight: float | None
) -> list[str]:
    """Return the keys of the memories that answer, best first; `weight` is that of rules, None as shipped."""
    policy = memory.retrieval.policy()
    answer = ask(
        memory.catalog,
        lambda: memory.store,
        Question(case.text, projects=(project.name,), limit=DEPTH),
        policy=policy if weight is None else replace(policy, rule_weight=weight),
        now=NOW,
        assistance=Assistance(calibration_for(memory.catalog.database, memory.models.embedder.model_id)),
    )
    return [keys[match.memory.id] for match in answer.matches]


def main() -> None:
    """Store the projects, ask and touch everything, and report the shares."""
    options = common.arguments("rules that apply").parse_args()
    about = common.machine()
    projects = read()[:: QUICK if options.quick else 1]
    counts: dict[tuple[str, str], Counts] = {}
    with common.temporary_folder("rules") as home:
        environ = common.environment(home)
        with Ragmem.open(environ=environ, home=home, cwd=home) as memory:
            keys = {project.name: store(memory, project) for project in projects}
            for project in projects:
                for case in project.cases:
                    for half in (project.half, "all", project.name):
                        one = counts.setdefault((half, sort_of(case.text)), Counts())
                        measure(memory, project, case, keys[project.name], one)
    rows, figures = [], {}
    for (half, sort), one in sorted(counts.items()):
        shown = figures[f"{half}, {sort}"] = one.document()
        if half not in HALVES:  # the projects one by one are figures of --json
            continue
        rows.append(
            [
                f"{half}, {sort}",
                str(shown["moments"]),
                str(shown["in_scope"]),
                *(
                    "-" if math.isnan(shown[name]) else f"{shown[name]:.2f}"
                    for name in ("first", "in_three", "first_before", "told", "wrong", "silent_outside")
                ),
            ]
        )
    notes = [f"{len(projects)} projects, {sum(len(one.rules) for one in projects)} rules"]
    document = {"benchmark": "rules", "machine": about, "figures": figures}
    common.report("rules", document, HEADERS, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()
