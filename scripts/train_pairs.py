"""Train the weights of the pair model: python scripts/train_pairs.py FOLDER NOTES.

FOLDER has train.jsonl with one labelled pair in each line: older, newer, repo, relation. NOTES has
MANIFEST.tsv with the columns file and repo: neighbours in a document that are alike are nearly always
distinct, and stand for the many distinct pairs of a real store. Only weights are stored, no text. The same
data give the same bytes.
"""

import csv
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from train_judge import regress, softmax

from ragmem.domain.lifecycle.pair_model import HARM, RELATIONS, WEIGHTS, align, inputs, words_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

NEIGHBOURS = 100.0
"""Weight of all neighbours together, beside 1 for each labelled pair."""

FOR_EACH_DOCUMENT = 12
"""Neighbours of one document, so that long lists do not decide alone."""

ALIKE, EQUAL = 0.35, 0.95
"""Overlap of words between which two neighbours make a pair; above, one repeats the other."""

LEAST_WORDS, MOST_WORDS = 4, 90

FOLDS = 5
HIDDEN = 0.26
"""Share of the superseded that are hidden: the threshold is what reaches it in the training, out of fold."""

MARKED = 0.8
"""The same for those that are marked or hidden."""

SCALE = 10_000
"""Weights are stored as whole numbers of this part of 1."""

SUPERSEDES, DISTINCT = RELATIONS.index("supersedes"), RELATIONS.index("distinct")


@dataclass(frozen=True, slots=True)
class Data:
    """Pairs with their inputs: `rows[n]` belongs to `names[n]`; neighbours come last and weigh less."""

    pairs: Sequence[dict[str, Any]]
    repositories: NDArray[np.str_]
    names: Sequence[str]
    rows: Floats
    relation: NDArray[np.intp]
    weight: Floats
    one_thing: Mask
    """Whether `Alignment.is_of_one_thing` lets the older one be hidden."""

    @property
    def labelled(self) -> Mask:
        """Which pairs were labelled by reading."""
        return np.asarray(self.weight == 1.0)


@dataclass(frozen=True, slots=True)
class Model:
    """The trained weights (inputs, relations), the bias, and both thresholds."""

    weights: Floats
    bias: Floats
    hide: float = 1.0
    mark: float = 1.0


def read(folder: Path, notes: Path | None = None) -> Data:
    """Return the labelled pairs of a folder and the neighbours in the documents of another."""
    pairs = [json.loads(line) for line in (folder / "train.jsonl").read_text(encoding="utf-8").splitlines()]
    near = list(neighbours(notes)) if notes else []
    every = [*pairs, *near]
    aligned = [align(one["older"], one["newer"]) for one in every]
    found = [inputs(one) for one in aligned]
    names = sorted(found[0])
    return Data(
        every,
        np.array([one["repo"] for one in every]),
        names,
        np.array([[values[name] for name in names] for values in found]),
        np.array([RELATIONS.index(one["relation"]) for one in every]),
        np.array([1.0] * len(pairs) + [NEIGHBOURS / max(1, len(near))] * len(near)),
        np.array([one.is_of_one_thing for one in aligned]),
    )


