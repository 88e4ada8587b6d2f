"""Measure each parameter of the ranking policy alone: other values, and the choice without each set.

Every field takes further values beside the one in use, the others stay. For each set (with those made of the
same texts) the value is chosen by the mean of recall@5 and hit@1 over all other sets, and told with what it
reaches on the set that was left out.
"""

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import common
from inputs.retrieval_sets import RetrievalSet, folders_of_sets
from inputs.vector_cache import open_with_cache, set_arguments
from ranking_weights import FEWEST, TWINS
from retrieval import Variant, changed, measure

from ragmem.services.retrieval.query import Policy

VALUES: Mapping[str, Sequence[float]] = {
    "neighbour_weight": (0.0, 0.3, 0.6, 0.9),
    "question_age": (0.0, 0.1, 0.3, 1.0),
    "proximity_weight": (0.0, 0.05, 0.1, 0.2),
    "rule_weight": (0.0, 0.3),
}
"""The fields and their values, the one in use among them; 0 (for the age: 1) leaves the evidence out."""

QUICK = ("coding_life", "lihua")


def variants_of(policy: Policy) -> list[Variant]:
    """Return the policy in use, and one for each other value of each field."""
    found = [Variant("default", policy)]
    for name, values in VALUES.items():
        found += [
            Variant(f"{name}={value:g}", changed(policy, name, str(value)))
            for value in values
            if value != getattr(policy, name)
        ]
    return found


def rows_of(policy: Policy, sets: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each value: its means over all sets, where it was chosen, and what it gave there."""
    rows = []
    used = {name: row for name, row in sets.items() if row["with_gold"] >= FEWEST}
    for name, values in VALUES.items():

        def figures(of: str, value: float, name: str = name) -> tuple[float, float]:
            system = "default" if value == getattr(policy, name) else f"{name}={value:g}"
            found = used[of]["systems"][system]
            return found["recall@5"], found["hit@1"]

        chosen: dict[float, list[str]] = {value: [] for value in values}
        for left in used:
            others = [one for one in used if TWINS.get(one, one) != TWINS.get(left, left)]
            best = max(values, key=lambda value: sum(sum(figures(one, value)) for one in others))
            chosen[best].append(left)
        for value in values:
            means = [
                statistics.fmean(column)
                for column in zip(*(figures(one, value) for one in used), strict=True)
            ]
            there = [
                statistics.fmean(column)
                for column in zip(*(figures(one, value) for one in chosen[value]), strict=True)
            ]
            rows.append(
                [
                    f"{name} {value:g}" + (" (in use)" if value == getattr(policy, name) else ""),
                    *(f"{mean:.3f}" for mean in means),
                    str(len(chosen[value])),
                    *([f"{mean:.3f}" for mean in there] or ["-", "-"]),
                ]
            )
    return rows


def main() -> None:
    parser = set_arguments(__doc__.splitlines()[0])
    options = parser.parse_args()
    options.graph, options.details = False, None
    wanted = options.sets.split(",") if options.sets else QUICK if options.quick else None
    about = common.machine()
    started = time.perf_counter()
    sets: dict[str, dict[str, Any]] = {}
    with open_with_cache(options.cache) as (memory, cache):
        policy = memory.retrieval.policy()
        for folder in folders_of_sets(options.data):
            if wanted is None or folder.name in wanted:
                chosen = RetrievalSet.read(folder)
                sets |= measure(chosen, variants_of(policy), options, memory.models, cache, foreign=())
    if not any(row["with_gold"] >= FEWEST for row in sets.values()):
        raise SystemExit(f"no set of {options.data} has {FEWEST} questions")
    document = {
        "benchmark": "policy",
        "machine": about,
        "seconds": time.perf_counter() - started,
        "sets": {
            name: {
                system: {key: figures[key] for key in ("recall@5", "hit@1", "ndcg@10")}
                for system, figures in row["systems"].items()
            }
            for name, row in sets.items()
        },
    }
    headers = ["value", "recall@5", "hit@1", "sets that would get it", "recall@5 there", "hit@1 there"]
    common.report("policy", document, headers, rows_of(policy, sets), options=options)


if __name__ == "__main__":
    main()
