"""Measure the benefit and cost of recency: old and right against new and similar.

Pairs of memories of which the newer replaces the older are asked for by what both speak of, and by the first
sentence of either; the newer should come first. Dated sets are asked at their questions' dates: recall
of all, of the questions whose answer is among the oldest third and among the newest third, and how often the
newest of several right answers comes first where a fact was updated.
"""

import itertools
import re
import statistics
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import common
from inputs.retrieval_sets import DEPTH, Query, RetrievalSet, metrics_of, moment, read_lines
from inputs.vector_cache import CachedModels, VectorCache
from retrieval import POOLED, Variant, build

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Scope
from ragmem.services.retrieval.query import Policy, Question, ask

SETS = ("lme_session", "locomo_session", "codesess_commit")
BOUNDS = (0.05, 0.1, 0.2, 0.3, 0.5)
MAX_QUESTIONS = 120
"""Questions of a set, evenly taken: seven systems answer each."""

SMALL = frozenset(
    "the and for that this with from are was were has have had not but its can any all now new".split()
)


def variants(policy: Policy) -> list[Variant]:
    """Return ranking without recency, with several bounds, with half-lives alone, and the published sum."""

    def bounded(name: str, **changes: float) -> Variant:
        decay = replace(policy.decay, **changes)
        return Variant(name, replace(policy, decay=decay, earned_recency=True))

    return [
        bounded("none", bound=0.0),
        *(bounded(f"bound {bound:g}", bound=bound) for bound in BOUNDS),
        bounded("bound 0.2, half-lives alone", bound=0.2, fresh_share=0.0),
        bounded("bound 0.3, half-lives alone", bound=0.3, fresh_share=0.0),
        Variant("published", replace(policy, earned_recency=False)),
    ]


def pairs(path: Path) -> RetrievalSet:
    """Return the entries of a life-cycle file as a set, with three questions to each superseding pair."""
    rows = read_lines(path)
    texts = {row["id"]: row for row in rows}
    drafts = tuple(
        Draft(
            "eval", row["id"], row["text"], event_time=moment(row["created_at"]), scope=Scope(row["project"])
        )
        for row in rows
    )
    latest = max(draft.event_time for draft in drafts if draft.event_time)
    queries = []
    for row in rows:
        for older in _listed(row["supersedes"]):
            before, after = texts[older]["text"], row["text"]
            asked = {
                "both": " ".join(_shared(after, before)),
                "older": _first_sentence(before),
                "newer": _first_sentence(after),
            }
            for category, text in asked.items():
                queries.append(
                    Query(
                        id=f"{row['id']} {older} {category}",
                        text=text,
                        scope=row["project"],
                        category=category,
                        gold=frozenset({row["id"]}),
                        at=latest + timedelta(days=1),
                    )
                )
    return RetrievalSet("lifecycle", drafts, tuple(queries), latest, 0)


def _listed(value: Any) -> list[str]:
    return [] if not value else [value] if isinstance(value, str) else list(value)


def _shared(one: str, other: str) -> list[str]:
    """Return the words that two texts share, in the order of the first."""
    words = re.findall(r"[\w./:-]*\w", one)
    known = {word.lower() for word in re.findall(r"[\w./:-]*\w", other)}
    common_words = (word for word in dict.fromkeys(words) if word.lower() in known)
    return [word for word in common_words if len(word) > 2 and word.lower() not in SMALL]


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.;:])\s", text, maxsplit=1)[0]


def newer_first(chosen: RetrievalSet, ranked: Mapping[str, Sequence[str]], category: str) -> tuple[int, int]:
    """Return in how many pairs the newer stands before the older (or alone), and how many pairs there are."""
    won = count = 0
    for query in chosen.queries:
        if query.category != category:
            continue
        newer, older, _ = query.id.split()
        found = list(ranked[query.id])
        count += 1
        won += newer in found and (older not in found or found.index(newer) < found.index(older))
    return won, count


