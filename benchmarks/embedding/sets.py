"""The question sets by which benchmarks/embed.py judges vectors, and their recall."""

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from inputs.retrieval_sets import DEPTH, RetrievalSet, metrics_of

SETS = {"lme_session": (522, 72), "codesess_commit": (168, 242), "cosqa": (1000, 200)}
"""Sets of questions with gold, and the documents and questions that are taken of each at most."""
QUICK_SETS = {"lme_session": (60, 10), "cosqa": (100, 20)}

SEED = 11
MOST_CHARACTERS = 4000
"""Of a document; the model reads the first 256 tokens of them."""


def read_sets(folder: Path, wanted: Mapping[str, tuple[int, int]]) -> list[RetrievalSet]:
    """Return the sets, cut to as many documents and questions: those with gold, then others at random."""
    found = []
    for name, (documents, questions) in wanted.items():
        whole = RetrievalSet.read(folder / name)
        draw = random.Random(SEED)
        asked = [query for query in whole.queries if query.gold]
        asked = draw.sample(asked, min(questions, len(asked)))
        gold = {key for query in asked for key in query.gold}
        others = [draft for draft in whole.drafts if draft.uri not in gold]
        kept = [draft for draft in whole.drafts if draft.uri in gold][:documents]
        kept += draw.sample(others, min(len(others), max(0, documents - len(kept))))
        names = {draft.uri for draft in kept}
        asked = [query for query in asked if query.gold <= names]
        found.append(RetrievalSet(name, tuple(kept), tuple(asked), whole.latest, whole.undated))
    return found


def texts_of(sets: Sequence[RetrievalSet]) -> list[str]:
    """Return the texts of all documents, then of all questions, set by set."""
    texts = []
    for chosen in sets:
        texts += [draft.text[:MOST_CHARACTERS] for draft in chosen.drafts]
        texts += [query.text for query in chosen.queries]
    return texts


def recall(sets: Sequence[RetrievalSet], vectors: Any) -> dict[str, float]:
    """Return recall@10 of each set, questions asked of the documents of their scope and haystack."""
    found, start_row = {}, 0
    for chosen in sets:
        documents = vectors[start_row : start_row + len(chosen.drafts)]
        start_row += len(chosen.drafts)
        questions = vectors[start_row : start_row + len(chosen.queries)]
        start_row += len(chosen.queries)
        scores = questions @ documents.T
        values = []
        for query, row in zip(chosen.queries, scores, strict=True):
            allowed = [
                place
                for place, draft in enumerate(chosen.drafts)
                if draft.scope.project == query.scope
                and (query.haystack is None or draft.uri in query.haystack)
            ]
            best = sorted(allowed, key=lambda place: -row[place])[:DEPTH]
            names = [chosen.drafts[place].uri for place in best]
            values.append(metrics_of(names, query.gold)["recall@10"])
        found[chosen.name] = statistics.fmean(values)
    return found


def neighbours(vectors: Any) -> list[set[int]]:
    """Return the ten nearest other rows of each row."""
    scores = vectors @ vectors.T
    np.fill_diagonal(scores, -math.inf)
    return [set(row) for row in np.argpartition(-scores, DEPTH, axis=1)[:, :DEPTH].tolist()]
