"""Measure the pair model on repositories that it was not trained on.

Reads the labelled pairs of a folder (train.jsonl) and notes, whose neighbours stand for distinct pairs (see
scripts/train_pairs.py), and trains anew for each fold, thresholds included; a repository is never in training
and test at once. The brackets are the lowest and the highest figure of several ways to deal the repositories
to folds.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import common
import numpy as np
from numpy.typing import NDArray

from ragmem.domain.lifecycle.pair_model import HARM, RELATIONS, align, relate

sys.path.insert(0, str(common.REPOSITORY / "scripts"))
import train_pairs
from train_pairs import DISTINCT, SUPERSEDES

DEALS = 5
BANDS = (0.0, 0.5, 0.65, 0.8, 1.01)
"""Limits of the bands of similarity; most pairs were found by an overlap of .35 and more."""

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SAME, REFINES = RELATIONS.index("same"), RELATIONS.index("refines")
BROAD = np.array([0, 1, 1, 2])
"""Relation -> supersedes, same or refines, distinct."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Answers:
    """The probabilities of all pairs, which of them are hidden, and which are marked or hidden."""

    probabilities: NDArray[np.float64]
    hidden: Mask
    marked: Mask


def cross_validate(data: train_pairs.Data, seed: int) -> Answers:
    """Return the answers of weights and thresholds that never saw the repository of a pair."""
    everything = np.ones(len(data.pairs), bool)
    folds = train_pairs.deal(data, everything, seed)
    probabilities = np.zeros((len(folds), len(RELATIONS)))
    hidden, marked = np.zeros(len(folds), bool), np.zeros(len(folds), bool)
    for fold in range(train_pairs.FOLDS):
        test = folds == fold
        model = train_pairs.train(data, ~test)
        probabilities[test] = train_pairs.predict(data, test, model)
        hidden |= test & (train_pairs.room(data, probabilities) >= model.hide)
        marked |= test & (probabilities[:, SUPERSEDES] >= model.mark)
    other = np.array([align(one["older"], one["newer"]).has_other_name for one in data.pairs])
    return Answers(probabilities, hidden, marked & (hidden | ~other))


def figures(answers: Answers, data: train_pairs.Data, part: Mask) -> dict[str, float]:
    """Return the figures of some labelled pairs."""
    relation, found = data.relation, answers.probabilities.argmax(1)
    superseded = part & (relation == SUPERSEDES)
    hidden, marked = part & answers.hidden, part & answers.marked
    return {
        "four relations classified correctly": mean(found == relation, part),
        "three relations: *same* and *refines* as one": mean(BROAD[found] == BROAD[relation], part),
        "superseded that are hidden": mean(answers.hidden, superseded),
        "hidden: number": float(hidden.sum()),
        "hidden: distinct": mean(relation == DISTINCT, hidden),
        "hidden: refines": mean(relation == REFINES, hidden),
        "hidden: same": mean(relation == SAME, hidden),
        "superseded that are marked or hidden": mean(answers.marked, superseded),
        "marked or hidden: number": float(marked.sum()),
        "marked or hidden: distinct": mean(relation == DISTINCT, marked),
        "marked or hidden: refines": mean(relation == REFINES, marked),
        "marked or hidden: same": mean(relation == SAME, marked),
    }


def neighbours(answers: Answers, data: train_pairs.Data) -> dict[str, float]:
    """Return how many of the pairs of one document, which are nearly all distinct, would be touched."""
    part = ~data.labelled
    return {
        "neighbours in a document that would be hidden": mean(answers.hidden, part),
        "neighbours in a document that would be marked or hidden": mean(answers.marked, part),
    }


def curve(answers: Sequence[Answers], data: train_pairs.Data) -> list[list[str]]:
    """Return for shares of the superseded what else is hidden or marked with them."""
    lines = []
    for share in SHARES:
        cells = [f"{share:.0%}".replace("%", " %")]
        for sort in ("hidden", "marked"):
            shares = [_at(one, data, share, sort) for one in answers]
            known = [one for one in shares if one]
            for relation in (DISTINCT, REFINES):
                values = [one[relation] for one in known]
                cells.append(spread(values) if len(known) == len(answers) else "-")
        lines.append(cells)
    return lines


