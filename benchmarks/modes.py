"""Measure LightRAG's modes in ragmem, compared with LightRAG on its own storages, and their silence.

`default` is what `ragmem query` answers, each mode what `ragmem query --mode` does. "LightRAG, MODE" is
LightRAG's own order on the files that it comes with, in one workspace: the same texts, chunks, entities,
vectors and keywords.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import common
from inputs.retrieval_sets import DEPTH, Query, RetrievalSet, means, metrics_of
from inputs.vector_cache import CachedModels, VectorCache
from retrieval import build

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft, Scope
from ragmem.domain.text.keywords import levels
from ragmem.ports import Mode, Models, Store
from ragmem.services.retrieval.calibration import calibrate, calibration_for, is_due
from ragmem.services.retrieval.query import Assistance, Policy, Question, ask
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.names.aliases import entities_of

ASKED = Path(__file__).with_suffix(".toml")
EXAMPLE = common.REPOSITORY / "examples" / "home"
MODES: tuple[Mode, ...] = ("naive", "mix", "hybrid", "local", "global")
assert set(MODES) == set(get_args(Mode))

NEAR = 0.05
"""How far `naive` and `mix` may lie below the default's recall@5."""

NOISE = 0.02
"""So far below LightRAG's own order still counts as being as good: one question of 75 and a half."""

QUICK_QUESTIONS, QUICK_FILES, QUICK_NONSENSE = 6, 20, 3

Finds = Callable[[Query], list[str]]
"""Returns the documents of an answer, best first; none where it is silent."""


def example_set(memory: Ragmem, rows: Sequence[Mapping[str, Any]]) -> RetrievalSet:
    """Return what a seeded example home holds, in one scope, and the questions; files are relative to it."""
    ids = memory.catalog.memories.ids()
    drafts = tuple(
        Draft(
            one.source,
            file_of(one.uri),
            one.text,
            title=one.title,
            event_time=one.event_time,
            scope=Scope("example"),
            kind=one.kind,
            tags=one.tags,
            metadata=one.metadata,
        )
        for one in memory.catalog.memories.get(sorted(ids)).values()
    )
    latest = max(draft.event_time for draft in drafts if draft.event_time)
    queries = tuple(
        Query(f"e{number}", row["question"], "example", "", frozenset(row["files"]), latest)
        for number, row in enumerate(rows, start=1)
    )
    missing = {name for query in queries for name in query.gold} - {draft.uri for draft in drafts}
    if missing:
        raise SystemExit(f"the example home has no {', '.join(sorted(missing))}")
    return RetrievalSet("example", drafts, queries, latest, 0)


def file_of(uri: str) -> str:
    """Return a path below the example home as it is named in modes.toml."""
    return str(Path(uri).relative_to(EXAMPLE)) if Path(uri).is_relative_to(EXAMPLE) else uri


def small(chosen: RetrievalSet) -> RetrievalSet:
    """Return a few questions, what answers them and a few other documents."""
    queries = chosen.queries[:QUICK_QUESTIONS]
    gold = {name for query in queries for name in query.gold}
    others = [draft.uri for draft in chosen.drafts if draft.uri not in gold][:QUICK_FILES]
    kept = gold | set(others)
    return replace(
        chosen, queries=queries, drafts=tuple(draft for draft in chosen.drafts if draft.uri in kept)
    )


def our_answers(
    catalog: Catalog,
    store: Store,
    names: Mapping[str, str],
    *,
    policy: Policy,
    assistance: Assistance,
    projects: tuple[str, ...] | None,
    mode: Mode | None,
) -> Finds:
    """Return how `ragmem query` answers, in a mode or (None) by itself."""

    def finds(query: Query) -> list[str]:
        question = Question(query.text, projects=projects, limit=DEPTH, mode=mode)
        found = ask(catalog, lambda: store, question, policy=policy, now=query.at, assistance=assistance)
        return list(dict.fromkeys(names[match.memory.id] for match in found.matches))

    return finds


