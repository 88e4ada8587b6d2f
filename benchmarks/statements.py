"""Measure whether gc loses statements: a thousand are queried before gc, after each rule, and after all.

The store holds the notes of a corpus, each in its source and repository, and what was said, thought, done and
returned in the transcripts of sessions, text by text, each with its session. In each project of a session
there are later notes about nothing of it, so that all of it is old. Statements are drawn of the notes and of
what was said and thought; inputs/statement_wording.py tells how each is asked.

A statement is found strictly if its own memory is among the first five, with its own title, date and source;
and leniently also if another memory there, which was stored as it is, says the same in the same words (times
and hashes aside). A memory that gc made counts for neither.

Before all that, everything that was stored is asked, with what was cold from the start: against it, the table
tells what intake and gc together take out of default answers, and whether a statement goes with it.
"""

import json
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import common
from inputs.retrieval_sets import RetrievalSet
from inputs.statement_wording import Statement, plain, statements
from inputs.transcript_texts import said_in
from inputs.vector_cache import CachedModels, VectorCache
from stores.statement_store import ALIKE, MADE_UP, TALK, chosen, drafts_of, store

from ragmem.api.memory import Ragmem
from ragmem.domain.model import State
from ragmem.services.lifecycle.items import Item, Plan
from ragmem.services.retrieval.question import DiscardedUse, Question

MEMORIES, QUICK_MEMORIES = 4_000, 300
STATEMENTS, QUICK_STATEMENTS = 1_000, 60
FIRST = 5

PASSES = 6
"""Runs of gc at most, until one changes nothing."""

READ = 60
"""Decisions that are written for a reader."""

STORED = "nothing cold"
"""The step that asks all that was stored, what was cold from the start included."""

TARGET, FEWER = 0.997, 0.15
"""Of what was found, the share that is found after gc; and by how much fewer memories are searched."""