def _at(answers: Answers, data: train_pairs.Data, share: float, sort: str) -> Mapping[int, float]:
    """Return relation -> share of the pairs as certain as this share of the superseded; or nothing."""
    certainty = answers.probabilities[:, SUPERSEDES]
    if sort == "hidden":
        certainty = train_pairs.room(data, answers.probabilities)
    limit = float(np.quantile(certainty[data.labelled & (data.relation == SUPERSEDES)], 1 - share))
    chosen = data.labelled & (certainty >= limit)
    if limit <= -HARM:
        return {}
    return {relation: mean(data.relation == relation, chosen) for relation in (DISTINCT, REFINES)}


def bands(answers: Sequence[Answers], data: train_pairs.Data) -> list[list[str]]:
    """Return the rows of the table by similarity."""
    similar = np.array([one["similarity"] for one in data.pairs])
    lines = []
    for low, high in pairwise(BANDS):
        part = data.labelled & (similar >= low) & (similar < high)
        found = [figures(one, data, part) for one in answers]
        counts = [int((part & (data.relation == one)).sum()) for one in range(len(RELATIONS))]
        names = (
            "three relations: *same* and *refines* as one",
            "superseded that are hidden",
            "hidden: distinct",
            "superseded that are marked or hidden",
            "marked or hidden: distinct",
        )
        lines.append(
            [
                f"{low:.2f}-{min(high, 1):.2f}",
                *map(str, counts),
                *(f"{np.nanmean([one[name] for one in found]):.2f}" for name in names),
            ]
        )
    return lines


def mean(hits: Mask, part: Mask) -> float:
    """Return the share of hits in a part."""
    return float(hits[part].mean()) if part.any() else float("nan")


def spread(values: Sequence[float]) -> str:
    """Return the mean of the figures with the lowest and the highest."""
    middle, low, high = (f"{one:.3g}" for one in (np.mean(values), min(values), max(values)))
    return middle if len(values) == 1 else f"{middle} [{low}, {high}]"


def microseconds(data: train_pairs.Data) -> float:
    """Return the time of one pair."""
    pairs = [one for one, labelled in zip(data.pairs, data.labelled, strict=True) if labelled]
    begun = time.perf_counter()
    for one in pairs:
        relate(one["older"], one["newer"])
    return (time.perf_counter() - begun) / len(pairs) * 1e6


def main() -> None:
    """Run the benchmark."""
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval/pairs")
    parser.add_argument(
        "--notes", type=Path, default=common.REPOSITORY / "../shared/corpus", metavar="DIR", help="documents"
    )
    options = parser.parse_args()
    data = train_pairs.read(options.data, options.notes)
    answers = [cross_validate(data, seed) for seed in range(1 if options.quick else DEALS)]
    sure = data.labelled & np.array([one.get("sure", True) for one in data.pairs])
    parts = {"all": data.labelled, "sure": sure}
    measured = {name: [figures(one, data, part) for one in answers] for name, part in parts.items()}
    around = [neighbours(one, data) for one in answers]
    rows = [
        [name, *(spread([one[name] for one in measured[part]]) for part in parts)]
        for name in measured["all"][0]
    ]
    rows += [[name, spread([one[name] for one in around]), "-"] for name in around[0]]
    labelled = int(data.labelled.sum())
    notes = (
        (
            f"{labelled} pairs of {len(set(data.repositories[data.labelled]))} repositories, {sure.sum()} of"
            f" them sure; {len(data.pairs) - labelled:,} neighbours in documents; {train_pairs.FOLDS} folds,"
            f" split in {len(answers)} ways: mean [range]"
        ),
        f"{microseconds(data):.0f} microseconds per pair",
    )
    document = {"machine": common.machine(), "pairs": measured, "neighbours": around}
    common.report("pairs", document, ["figure", *parts], rows, options=options, notes=notes)
    headers = ["share of the superseded", "hidden: distinct", "hidden: refines"]
    headers += ["marked or hidden: distinct", "marked or hidden: refines"]
    tables = {"pairs_curve": (headers, curve(answers, data))}
    headers = ["similarity", *RELATIONS, "three correct", "hidden", "distinct of those"]
    tables["pairs_bands"] = ([*headers, "marked", "distinct of those"], bands(answers, data))
    for name, (headers, lines) in tables.items():
        further = argparse.Namespace(json=None, markdown=options.markdown)
        common.report(name, {"machine": document["machine"]}, headers, lines, options=further)


if __name__ == "__main__":
    main()