def dated_figures(chosen: RetrievalSet, ranked: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return recall@5 and NDCG@10 of all, recall@5 of thirds by the answer's age, and updates in order."""
    dates = {draft.uri: draft.event_time for draft in chosen.drafts if draft.event_time}
    rows = []
    updates = []
    for query in chosen.queries:
        found = ranked[query.id]
        known = {dates[name] for name in query.gold if name in dates}
        if not query.gold or not known:
            continue
        age = (query.at - max(known)).total_seconds()
        metrics = metrics_of(found, query.gold)
        rows.append((age, metrics["recall@5"], metrics["ndcg@10"]))
        if "update" in query.category and len(known) > 1:
            newest = max((name for name in query.gold if name in dates), key=lambda name: (dates[name], name))
            gold = [name for name in found if name in query.gold]
            updates.append(bool(gold) and gold[0] == newest)
    rows.sort()
    third = max(1, len(rows) // 3)
    return {
        "questions": len(rows),
        "recall@5": _mean(row[1] for row in rows),
        "ndcg@10": _mean(row[2] for row in rows),
        "oldest": _mean(row[1] for row in rows[-third:]),
        "newest": _mean(row[1] for row in rows[:third]),
        "days": [round(rows[place][0] / 86400) for place in (0, third, -third, -1)],
        "updates": [sum(updates), len(updates)],
    }


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(list(values))


def thinned(chosen: RetrievalSet) -> RetrievalSet:
    """Take the questions of a large set evenly."""
    step = max(1, -(-len(chosen.queries) // MAX_QUESTIONS))
    return replace(chosen, queries=chosen.queries[::step])


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval")
    parser.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "ragmem-vectors", metavar="DIR"
    )
    parser.add_argument("--sets", default=",".join(SETS), help="dated sets, separated by commas")
    options = parser.parse_args()
    about = common.machine()
    document: dict[str, Any] = {"benchmark": "decay", "machine": about, "sets": {}}
    with common.temporary_folder("models") as place:
        models = Ragmem.open(environ=common.environment(place), home=place, cwd=place)
        systems = variants(models.retrieval.policy())
        cache = VectorCache(options.cache, models.models.embedder)

        def ranked(chosen: RetrievalSet, *, pool: bool) -> dict[str, dict[str, list[str]]]:
            with (
                common.temporary_folder("decay") as home,
                Ragmem.open(environ=common.environment(home), home=home, cwd=home) as memory,
            ):
                catalog, store, documents, _ = build(
                    home, chosen, memory, CachedModels(models.models, cache), graph=False
                )
                cache.embed([query.text for query in chosen.queries], role="query")
                found: dict[str, dict[str, list[str]]] = {variant.name: {} for variant in systems}
                for query, variant in itertools.product(chosen.queries, systems):
                    own = query.haystack is not None and not pool
                    question = Question(
                        query.text,
                        projects=(query.scope,),
                        limit=DEPTH,
                        tags=(query.id,) if own else (),
                    )
                    answer = ask(catalog, lambda: store, question, policy=variant.policy, now=query.at)
                    found[variant.name][query.id] = [documents[match.memory.id] for match in answer.matches]
                store.close()
            common.tell(f"{chosen.name}: {len(chosen.queries)} questions")
            return found

        lifecycle = [pairs(path) for path in sorted(options.data.glob("lifecycle/*.jsonl"))]
        superseding: dict[str, dict[str, list[int]]] = {}
        for chosen in lifecycle:
            for system, found in ranked(chosen, pool=False).items():
                for category in ("both", "older", "newer"):
                    won, count = newer_first(chosen, found, category)
                    sums = superseding.setdefault(system, {}).setdefault(category, [0, 0])
                    sums[0] += won
                    sums[1] += count
        document["superseding"] = superseding
        names = (
            []
            if options.quick
            else [name for name in options.sets.split(",") if (options.data / name).is_dir()]
        )
        for name in names:
            chosen = thinned(RetrievalSet.read(options.data / name))
            answers = ranked(chosen, pool=name in POOLED)
            document["sets"][name] = {
                system: dated_figures(chosen, found) for system, found in answers.items()
            }
            if options.json:
                common.write_json(options.json, document)
        cache.close()
        models.close()
    _report(document, names, systems, options)


def _report(
    document: Mapping[str, Any], names: Sequence[str], systems: Sequence[Variant], options: Any
) -> None:
    headers = ["recency", "pairs: by both", "by the older", "by the newer"]
    headers += [f"{name} {part}" for name in names for part in ("all", "oldest", "newest")]
    headers.append("updates in order")
    rows = []
    for system in [variant.name for variant in systems]:
        cells = [system, *(f"{won}/{count}" for won, count in document["superseding"][system].values())]
        updates = [0, 0]
        for name in names:
            figures = document["sets"][name][system]
            cells += [f"{figures[part]:.3f}" for part in ("recall@5", "oldest", "newest")]
            updates = [one + two for one, two in zip(updates, figures["updates"], strict=True)]
        rows.append([*cells, f"{updates[0]}/{updates[1]}"])
    notes = [
        "bound b: relevance times 1 - b (old) to 1 (new); published: 0.7 relevance + 0.3 recency",
        "half-lives alone: no part of recency expires within days; bound 0.3 was the former default",
        "pairs: superseding pairs whose newer half comes first, a day after the last memory of their file",
        "by both: the question is the words that both halves share; by one half: its first sentence",
        "sets: recall@5 at the question's date, or the set's last one; oldest, newest: thirds by age",
    ]
    for name in names:
        figures = document["sets"][name]["none"]
        days = " - ".join(str(value) for value in figures["days"])
        notes.append(
            f"{name}: {figures['questions']} questions; age of the answers, bounds of the thirds: {days} days"
        )
    common.report("decay", document, headers, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()