@dataclass(frozen=True, slots=True)
class Probes:
    """The statements, the groups of texts that look alike, and the questions of people, with what was stored.

    `same` has for each statement the memories that say it, and `known` title, date and source by id.
    """

    statements: Sequence[Statement]
    alike: Mapping[str, str]
    retrieval: RetrievalSet
    known: Mapping[str, tuple[str, datetime, str]]
    same: Sequence[frozenset[str]]
    at: datetime

    @classmethod
    def of(cls, memory: Ragmem, retrieval: RetrievalSet, count: int) -> "Probes":
        """Draw the probes of what is stored, half of the statements of notes and half of sessions."""
        everything = list(memory.catalog.memories.each())
        real = [one for one in everything if not one.uri.startswith(MADE_UP)]
        notes = [one for one in real if one.source != "transcripts"]
        talk = [one for one in real if one.uri.endswith(TALK)]
        drawn = [
            *statements(notes, everything, count // 2),
            *statements(talk, everything, count - count // 2),
        ]
        texts = {one.id: plain(one.text) for one in everything}
        wanted = {f"alike/{name}|said": name for named in ALIKE.values() for name in named}
        return cls(
            drawn,
            {one.id: wanted[one.uri] for one in everything if one.uri in wanted},
            retrieval,
            {one.id: (one.title, one.event_time, one.source) for one in everything},
            [
                frozenset(key for key, text in texts.items() if plain(one.text) in text) | {one.memory}
                for one in drawn
            ],
            max(one.event_time for one in everything),
        )

    def ask(
        self, memory: Ragmem, *, people: bool = False, discarded: DiscardedUse = "last"
    ) -> dict[str, Any]:
        """Return what is found now, and how many memories are searched.

        With `people`, also the share of the gold of people's questions among the first five. `discarded` is
        as in `Question`.
        """
        started = time.perf_counter()
        found: dict[str, set[int]] = {}
        for number, (one, same) in enumerate(zip(self.statements, self.same, strict=True)):
            for form, text in one.questions.items():
                first = set(self._first(memory, text, discarded))
                for count, wanted in (("strict", {one.memory}), ("lenient", same)):
                    hits = found.setdefault(f"{form}, {count}", set())
                    if first & wanted:
                        hits.add(number)
        questions = {name: text for text, named in ALIKE.items() for name in named}
        alike = [
            name
            for key, name in self.alike.items()
            if key in self._first(memory, questions[name].format(name=name), discarded)
        ]
        searched = len(self.known) if discarded == "always" else memory.gc.plan().searched
        told = {"found": found, "alike": sorted(alike), "searched": searched}
        if people:
            asked = [query for query in self.retrieval.queries if query.gold]
            told["recall"] = statistics.fmean(
                len(
                    query.gold
                    & {memory.memory(key).uri for key in self._first(memory, query.text, discarded)}
                )
                / len(query.gold)
                for query in asked
            )
            told["questions"] = len(asked)
        common.tell(
            f"asked in {time.perf_counter() - started:.0f} s:"
            + "".join(f" {len(hits)}" for hits in found.values())
            + f"; {len(alike)} of the groups, {searched:,} searched"
        )
        return told

    def lost(
        self, before: Mapping[str, Any], after: Mapping[str, Any], plans: Sequence[Plan]
    ) -> list[dict[str, str]]:
        """Return the place of each statement that was found leniently before, and what was decided of it."""
        decided = {item.id: item.name for plan in plans for item in hiding(plan)}
        places = {item.id: item.uri for plan in plans for item in plan.items}
        return [
            {
                "form": form,
                "place": places.get(key, ""),
                "decision": decided.get(key, "none"),
            }
            for form, hits in before["found"].items()
            if form.endswith("lenient")
            for key in (self.statements[number].memory for number in sorted(hits - after["found"][form]))
        ]

    def missed(
        self, memory: Ragmem, stored: Mapping[str, Any], after: Mapping[str, Any], cold: AbstractSet[str]
    ) -> list[dict[str, str]]:
        """Return each statement that was found strictly when nothing was cold, and is not after gc."""
        return [
            {
                "form": form,
                "cold": "yes" if one.memory in cold else "no",
                "place": memory.memory(one.memory).uri,
                "statement": one.text,
            }
            for form, hits in stored["found"].items()
            if form.endswith("strict")
            for one in (self.statements[number] for number in sorted(hits - after["found"][form]))
        ]

    def _first(self, memory: Ragmem, text: str, discarded: DiscardedUse) -> list[str]:
        """Return the first memories of an answer that are as they were stored."""
        limit = memory.settings.query.limit
        question = Question(text, projects=None, limit=limit, discarded=discarded)
        matches = memory.query(text, question=question, at=self.at).matches[:FIRST]
        return [
            one.memory.id
            for one in matches
            if self.known.get(one.memory.id) == (one.memory.title, one.memory.event_time, one.memory.source)
        ]


def collect(memory: Ragmem, rules: Sequence[str] = ()) -> list[Plan]:
    """Run gc until it changes nothing, with some rules once; return the plans that were carried out."""
    done = []
    for _ in range(1 if rules else PASSES):
        plan = memory.gc.plan(rules=rules)
        outcome = memory.gc.apply(plan, allow_large=True)
        if not outcome.changed_count:
            break
        done.append(plan)
    return done


def measure(memory: Ragmem, probes: Probes, options: Any) -> dict[str, Any]:
    """Ask before gc, after all of it, after it was undone, and after what hides something alone."""
    steps: dict[str, Any] = {
        STORED: probes.ask(memory, discarded="always"),
        "before": probes.ask(memory, people=True),
    }
    if options.decisions:
        write_decisions(memory, memory.gc.plan(), options.decisions)
    plans = collect(memory)
    steps["whole gc"] = probes.ask(memory, people=True)
    made = len(set(memory.catalog.memories.ids()) - probes.known.keys())
    lost = probes.lost(steps["before"], steps["whole gc"], plans)
    cold = memory.catalog.memories.ids(states=[State.BUFFERED])
    missed = probes.missed(memory, steps[STORED], steps["whole gc"], cold)
    for _ in plans:
        undo(memory)
    steps["whole gc, undone"] = probes.ask(memory)
    for name, rules in alone(memory.gc.plan()).items():
        common.tell(f"only {name}")
        if collect(memory, rules):
            steps[f"only {name}"] = probes.ask(memory)
            undo(memory)
    return {
        "steps": steps,
        "passes": [_names(plan) for plan in plans],
        "large": [plan.large for plan in plans],
        "made": made,
        "lost": lost,
        "missed": missed,
        "of cold memories": sum(one.memory in cold for one in probes.statements),
    }


def hiding(plan: Plan) -> list[Item]:
    """Return the decisions that take a memory out of default answers, or mark it there."""
    harmless = {"keep", "reprieve", "promote", "mend", "drop"}
    return [item for item in plan.items if item.action not in harmless]


def alone(plan: Plan) -> dict[str, list[str]]:
    """Return what is run alone: each rule that hides; those by which one memory replaces another together."""
    found: dict[str, set[str]] = {}
    for item in hiding(plan):
        name = item.action if item.action in {"supersede", "mark"} else item.rule
        found.setdefault(name, set()).add(item.rule)
    return {name: sorted(rules) for name, rules in sorted(found.items())}


def undo(memory: Ragmem) -> None:
    """Undo the latest run, with the vectors of what is restored."""
    memory.gc.undo()
    memory.inbox.index_pending()


def _names(plan: Plan) -> dict[str, int]:
    return dict(sorted(Counter(item.name for item in plan.active_items()).items()))


def write_decisions(memory: Ragmem, plan: Plan, path: Path) -> None:
    """Write decisions of a plan with the texts that they are about, as many of each rule as there are.

    The same ones each time; for a reader, who judges each of them.
    """
    by_rule: dict[str, list[Item]] = {}
    for item in sorted(hiding(plan), key=lambda item: item.id):
        if item.uri.startswith(MADE_UP):
            continue
        by_rule.setdefault(item.name, []).append(item)
    chance = random.Random(READ)
    waiting = [chance.sample(items, len(items)) for _, items in sorted(by_rule.items())]
    drawn: list[Item] = []
    while len(drawn) < READ and any(waiting):
        drawn += [items.pop() for items in waiting if items][: READ - len(drawn)]
    with path.open("w", encoding="utf-8") as file:
        for item in sorted(drawn, key=lambda item: (item.name, item.id)):
            texts = memory.catalog.memories.get([item.id, *item.others])
            row = {
                "decision": item.name,
                "reason": item.reason,
                "place": texts[item.id].uri,
                "text": texts[item.id].text,
                "others": {one: texts[one].text for one in item.others if one in texts},
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir()) / "ragmem-vectors",
        metavar="DIR",
        help="where vectors are kept between runs",
    )
    parser.add_argument("--memories", type=int, help=f"notes and texts of sessions (default: {MEMORIES:,})")
    parser.add_argument("--decisions", type=Path, metavar="FILE", help=f"write {READ} decisions, to be read")
    options = parser.parse_args()
    about = common.machine()
    found = RetrievalSet.read(options.data / "questions")
    if options.quick:
        found = replace(found, drafts=found.drafts[::12])
    size = options.memories or (QUICK_MEMORIES if options.quick else MEMORIES)
    room = size - len(found.drafts)
    drafts = drafts_of(found, chosen(said_in(options.data.resolve().parent / "corpus"), room))
    with common.temporary_folder("statements") as place:
        outer = Ragmem.open(environ=common.environment(place), home=place, cwd=place)
        cache = VectorCache(options.cache, outer.models.embedder)
        models = CachedModels(outer.models, cache)
        with Ragmem(outer.settings, home=place, cwd=place, models=models) as memory:
            store(memory, drafts)
            common.tell(f"stored {len(drafts):,} drafts")
            probes = Probes.of(memory, found, QUICK_STATEMENTS if options.quick else STATEMENTS)
            measured = measure(memory, probes, options)
        cache.close()
        outer.close()
    counts = {"stored": len(probes.known), "statements": len(probes.statements)}
    document = {"benchmark": "statements", "machine": about, **counts, **measured}
    report(document, options)


def report(document: Mapping[str, Any], options: Any) -> None:
    """Print the tables, and write the files that were asked for."""
    steps = document["steps"]
    stored, before, after = steps[STORED], steps["before"], steps["whole gc"]
    forms = list(before["found"])
    groups = sum(map(len, ALIKE.values()))
    rows = [
        [
            name,
            f"{step['searched']:,}",
            *(f"{len(step['found'][form]):,}" for form in forms),
            f"{len(step['alike'])} of {groups}",
        ]
        for name, step in ((STORED, stored), ("before", before))
    ]
    for name, step in list(steps.items())[len(rows) :]:
        cells = (_kept(before["found"][form], step["found"][form]) for form in forms)
        rows.append([name, f"{step['searched']:,}", *cells, f"{len(step['alike'])} of {groups}"])
    fewer = 1 - after["searched"] / before["searched"]
    least = min(_share(before["found"][form], after["found"][form]) for form in forms)
    kept = f"rows below `before`: share of those that are still found; lowest after the whole gc: {least:.1%}"
    fewer_in_all = 1 - after["searched"] / stored["searched"]
    found_of_all = ", ".join(
        f"{form.partition(',')[0]} {_kept(stored['found'][form], after['found'][form])}"
        for form in forms
        if form.endswith("strict")
    )
    cold = sum(one["cold"] == "yes" for one in document["missed"])
    of_cold = f"{document['of cold memories']:,} statements belong to memories that were cold from the start"
    by_decision = Counter(one["decision"] for one in document["lost"])
    lost = [f"{name} {count:,}" for name, count in by_decision.most_common()]
    recall = f"{before['recall']:.3f} -> {after['recall']:.3f}"
    notes = [
        f"{document['statements']:,} statements; {kept} (target: {TARGET:.1%})",
        (
            f"{fewer_in_all:.1%} fewer memories searched by default after gc than are stored (target:"
            f" {FEWER:.0%} or more); {fewer:.1%} by gc, the others were cold from the start"
        ),
        (
            f"statements found strictly by default after gc, of those found with nothing cold:"
            f" {found_of_all} (target: {TARGET:.1%}); {cold} of the lost belong to cold memories; {of_cold}"
        ),
        f"{document['made']:,} memories composed of others, with another title and date (target: 0)",
        f"{before['questions']} questions written by people about the notes, recall@{FIRST}: {recall}",
        "lost statements, by the decision on their memory: " + (", ".join(lost) or "nothing"),
        *(
            f"pass {number}: " + ", ".join(f"{name} {count:,}" for name, count in one.items())
            for number, one in enumerate(document["passes"], 1)
        ),
    ]
    headers = ["statements found", "searched", *forms, "similar texts"]
    plainly = {
        **document,
        "steps": {
            name: {**step, "found": {form: sorted(hits) for form, hits in step["found"].items()}}
            for name, step in steps.items()
        },
    }
    common.report("statements", plainly, headers, rows, options=options, notes=notes)


def _share(before: set[int], after: set[int]) -> float:
    return len(before & after) / len(before) if before else 1.0


def _kept(before: set[int], after: set[int]) -> str:
    lost = len(before - after)
    return f"{_share(before, after):.1%}" + (f" ({lost:,} lost)" if lost else "")


if __name__ == "__main__":
    main()
