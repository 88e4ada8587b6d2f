"""Fit the weights of ragmem's ranking to the retrieval sets.

Every question of every set gives its candidates with what speaks for each, as `ragmem query` gathers them.
The weights are those of a softmax over a question's candidates under which the right ones are likeliest;
every set weighs the same. Printed beside them: recall@5 on each set with the weights in use, with the
fitted ones, and with some that were fitted without this set and its twins. Recency, dates, edits and the
graph come after these weights and are left out here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import common
import numpy as np
from inputs.retrieval_sets import RetrievalSet, folders_of_sets
from inputs.vector_cache import CachedModels, open_with_cache, set_arguments
from numpy.typing import NDArray
from retrieval import build

from ragmem.api.memory import Ragmem
from ragmem.config.settings import QuerySettings
from ragmem.domain.retrieval import question as reading
from ragmem.domain.retrieval.scoring import CODE_SHIFT, FITTED, Weights, code_share
from ragmem.services.retrieval.query import Question
from ragmem.services.retrieval.retrieve import VECTORS, retrieve
from ragmem.services.retrieval.sources import Search

EVIDENCE = tuple(item.name for item in fields(Weights))
WORDS = frozenset({"text", "coverage", "whole_text", "whole_coverage"})
IN_USE = QuerySettings().lexical_weight
SCALES = (1.0, 0.8, 0.6)
"""The likelihood looks at all ranks, recall at the first five, where the vectors count somewhat more."""

QUICK = ("devbench", "coding_life", "lihua")
FEWEST = 20
"""Questions that a set must have to be fitted to."""

PER_SET = 250
"""Questions of a set that are used at most; a fit needs no more, and no set shall be felt by its size."""

DEPTH = 100
RIDGE = 1e-3
STEPS = 300
TWINS = {
    "locomo_turn": "locomo",
    "locomo_session": "locomo",
    "lme_turn": "lme",
    "lme_session": "lme",
    "beam_code": "beam",
    "beam_100k": "beam",
    "codesess_file": "codesess",
    "codesess_commit": "codesess",
}
"""Sets that are made from the same texts: a set is told apart from its twins as well."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's candidates: evidence (candidates, pieces), how much of a program each is, and gold."""

    name: str
    evidence: NDArray[np.float64]
    code: NDArray[np.float64]
    gold: NDArray[np.bool_]
    wanted: int


