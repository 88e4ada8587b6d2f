"""Measure what questions find by full text, by vectors, and by `ragmem query`.

A set is a folder with docs.jsonl and queries.jsonl. Each document becomes a memory, each question is asked of
the memories of its scope (or of its haystack); what is measured is the code that `ragmem query` runs.
"""

import argparse
import itertools
import json
import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import common
from inputs.retrieval_sets import DEPTH, Query, RetrievalSet, folders_of_sets, means, metrics_of
from inputs.vector_cache import CachedModels, VectorCache, open_with_cache, set_arguments
from measures.retrieval_budget import budget_means, budget_metrics

from ragmem import backends
from ragmem.api.memory import Ragmem
from ragmem.domain.model import Record, State
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.ports import Embedder, Models, Store
from ragmem.services.ingestion.classify import ClassifiedMemory, classify_draft
from ragmem.services.ingestion.index import BATCH, index_pending
from ragmem.services.retrieval.calibration import (
    EverydayQuestions,
    calibrate,
    calibration_for,
    calibration_of_model,
    is_due,
    on_bundled_scale,
)
from ragmem.services.retrieval.query import Answer, Assistance, Policy, Question, ask
from ragmem.services.vectors.cosine_scale import scaled_store
from ragmem.storage.fulltext.fulltext import search as search_text
from ragmem.storage.home.catalog import Catalog

QUICK_SETS = ("coding_life", "devbench", "locomo_session")
QUICK_QUERIES = 200
POOLED = ("lme_session",)
"""Sets with a haystack for each question that are asked of all documents as well."""

RRF_K = 60
"""Cormack, Clarke and Buettcher 2009."""

FOREIGN_QUESTIONS = 48
"""Questions of other subjects that each set is asked, to see whether silence answers them."""

SAME_REPOSITORIES = {"questions", "devbench", "codesess"}
"""Sets about the same repositories, whose questions are not foreign to each other."""

EMBEDDED = 25
"""Questions of a set whose embedding is timed; all others come from the cache."""


@dataclass(slots=True)
class Outcome:
    """What one system found: per question the documents, best first, and the seconds it took."""

    ranked: dict[str, list[str]] = field(default_factory=dict)
    hidden: int = 0
    seconds: list[float] = field(default_factory=list)
    budgets: list[dict[str, float]] = field(default_factory=list)
    """What of the gold stands in the block within a budget, of the default alone."""


@dataclass(frozen=True, slots=True)
class Variant:
    """`ragmem query` under one policy, under its own name."""

    name: str
    policy: Policy


def build(
    home: Path, chosen: RetrievalSet, memory: Ragmem, models: Models, *, graph: bool
) -> tuple[Catalog, Store, dict[str, str], int]:
    """Return catalog and store with the set's documents, memory id -> document id, and how many chunks."""
    memory.prepare()
    settings = memory.settings
    catalog = memory.catalog
    store = backends.open_store(
        settings.store.backend, settings.store.options, models, database=catalog.database
    )
    documents: dict[str, str] = {}
    chunks = 0
    for start in range(0, len(chosen.drafts), BATCH):
        judged = [
            classify_draft(draft, now=chosen.latest, sizes=settings.chunking, rule="off", redactor=DEFAULT)
            for draft in chosen.drafts[start : start + BATCH]
        ]
        documents |= {item.memory.id: item.memory.uri for item in judged}
        chunks += sum(len(item.chunks) for item in judged)
        catalog.memories.accept([(item.memory, item.chunks) for item in judged])
        if graph:
            index_pending(catalog, store)
        else:
            put_texts(catalog, store, judged)
    _tag_haystacks(catalog, chosen, documents)
    assert store.memory_ids() == catalog.memories.ids(states=[State.INDEXED]) == set(documents), home
    return catalog, store, documents, chunks