def own_order(
    catalog: Catalog, store: Store, names: Mapping[str, str], *, candidates: int, project: str, mode: Mode
) -> Finds:
    """Return how LightRAG itself answers: the owners of its chunks in its order."""

    def finds(query: Query) -> list[str]:
        by_rule = levels(query.text)
        words = [*by_rule.low, *entities_of(catalog.database, project, by_rule.low)]
        data = store.native.native_query(
            query.text, mode, keywords=words, themes=by_rule.high, limit=candidates, project=project
        ).get("data", {})
        chunks = [chunk["chunk_id"] for chunk in data.get("chunks", [])]
        owners = catalog.memories.chunks_by_id(chunks)
        return list(dict.fromkeys(names[owners[key][0]] for key in chunks if key in owners))

    return finds


def measured(
    finds: Finds, queries: Sequence[Query], nonsense: Mapping[str, Sequence[Query]]
) -> dict[str, Any]:
    """Return the metrics over the questions with an answer, and how often there is silence."""
    found = {query.id: finds(query) for query in queries if query.gold}
    gold = {query.id: query.gold for query in queries}
    return {
        **means([metrics_of(names, gold[key]) for key, names in found.items()]),
        "questions": len(found),
        "silent": sum(not names for names in found.values()),
        "nonsense": {half: [not finds(query) for query in asked] for half, asked in nonsense.items()},
    }


def nonsense_of(asked: Mapping[str, Sequence[str]], at: datetime, *, quick: bool) -> dict[str, list[Query]]:
    """Return the questions that nothing answers, by their half."""
    return {
        half: [
            Query(f"{half}{number}", text, "", "", frozenset(), at)
            for number, text in enumerate(texts[:QUICK_NONSENSE] if quick else texts, start=1)
        ]
        for half, texts in asked.items()
    }


def measure(
    chosen: RetrievalSet,
    models: Models,
    asked: Mapping[str, Sequence[str]],
    *,
    seeded: Ragmem | None = None,
    quick: bool,
) -> dict[str, Any]:
    """Return the figures of each system on one set; `seeded` has its documents already, by projects."""
    nonsense = nonsense_of(asked, chosen.latest, quick=quick)
    systems: dict[str, Finds] = {}
    with ExitStack() as stack:

        def opened(profile: str) -> tuple[Ragmem, Path]:
            home = stack.enter_context(common.temporary_folder("modes"))
            environ = common.environment(home) | {"RAGMEM_STORE_PROFILE": profile}
            return stack.enter_context(Ragmem.open(environ=environ, home=home, cwd=home)), home

        scope = chosen.drafts[0].scope.project
        if seeded is None:
            memory, home = opened("sqlite")
            catalog, store, names, chunks = build(home, chosen, memory, models, graph=True)
            stack.callback(store.close)
            projects: tuple[str, ...] | None = (scope,)
        else:
            memory, catalog, store, projects = seeded, seeded.catalog, seeded.store, None
            names = {key: file_of(uri) for key, uri in catalog.memories.uris(catalog.memories.ids()).items()}
            chunks = store.statistics()["chunks"]
        model = models.embedder.model_id
        scale = (
            calibrate(catalog, store, model=model)
            if is_due(None, chunks)
            else calibration_for(catalog.database, model)
        )
        policy = memory.retrieval.policy()
        for mode in (None, *MODES):
            systems[mode or "default"] = our_answers(
                catalog,
                store,
                names,
                policy=policy,
                assistance=Assistance(scale),
                projects=projects,
                mode=mode,
            )
        other, home = opened("json")
        theirs, files, file_names, _ = build(home, chosen, other, models, graph=True)
        stack.callback(files.close)
        for mode in MODES:
            systems[f"LightRAG, {mode}"] = own_order(
                theirs, files, file_names, candidates=policy.candidates, project=scope, mode=mode
            )
        common.tell(f"{chosen.name}: {len(names):,} memories, {chunks:,} chunks")
        return {name: measured(finds, chosen.queries, nonsense) for name, finds in systems.items()}