def questions_of(chosen: RetrievalSet, models: CachedModels) -> list[Asked]:
    """Return the candidates of a set's questions that have gold."""
    found = []
    with (
        common.temporary_folder("weights") as home,
        Ragmem.open(environ=common.environment(home), home=home, cwd=home) as memory,
    ):
        catalog, store, documents, _ = build(home, chosen, memory, models, graph=False)
        with_gold = [query for query in chosen.queries if query.gold]
        for query in with_gold[:: max(1, len(with_gold) // PER_SET)]:
            asked = Question(query.text, projects=(query.scope,))
            search = Search(catalog, store, asked, reading.parse(query.text, now=query.at), DEPTH)
            candidates = retrieve(search, [VECTORS], policy=memory.retrieval.policy()).candidates
            if not candidates:
                continue
            texts = catalog.memories.get(item.memory_id for item in candidates)
            found.append(
                Asked(
                    chosen.name,
                    np.array([[getattr(item.evidence, key) for key in EVIDENCE] for item in candidates]),
                    np.array([code_share(texts[item.memory_id].text) for item in candidates]),
                    np.array([documents[item.memory_id] in query.gold for item in candidates]),
                    len(query.gold),
                )
            )
        store.close()
    return found


def fitted(groups: Sequence[Sequence[Asked]]) -> Weights:
    """Return the weights (none negative) of the highest likelihood, every group weighing the same."""
    asked = [item for group in groups for item in group if item.gold.any()]
    shares = np.array([1 / len(group) for group in groups for item in group if item.gold.any()])
    sizes = [len(item.gold) for item in asked]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rows = np.concatenate([shifted(item) for item in asked])
    gold = np.concatenate([item.gold / item.gold.sum() for item in asked])
    share = np.repeat(shares, sizes)
    weights = np.ones(len(EVIDENCE))
    step, before = 1.0, np.inf
    for _ in range(STEPS):
        scores = rows @ weights
        tops = np.maximum.reduceat(scores, starts)
        raised = np.exp(scores - np.repeat(tops, sizes))
        sums = np.add.reduceat(raised, starts)
        loss = float((shares * (tops + np.log(sums))).sum() - (share * gold * scores).sum())
        loss += RIDGE * float((weights**2).sum())
        # Half the step where it went uphill: seven weights need no better optimiser.
        step = step * 1.1 if loss < before else step / 2
        before = loss
        slope = rows.T @ (share * (raised / np.repeat(sums, sizes) - gold)) + 2 * RIDGE * weights
        weights = np.maximum(0.0, weights - step * slope)
    return Weights(*(float(value) for value in weights))


def shifted(asked: Asked) -> NDArray[np.float64]:
    """Return the evidence with what a program shifts from words to vectors."""
    words = [index for index, name in enumerate(EVIDENCE) if name in WORDS]
    factor = np.ones_like(asked.evidence) * (1 + CODE_SHIFT[1] * asked.code[:, None])
    factor[:, words] = (1 - CODE_SHIFT[0] * asked.code)[:, None]
    return asked.evidence * factor


def recall(asked: Sequence[Asked], weights: Weights, *, words: float = 1.0) -> float:
    """Return recall@5 under these weights; `words` multiplies those of the words."""
    vector = np.array([getattr(weights, name) * (words if name in WORDS else 1.0) for name in EVIDENCE])
    found = []
    for item in asked:
        order = np.argsort(-(shifted(item) @ vector), kind="stable")[:5]
        found.append(item.gold[order].sum() / item.wanted)
    return float(np.mean(found))


def main() -> None:
    parser = set_arguments(__doc__.splitlines()[0])
    options = parser.parse_args()
    wanted = options.sets.split(",") if options.sets else QUICK if options.quick else None
    about = common.machine()
    found: dict[str, list[Asked]] = {}
    with open_with_cache(options.cache) as (memory, cache):
        models = CachedModels(memory.models, cache)
        for folder in folders_of_sets(options.data):
            if wanted is None or folder.name in wanted:
                chosen = RetrievalSet.read(folder)
                cache.embed([query.text for query in chosen.queries], role="query")
                found[folder.name] = questions_of(chosen, models)
                common.tell(f"{folder.name}: {len(found[folder.name])} questions")
    used = {name: asked for name, asked in found.items() if len(asked) >= FEWEST}
    if not used:
        raise SystemExit(f"no set of {options.data} has {FEWEST} questions")
    best = fitted(list(used.values()))
    rows = []
    for name, asked in used.items():
        others = [one for other, one in used.items() if TWINS.get(other, other) != TWINS.get(name, name)]
        without = f"{recall(asked, fitted(others)):.3f}" if others else "-"
        scales = [f"{recall(asked, best, words=scale):.3f}" for scale in SCALES]
        rows.append([name, str(len(asked)), f"{recall(asked, FITTED, words=IN_USE):.3f}", *scales, without])
    notes = ["fitted: " + ", ".join(f"{name} {getattr(best, name):.2f}" for name in EVIDENCE)]
    document = {
        "benchmark": "ranking_weights",
        "machine": about,
        "weights": {name: getattr(best, name) for name in EVIDENCE},
        "rows": rows,
    }
    headers = ["set", "questions", "in use", *(f"fitted, words x {scale}" for scale in SCALES), "without it"]
    common.report("ranking_weights", document, headers, rows, options=options, notes=notes)


if __name__ == "__main__":
    main()
