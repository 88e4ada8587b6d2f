"""Measure silence: on questions that a store does not answer, and on those that it does.

Each set is asked its own questions and some of other sets. A question gets matches, matches with the details
that none of them has, or nothing. Near misses are the questions of a set without an answer in it: they name
its people and subjects. An answer is lost if a question meets silence whose first five have it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import common
from inputs.retrieval_sets import Query, RetrievalSet, folders_of_sets
from inputs.vector_cache import CachedModels, open_with_cache, set_arguments
from retrieval import build, calibrated, foreign_questions

from ragmem.api.memory import Ragmem
from ragmem.services.retrieval.query import Question, ask

SETS = ("beam_100k", "beam_code", "coding_life", "devbench", "lihua", "locomo_turn", "questions")
"""Those with questions that nothing answers, and the two small stores."""

QUICK = ("coding_life", "devbench")
ANSWERED, NEAR, FOREIGN = "answered", "near miss", "foreign"
FIRST = 5
"""Number of the nearest memories among which a lost answer stands."""

SWAPPED = "adversarial"
"""Category of questions about one person that only a memory of another one answers."""


def questions_of(chosen: RetrievalSet, foreign: Sequence[Query]) -> list[tuple[str, Query]]:
    """Return the questions to ask, each with what it is."""
    own = [
        (NEAR if not query.gold or query.category == SWAPPED else ANSWERED, query) for query in chosen.queries
    ]
    scopes = sorted({query.scope for query in chosen.queries})
    return own + [(FOREIGN, query) for query in foreign if scopes]


def outcomes(
    chosen: RetrievalSet, foreign: Sequence[Query], models: CachedModels
) -> Counter[tuple[str, str]]:
    """Return how many questions of each sort were met with silence, with a named detail, or with matches."""
    found: Counter[tuple[str, str]] = Counter()
    scopes = sorted({query.scope for query in chosen.queries})
    with (
        common.temporary_folder("silence") as home,
        Ragmem.open(environ=common.environment(home), home=home, cwd=home) as memory,
    ):
        catalog, store, documents, chunks = build(home, chosen, memory, models, graph=False)
        assistance, store = calibrated(catalog, store, models.embedder, chunks)
        policy = memory.retrieval.policy()
        for number, (sort, query) in enumerate(questions_of(chosen, foreign)):
            scope = scopes[number % len(scopes)] if sort == FOREIGN else query.scope
            question = Question(query.text, projects=(scope,))
            asked: dict[str, Any] = {"policy": policy, "now": query.at, "assistance": assistance}
            answer = ask(catalog, lambda: store, question, **asked)
            found[sort, "silent" if not answer.matches else "warned" if answer.missing else "matches"] += 1
            if sort == ANSWERED and not answer.matches:
                nearest = ask(catalog, lambda: store, replace(question, nearest=True, limit=FIRST), **asked)
                lost = any(documents[match.memory.id] in query.gold for match in nearest.matches)
                found[sort, "answer lost"] += lost
        store.close()
    return found


def share(found: Counter[tuple[str, str]], sort: str, outcome: str) -> str:
    """Return the share of the questions of a sort with this outcome, and their number."""
    asked = sum(found[sort, one] for one in ("silent", "warned", "matches"))
    return f"{found[sort, outcome] / asked:.3f}" if asked else "-"


def main() -> None:
    parser = set_arguments(__doc__.splitlines()[0])
    options = parser.parse_args()
    wanted = options.sets.split(",") if options.sets else QUICK if options.quick else SETS
    about = common.machine()
    every = [RetrievalSet.read(folder) for folder in folders_of_sets(options.data)]
    results: dict[str, Counter[tuple[str, str]]] = {}
    with open_with_cache(options.cache) as (memory, cache):
        for chosen in (one for one in every if one.name in wanted):
            foreign = foreign_questions(chosen.name, every)
            cache.embed([query.text for query in (*chosen.queries, *foreign)], role="query")
            results[chosen.name] = outcomes(chosen, foreign, CachedModels(memory.models, cache))
            common.tell(f"{chosen.name}: {dict(results[chosen.name])}")
    if not results:
        raise SystemExit(f"none of the sets {', '.join(wanted)} is in {options.data}")
    results["all"] = sum(results.values(), Counter())
    columns = [(sort, outcome) for sort in (NEAR, ANSWERED, FOREIGN) for outcome in ("silent", "warned")]
    columns.insert(columns.index((ANSWERED, "warned")), (ANSWERED, "answer lost"))
    headers = ["set", "near misses", *(f"{sort}: {outcome}" for sort, outcome in columns)]
    rows = [
        [
            name,
            str(sum(number for (sort, _), number in found.items() if sort == NEAR)),
            *(share(found, sort, outcome) for sort, outcome in columns),
        ]
        for name, found in results.items()
    ]
    document = {
        "benchmark": "silence",
        "machine": about,
        "sets": {
            name: {f"{sort}: {outcome}": number for (sort, outcome), number in found.items()}
            for name, found in results.items()
        },
    }
    common.report("silence", document, headers, rows, options=options)


if __name__ == "__main__":
    main()