def calibrated(catalog: Catalog, store: Store, embedder: Embedder, chunks: int) -> tuple[Assistance, Store]:
    """Return the helpers and the store as `ragmem query` gets them for a store of so many chunks."""
    measured = (
        calibrate(catalog, store, model=embedder.model_id, embedder=embedder)
        if is_due(None, chunks)
        else calibration_for(catalog.database, embedder.model_id) or calibration_of_model(embedder)
    )
    known, scale = on_bundled_scale(measured)
    everyday = EverydayQuestions(lambda: embedder).cosine
    if scale is None:
        return Assistance(known, everyday=everyday), store
    return Assistance(known, everyday=lambda text: scale(everyday(text))), scaled_store(store, scale)


def put_texts(catalog: Catalog, store: Store, judged: Sequence[ClassifiedMemory]) -> None:
    """Put chunks and their vectors only: what they speak of takes most of the time, and is not asked for."""
    store.put(
        [Record(item.memory, item.chunks) for item in judged],
        finish=lambda: catalog.memories.mark([item.memory.id for item in judged], State.INDEXED),
    )


def _tag_haystacks(catalog: Catalog, chosen: RetrievalSet, documents: Mapping[str, str]) -> None:
    """Give each memory its haystacks as tags, in its row only: in the full text they would be searched."""
    tags: dict[str, list[str]] = {}
    for query in chosen.queries:
        for document in query.haystack or ():
            tags.setdefault(document, []).append(query.id)
    with catalog.database.write() as connection:
        connection.executemany(
            "UPDATE memories SET tags = ? WHERE id = ?",
            [(json.dumps(tags[uri]), key) for key, uri in documents.items() if uri in tags],
        )


def run_set(
    chosen: RetrievalSet,
    variants: Sequence[Variant],
    catalog: Catalog,
    store: Store,
    documents: Mapping[str, str],
    *,
    pool: bool,
    assistance: Assistance,
) -> dict[str, Outcome]:
    """Ask every question of every system, the systems taking turns at being first."""
    names = ["bm25", "vectors", "rrf", *(variant.name for variant in variants)]
    outcomes = {name: Outcome() for name in names}
    depth = variants[0].policy.candidates
    for number, query in enumerate(chosen.queries):
        haystack = None if pool else query.haystack
        question = Question(
            query.text, projects=(query.scope,), limit=DEPTH, tags=() if haystack is None else (query.id,)
        )
        reach = depth if haystack is None else depth * 10

        def memories(hits: Iterable[Any], allowed: frozenset[str] | None = haystack) -> list[str]:
            found = dict.fromkeys(documents[hit.memory_id] for hit in hits)
            return [name for name in found if allowed is None or name in allowed]

        def full_text(question: Question = question, reach: int = reach) -> tuple[list[str], list[str]]:
            hits = search_text(catalog.database, question.text, limit=reach, projects=question.projects).hits
            return memories(hits), []

        def vectors(question: Question = question, reach: int = reach) -> tuple[list[str], list[str]]:
            return memories(store.search(question.text, limit=reach, projects=question.projects)), []

        systems: dict[str, Callable[[], tuple[list[str], list[str]]]] = {
            "bm25": full_text,
            "vectors": vectors,
            "rrf": lambda: (fused(full_text()[0], vectors()[0]), []),
        }
        for variant in variants:

            def answer(
                policy: Policy = variant.policy, question: Question = question, at: datetime = query.at
            ) -> tuple[list[str], list[str]]:
                matches = ask(
                    catalog, lambda: store, question, policy=policy, now=at, assistance=assistance
                ).matches
                behind = [documents[key] for match in matches for key in match.duplicates]
                return [documents[match.memory.id] for match in matches], behind

            systems[variant.name] = answer
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            started = time.perf_counter()
            found, behind = systems[name]()
            outcome = outcomes[name]
            outcome.seconds.append(time.perf_counter() - started)
            outcome.ranked[query.id] = found[:DEPTH]
            outcome.hidden += len(query.gold & set(behind))
        if query.gold:

            def ask_for(limit: int, question: Question = question, at: datetime = query.at) -> Answer:
                asked = replace(question, limit=limit)
                policy = variants[0].policy
                return ask(catalog, lambda: store, asked, policy=policy, now=at, assistance=assistance)

            outcomes[variants[0].name].budgets.append(budget_metrics(ask_for, query, documents))
    return outcomes