def neighbours(notes: Path) -> Iterator[dict[str, Any]]:
    """Yield pairs of statements of one document that are alike, evenly spread over the document."""
    with (notes / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        listed = sorted(csv.DictReader(file, delimiter="\t"), key=lambda row: row["file"])
    for row in listed:
        path = notes / row["file"]
        if path.suffix == ".md" and path.is_file():
            found = list(_alike(_statements(path.read_text(encoding="utf-8", errors="replace"))))
            for one in found[:: max(1, len(found) // FOR_EACH_DOCUMENT)][:FOR_EACH_DOCUMENT]:
                yield one | {"repo": row["repo"], "relation": "distinct"}


def _statements(text: str) -> list[str]:
    """Return the items, rows and sentences of a document without its code and headings, each once."""
    text = re.sub(r"\A---\n.*?\n---\n|^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    found: list[str] = []
    for line in text.split("\n"):
        said = re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "", line.strip())
        if not said.startswith("#"):
            found += [said] if said.startswith("|") else re.split(r"(?<=[.!?])\s+(?=[A-Z`*])", said)
    return [said for said in dict.fromkeys(found) if LEAST_WORDS <= len(words_of(said)) <= MOST_WORDS]


def _alike(statements: Sequence[str]) -> Iterator[dict[str, Any]]:
    words = [[word.lower() for word in words_of(one)] for one in statements]
    sets = list(map(frozenset, words))
    for first, second in combinations(range(len(statements)), 2):
        if 2 * len(sets[first] & sets[second]) < ALIKE * (len(sets[first]) + len(sets[second])):
            continue
        ratio = SequenceMatcher(None, words[first], words[second], autojunk=False).ratio()
        if ALIKE <= ratio < EQUAL:
            yield {"older": statements[first], "newer": statements[second], "similarity": ratio}


def deal(data: Data, chosen: Mask, seed: int) -> NDArray[np.intp]:
    """Return the fold of each chosen pair, else -1: repositories in random order, heavy ones first."""
    chance = random.Random(seed)
    heavy: dict[str, float] = defaultdict(float)
    for name, weight in zip(data.repositories[chosen], data.weight[chosen], strict=True):
        heavy[name] += weight
    names = sorted(heavy)
    chance.shuffle(names)
    names.sort(key=lambda name: -heavy[name])
    filled = [0.0] * FOLDS
    fold = {}
    for name in names:
        fold[name] = min(range(FOLDS), key=lambda one: (filled[one], chance.random()))
        filled[fold[name]] += heavy[name]
    return np.array(
        [fold.get(name, -1) if taken else -1 for name, taken in zip(data.repositories, chosen, strict=True)]
    )


def fit(data: Data, chosen: Mask) -> Model:
    """Return the weights trained on the chosen pairs, without thresholds."""
    rows, weight = data.rows[chosen], data.weight[chosen]
    mean = np.average(rows, axis=0, weights=weight)
    deviation = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=weight))
    factor = np.where(deviation > 1e-6, 1 / np.maximum(deviation, 1e-6), 0.0)
    joined = regress((rows - mean) * factor, np.eye(len(RELATIONS))[data.relation[chosen]], weight)
    weights = joined[:-1] * factor[:, None]
    return Model(weights, joined[-1] - mean @ weights)


def predict(data: Data, chosen: Mask, model: Model) -> Floats:
    """Return the probabilities (chosen pairs, relations)."""
    return softmax(data.rows[chosen] @ model.weights + model.bias)


def cross_validate(data: Data, chosen: Mask, seed: int) -> Floats:
    """Return the probabilities of each chosen pair by weights that never saw its repository."""
    folds = deal(data, chosen, seed)
    answers = np.zeros((len(folds), len(RELATIONS)))
    for fold in range(FOLDS):
        answers[folds == fold] = predict(data, folds == fold, fit(data, chosen & (folds != fold)))
    return answers


def train(data: Data, chosen: Mask) -> Model:
    """Return the weights trained on the chosen pairs, with the thresholds that these give out of fold."""
    answers = cross_validate(data, chosen, 0)
    superseded = chosen & data.labelled & (data.relation == SUPERSEDES)
    model = fit(data, chosen)
    return Model(
        model.weights,
        model.bias,
        float(np.quantile(room(data, answers)[superseded], 1 - HIDDEN)),
        float(np.quantile(answers[superseded, SUPERSEDES], 1 - MARKED)),
    )


def room(data: Data, answers: Floats) -> Floats:
    """Return by how much each pair is certain enough to hide the older one; -HARM if nothing is."""
    return np.where(data.one_thing, answers[:, SUPERSEDES] - HARM * answers[:, DISTINCT], -HARM)


def main() -> None:
    """Write the weights."""
    data = read(Path(sys.argv[1]), Path(sys.argv[2]))
    model = train(data, np.ones(len(data.pairs), bool))
    rounded = np.rint(model.weights * SCALE).astype(int).tolist()
    document = {
        "schema": 1,
        "pairs": int(data.labelled.sum()),
        "neighbours": int((~data.labelled).sum()),
        "repositories": len(set(data.repositories)),
        "hide": round(model.hide, 3),
        "mark": round(model.mark, 3),
        "scale": SCALE,
        "bias": np.rint(model.bias * SCALE).astype(int).tolist(),
        "weights": dict(zip(data.names, rounded, strict=True)),
    }
    WEIGHTS.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")
    sys.stderr.write(f"{WEIGHTS}: {len(data.names)} inputs, {WEIGHTS.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