def share(values: Sequence[bool]) -> float:
    """Return the share that is so."""
    return sum(values) / max(1, len(values))


def told(sets: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return whether each set passes."""
    notes = []
    for name, systems in sets.items():
        usual = systems["default"]["recall@5"]
        near = all(systems[mode]["recall@5"] >= usual - NEAR for mode in ("naive", "mix"))
        behind = [
            mode
            for mode in ("hybrid", "local", "global")
            if any(
                systems[mode][key] < systems[f"LightRAG, {mode}"][key] - NOISE for key in ("recall@5", "mrr")
            )
        ]
        silent = min(
            share([one for half in systems[mode]["nonsense"].values() for one in half])
            for mode in ("default", *MODES)
        )
        compared = f"WORSE ({', '.join(behind)}) than" if behind else "as good as"
        notes.append(
            f"{name}: naive and mix {'within' if near else 'NOT within'} {NEAR} of the default's recall@5; "
            f"hybrid, local and global {compared} LightRAG's own order (recall@5, MRR; {NOISE} is noise); "
            f"nonsense without an answer in every mode: {silent:.0%} or more"
        )
    return notes


def rows_of(sets: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Return what is told for people."""
    return [
        [
            name,
            system,
            str(figures["questions"]),
            *(f"{figures[key]:.3f}" for key in ("recall@5", "hit@1", "mrr")),
            str(figures["silent"]),
            *(f"{sum(half)} of {len(half)}" for half in figures["nonsense"].values()),
        ]
        for name, systems in sets.items()
        for system, figures in systems.items()
    ]


def options_of() -> argparse.Namespace:
    """Return what was asked for."""
    parser = common.arguments((__doc__ or "").splitlines()[0], data="../shared/eval")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir()) / "ragmem-vectors",
        metavar="DIR",
        help="where vectors are kept between runs",
    )
    return parser.parse_args()


def main() -> None:
    """Ask both sets in every mode, and print the figures."""
    options = options_of()
    about = common.machine()
    asked = tomllib.loads(ASKED.read_text(encoding="utf-8"))
    nonsense = {half: random.Random(1).sample(texts, len(texts)) for half, texts in asked["nonsense"].items()}
    sets: dict[str, dict[str, Any]] = {}
    with common.temporary_folder("modes") as place:
        environ = common.environment(place) | {"HOME": str(EXAMPLE)}
        subprocess.run([sys.executable, "-m", "ragmem", "seed", "-q"], env=environ, cwd=EXAMPLE, check=True)
        with Ragmem.open(environ=environ, home=place, cwd=EXAMPLE) as memory:
            cache = VectorCache(options.cache, memory.models.embedder)
            models = CachedModels(memory.models, cache)
            example = example_set(memory, asked["example"])
            sets["example"] = measure(example, models, nonsense, seeded=memory, quick=options.quick)
            questions = options.data / "questions"
            if (questions / "dev.jsonl").is_file():
                chosen = RetrievalSet.read(questions)
                chosen = small(chosen) if options.quick else chosen
                sets["questions"] = measure(chosen, models, nonsense, quick=options.quick)
            else:
                common.tell(f"there is no {questions}: the example home alone is measured")
            model = memory.models.embedder.model_id
            cache.close()
    document = {"benchmark": "modes", "machine": about, "model": model, "sets": sets}
    headers = ["set", "system", "questions", "recall@5", "hit@1", "MRR", "silent, gold"]
    headers += [f"silent, nonsense {half}" for half in nonsense]
    notes = [f"model {model}; LightRAG itself: JsonKV, NanoVectorDB and NetworkX", *told(sets)]
    common.report("modes", document, headers, rows_of(sets), options=options, notes=notes)


if __name__ == "__main__":
    main()