def fused(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the documents of two lists by the sum of 1 / (k + rank): plain reciprocal rank fusion."""
    scores: dict[str, float] = {}
    for names in (one, other):
        for rank, name in enumerate(names, start=1):
            scores[name] = scores.get(name, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda name: (-scores[name], name))


def subject(name: str) -> str:
    """Return what the sets of one origin have in common: the beginning of their names."""
    return name.split("_", 1)[0]


def foreign_questions(name: str, every: Sequence[RetrievalSet]) -> list[Query]:
    """Return questions that the sets of other origins answer, as many of each origin, always the same."""
    chance = random.Random(FOREIGN_QUESTIONS)
    by_subject: dict[str, list[Query]] = {}
    own = SAME_REPOSITORIES if subject(name) in SAME_REPOSITORIES else {subject(name)}
    for other in every:
        if subject(other.name) not in own:
            answered = [query for query in other.queries if query.gold]
            by_subject.setdefault(subject(other.name), []).extend(answered)
    if not by_subject:
        return []
    share = -(-FOREIGN_QUESTIONS // len(by_subject))
    found = [query for asked in by_subject.values() for query in chance.sample(asked, min(share, len(asked)))]
    return chance.sample(found, min(FOREIGN_QUESTIONS, len(found)))


def silent_on_foreign(
    foreign: Sequence[Query],
    chosen: RetrievalSet,
    catalog: Catalog,
    store: Store,
    *,
    policy: Policy,
    assistance: Assistance,
) -> int:
    """Return how many questions of other subjects, each asked of one of the set's scopes, get no answer."""
    chance = random.Random(FOREIGN_QUESTIONS)
    scopes = sorted({query.scope for query in chosen.queries})
    return sum(
        not ask(
            catalog,
            lambda: store,
            Question(query.text, projects=(chance.choice(scopes),), limit=DEPTH),
            policy=policy,
            now=chosen.latest,
            assistance=assistance,
        ).matches
        for query in foreign
    )


def summary(chosen: RetrievalSet, outcome: Outcome) -> dict[str, Any]:
    """Return the means over the questions with gold, by category too, and what became of the others."""
    scored = {
        query.id: metrics_of(outcome.ranked[query.id], query.gold) for query in chosen.queries if query.gold
    }
    categories: dict[str, list[dict[str, float]]] = {}
    for query in chosen.queries:
        if query.gold:
            categories.setdefault(query.category, []).append(scored[query.id])
    without = [outcome.ranked[query.id] for query in chosen.queries if not query.gold]
    return {
        **means(list(scored.values())),
        **budget_means(outcome.budgets),
        "categories": {name: means(rows) | {"n": len(rows)} for name, rows in sorted(categories.items())},
        "abstained": {
            "without_gold": sum(not found for found in without) / len(without) if without else math.nan,
            "with_gold": sum(not outcome.ranked[key] for key in scored) / max(1, len(scored)),
        },
        "gold_behind_duplicates": outcome.hidden,
        "seconds": common.spread(outcome.seconds),
        "per_query": {
            key: [round(row["recall@5"], 4), round(row["ndcg@10"], 4)] for key, row in scored.items()
        },
    }


def grid(policy: Policy, settings: Sequence[str]) -> list[Variant]:
    """Return the configured policy, the same without floor, and one for each combination of key=a,b,c."""
    variants = [Variant("default", policy), Variant("no floor", replace(policy, abstain=False))]
    choices: list[list[tuple[str, str]]] = []
    for setting in settings:
        key, separator, values = setting.partition("=")
        if not separator:
            raise SystemExit(f'--set takes key=value, not "{setting}"')
        choices.append([(key.strip(), value.strip()) for value in values.split(",")])
    for combination in itertools.product(*choices) if choices else ():
        other = policy
        for key, value in combination:
            other = changed(other, key, value)
        variants.append(Variant(" ".join(f"{key}={value}" for key, value in combination), other))
    return variants


def changed(policy: Any, key: str, value: str) -> Any:
    """Return a policy with another value of a field; the name of the field may reach into the decay."""
    name, _, rest = key.partition(".")
    known = {item.name for item in fields(policy)}
    if name not in known:
        raise SystemExit(f'there is no "{name}" to set; there are: {", ".join(sorted(known))}')
    before = getattr(policy, name)
    if rest:
        return replace(policy, **{name: changed(before, rest, value)})
    if isinstance(before, bool):
        return replace(policy, **{name: value.lower() in {"1", "true", "yes", "on"}})
    return replace(policy, **{name: type(before)(value)})


def question_seconds(embedder: Embedder, queries: Sequence[Query]) -> dict[str, float]:
    """Return what embedding a question takes without any cache."""
    chosen = random.Random(1).sample(list(queries), min(EMBEDDED, len(queries)))
    taken = []
    for query in chosen:
        started = time.perf_counter()
        # A blank more, so that no cache of the embedder knows the text.
        embedder.embed([f" {query.text}"], role="query")
        taken.append(time.perf_counter() - started)
    return common.spread(taken)


def measure(
    chosen: RetrievalSet,
    variants: Sequence[Variant],
    options: argparse.Namespace,
    memory_models: Models,
    cache: VectorCache,
    *,
    foreign: Sequence[Query],
) -> dict[str, dict[str, Any]]:
    """Return the figures of one set, under its name and (for some) its name with "(pool)"."""
    results: dict[str, dict[str, Any]] = {}
    with (
        common.temporary_folder("retrieval") as home,
        Ragmem.open(environ=common.environment(home), home=home, cwd=home) as memory,
    ):
        started = time.perf_counter()
        models = CachedModels(memory_models, cache)
        catalog, store, documents, chunks = build(home, chosen, memory, models, graph=options.graph)
        built = time.perf_counter() - started
        common.tell(f"{chosen.name}: {len(documents):,} documents, {chunks:,} chunks, built in {built:.1f} s")
        embedding = question_seconds(memory_models.embedder, chosen.queries)
        cache.embed([query.text for query in (*chosen.queries, *foreign)], role="query")
        assistance, store = calibrated(catalog, store, memory_models.embedder, chunks)
        silent = silent_on_foreign(
            foreign, chosen, catalog, store, policy=variants[0].policy, assistance=assistance
        )
        own = any(query.haystack for query in chosen.queries)
        ways = [(chosen.name, False)]
        if own and chosen.name in POOLED:
            ways.append((f"{chosen.name} (pool)", True))
        for name, pool in ways:
            outcomes = run_set(chosen, variants, catalog, store, documents, pool=pool, assistance=assistance)
            results[name] = {
                "documents": len(documents),
                "chunks": chunks,
                "undated": chosen.undated,
                "questions": len(chosen.queries),
                "with_gold": sum(bool(query.gold) for query in chosen.queries),
                "build_seconds": built,
                "embed_question_seconds": embedding,
                "foreign": {"questions": len(foreign), "silent": silent},
                "systems": {key: summary(chosen, outcome) for key, outcome in outcomes.items()},
            }
            if options.details:
                _write_details(options.details, name, chosen, outcomes)
            best = ", ".join(f"{key} {row['recall@5']:.3f}" for key, row in results[name]["systems"].items())
            common.tell(f"{name}: recall@5 {best}")
        store.close()
    return results


def _write_details(path: Path, name: str, chosen: RetrievalSet, outcomes: Mapping[str, Outcome]) -> None:
    with path.open("a", encoding="utf-8") as lines:
        for query in chosen.queries:
            row = {
                "set": name,
                "id": query.id,
                "category": query.category,
                "query": query.text,
                "gold": sorted(query.gold),
                "found": {key: outcome.ranked[query.id] for key, outcome in outcomes.items()},
            }
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def compare(one: Path, other: Path) -> None:
    """Print what changed from one run to another, question by question where both asked the same."""
    before, after = (json.loads(path.read_text(encoding="utf-8"))["sets"] for path in (one, other))
    rows = []
    for name in before:
        systems = before[name]["systems"]
        for system in systems:
            if system not in after.get(name, {}).get("systems", {}):
                continue
            old, new = systems[system], after[name]["systems"][system]
            common_keys = old["per_query"].keys() & new["per_query"].keys()
            cells = [f"{name} / {system}", f"{len(common_keys)}"]
            for place, metric in enumerate(("recall@5", "ndcg@10")):
                changes = [new["per_query"][key][place] - old["per_query"][key][place] for key in common_keys]
                mean = statistics.fmean(changes) if changes else math.nan
                error = statistics.stdev(changes) / math.sqrt(len(changes)) if len(changes) > 1 else 0.0
                sure = " *" if error and abs(mean) > 2 * error else ""
                cells += [f"{old[metric]:.3f}", f"{new[metric]:.3f}", f"{mean:+.3f} ± {error:.3f}{sure}"]
            rows.append(cells)
    print("paired by question; * = beyond two standard errors")
    print()
    headers = ["set / system", "questions", "recall@5", "then", "change", "NDCG@10", "then", "change"]
    print(common.table(headers, rows))


def main() -> None:
    parser = set_arguments(__doc__.splitlines()[0])
    parser.add_argument(
        "--graph",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="extract entities and relations, as `ragmem seed` does, or leave them out, which is quicker",
    )
    parser.add_argument(
        "--set",
        action="append",
        metavar="KEY=VALUE[,VALUE]",
        help="a further system with this field of the policy changed; several are combined",
    )
    parser.add_argument("--details", type=Path, metavar="FILE", help="append what each question found")
    parser.add_argument(
        "--compare",
        nargs=2,
        type=Path,
        metavar=("A.json", "B.json"),
        help="print the differences of two runs",
    )
    options = parser.parse_args()
    if options.compare:
        compare(*options.compare)
        return
    folders = folders_of_sets(options.data)
    wanted = options.sets.split(",") if options.sets else QUICK_SETS if options.quick else None
    if wanted is not None:
        unknown = set(wanted) - {folder.name for folder in folders}
        if options.sets and unknown:
            raise SystemExit(f"there is no set {', '.join(sorted(unknown))} in {options.data}")
        folders = [folder for folder in folders if folder.name in wanted]
    if not folders:
        raise SystemExit(f"there is no set in {options.data}")
    about = common.machine()
    started = time.perf_counter()
    sets: dict[str, dict[str, Any]] = {}
    with open_with_cache(options.cache) as (memory, cache):
        variants = grid(memory.retrieval.policy(), options.set or ())
        # Of all sets, so that a set is asked the same whatever others are measured in this run.
        every = [RetrievalSet.read(folder) for folder in folders_of_sets(options.data)]
        for chosen in (one for one in every if one.name in {folder.name for folder in folders}):
            foreign = foreign_questions(chosen.name, every)
            asked = replace(chosen, queries=chosen.queries[:QUICK_QUERIES]) if options.quick else chosen
            sets |= measure(asked, variants, options, memory.models, cache, foreign=foreign)
        model = memory.models.embedder.model_id
    document = {
        "benchmark": "retrieval",
        "machine": about,
        "model": model,
        "graph": options.graph,
        "seconds": time.perf_counter() - started,
        "sets": sets,
    }
    _print_categories(sets)
    headers, rows = _table(sets)
    notes = [
        f"model {model}; entities and relations: {'in all sets' if options.graph else 'none'}",
        "default: the answers of `ragmem query`",
        (
            "@1k, @4k, @index: share of the gold in the block of `ragmem query --context --budget 1000` or "
            "4000, or in the result of MCP's `search`; answer: share of answers found verbatim both in the "
            "gold and there"
        ),
        _told_of_silence(sets),
        (
            "ms: a search in a warm process, without embedding the question, which takes a "
            f"median of {common.milliseconds(_embedding(sets))} ms"
        ),
    ]
    common.report("retrieval", document, headers, rows, options=options, notes=notes)


def _told_of_silence(sets: Mapping[str, Mapping[str, Any]]) -> str:
    """Return how often the default is silent where it should be, and where it should not, over all sets."""
    # A pool is the same memories once more.
    rows = {name: row for name, row in sets.items() if "(pool)" not in name}
    asked = sum(row["foreign"]["questions"] for row in rows.values())
    silent = sum(row["foreign"]["silent"] for row in rows.values())
    own = sum(row["with_gold"] for row in rows.values())
    shares = {
        name: row["systems"]["default"]["abstained"]["with_gold"] * row["with_gold"]
        for name, row in rows.items()
    }
    lost = sum(shares.values())
    return (
        f"silent by default: {silent / max(1, asked):.1%} of {asked:,} questions on other sets' "
        f"subjects, {lost / max(1, own):.1%} of the {own:,} with gold"
    )


def _embedding(sets: Mapping[str, Mapping[str, Any]]) -> float:
    return statistics.median(row["embed_question_seconds"]["median"] for row in sets.values())


def _print_categories(sets: Mapping[str, Mapping[str, Any]]) -> None:
    for name, row in sets.items():
        systems = row["systems"]
        categories = systems["default"]["categories"]
        if len(categories) < 2:
            continue
        print(f"\n{name}, recall@5 by category")
        rows = [
            [
                category or "-",
                str(figures["n"]),
                *(f"{system['categories'][category]['recall@5']:.3f}" for system in systems.values()),
            ]
            for category, figures in categories.items()
        ]
        print(common.table(["category", "questions", *systems], rows))


def _share(foreign: Mapping[str, int]) -> str:
    return f"{foreign['silent'] / foreign['questions']:.2f}" if foreign["questions"] else "-"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


WITHIN = {
    "gold@1k": "@1k",
    "gold@4k": "@4k",
    "gold@index": "@index",
    "answer@1k": "answer @1k",
    "answer@4k": "answer @4k",
    "answer@index": "answer @index",
}
"""Shares within a budget of tokens, with the headers of their columns."""

SHOWN = {"recall@5": "recall@5", "recall@10": "@10", "ndcg@10": "NDCG@10", "hit@1": "hit@1", "hit@5": "hit@5"}
"""The metrics of the table, by its headers; the JSON has all of them."""


def _table(sets: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return the table; what always answers is in the JSON alone: *silent, gold* tells the difference."""
    headers = ["set", "system", "questions", *SHOWN.values()]
    headers += WITHIN.values()
    headers += ["silent, foreign", "silent, no gold", "silent, gold", "ms p50", "ms p95"]
    rows = []
    for name, row in sets.items():
        for system, figures in row["systems"].items():
            if system == "no floor":
                continue
            silent = figures["abstained"]
            nothing = silent["without_gold"]
            rows.append(
                [
                    name,
                    system,
                    str(row["with_gold"]),
                    *(f"{figures[metric]:.3f}" for metric in SHOWN),
                    *(_figure(figures.get(metric)) for metric in WITHIN),
                    _share(row["foreign"]) if system == "default" else "-",
                    "-" if math.isnan(nothing) else f"{nothing:.2f}",
                    f"{silent['with_gold']:.2f}",
                    common.milliseconds(figures["seconds"]["median"]),
                    common.milliseconds(figures["seconds"]["p95"]),
                ]
            )
    return headers, rows


if __name__ == "__main__":
    main()
