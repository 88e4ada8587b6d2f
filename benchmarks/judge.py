"""Measure the trained judge on repositories that it was not trained on.

Reads the labelled snippets of a folder (train.jsonl and chats.jsonl, see scripts/train_judge.py) and trains
anew for each fold; a repository is never in training and test at once. The brackets are the lowest and the
highest figure of several ways to deal the repositories to folds.
"""

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import common
import numpy as np
from numpy.typing import NDArray

from ragmem.domain.classification.judge import HEADS
from ragmem.domain.classification.protection import is_protected
from ragmem.domain.classification.signal import CERTAIN, PERHAPS_PROTECTED
from ragmem.domain.model import Tier

sys.path.insert(0, str(common.REPOSITORY / "scripts"))
import train_judge

FOLDS = 5
DEALS = 5
CURATED = frozenset({"instructions", "plan", "requirements", "memory"})
"""Sources that people write on purpose: nothing of them is discarded."""

TIERS = list(HEADS["tier"])
DISCARD, INGEST = TIERS.index(Tier.DISCARD), TIERS.index(Tier.INGEST)

Mask = NDArray[np.bool_]
Answers = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Labels:
    """The labels of all snippets, and what the policy asks of them besides the judge."""

    tier: NDArray[np.intp]
    kind: NDArray[np.intp]
    protected: Mask
    shielded: Mask
    """Of a user, of a curated source, or protected by a rule."""


def deal(data: train_judge.Data, seed: int) -> NDArray[np.intp]:
    """Return the fold of each snippet: repositories in random order, each to the smallest fold."""
    chance = random.Random(seed)
    sizes: dict[str, int] = defaultdict(int)
    for name in data.repositories:
        sizes[name] += 1
    names = sorted(sizes)
    chance.shuffle(names)
    names.sort(key=lambda name: -sizes[name])
    filled = [0] * FOLDS
    chosen = {}
    for name in names:
        fold = min(range(FOLDS), key=lambda one: (filled[one], chance.random()))
        chosen[name] = fold
        filled[fold] += sizes[name]
    return np.array([chosen[name] for name in data.repositories])


def cross_validate(data: train_judge.Data, seed: int) -> Answers:
    """Return head -> probabilities of each snippet, by weights that never saw its repository."""
    folds = deal(data, seed)
    answers = {head: np.zeros((len(folds), len(classes))) for head, classes in HEADS.items()}
    for fold in range(FOLDS):
        weights, bias = train_judge.fit(data, folds != fold)
        for head, found in train_judge.predict(data, folds == fold, weights, bias).items():
            answers[head][folds == fold] = found
    return answers


def label(data: train_judge.Data) -> Labels:
    """Return the labels, and which snippets the policy keeps whatever the judge says."""
    shielded = []
    for one in data.snippets:
        source, role = train_judge.source_of(one)
        casual = "transcripts" if source == "chat" else ""
        shielded.append(role == "user" or source in CURATED or is_protected(one["text"], source=casual))
    protected = data.label("protected") == HEADS["protected"].index("yes")
    return Labels(data.label("tier"), data.label("kind"), protected, np.array(shielded))


def figures(answers: Answers, labels: Labels, part: Mask) -> dict[str, float]:
    """Return the figures of some snippets."""
    discard = answers["tier"][:, DISCARD]
    protected = answers["protected"][:, 1]
    kept = part & (labels.tier != DISCARD)
    certain = (discard > CERTAIN) & (protected <= PERHAPS_PROTECTED) & ~labels.shielded & part
    flagged = ((protected > PERHAPS_PROTECTED) | labels.shielded) & part
    worthless = part & (labels.tier == DISCARD)
    return {
        "tier": mean(answers["tier"].argmax(1) == labels.tier, part),
        "keep or drop": mean((discard > 0.5) == (labels.tier == DISCARD), part),
        "kind, of kept texts": mean(answers["kind"].argmax(1) == labels.kind, kept),
        "protected: average precision": average_precision(labels.protected[part], protected[part]),
        "protected: recall of rules, sources and classifier": mean(flagged, part & labels.protected),
        "protected: precision of rules, sources and classifier": mean(labels.protected, flagged),
        "calibration error of discard": calibration(discard[part], labels.tier[part] == DISCARD),
        "worthless texts that are discarded": mean(certain, worthless),
        "discarded `ingest`": float((certain & (labels.tier == INGEST)).sum()),
        "discarded protected": float((certain & labels.protected).sum()),
    }


def mean(hits: NDArray[Any], part: Mask) -> float:
    """Return the share of hits in a part."""
    return float(hits[part].mean()) if part.any() else float("nan")


def average_precision(gold: Mask, scores: NDArray[np.float64]) -> float:
    """Return the mean precision at the rank of each hit."""
    ranked = gold[np.argsort(-scores, kind="stable")]
    return float((np.cumsum(ranked) / np.arange(1, len(ranked) + 1))[ranked].mean())


def calibration(probability: NDArray[np.float64], hits: Mask) -> float:
    """Return the expected calibration error in ten bins."""
    bins = np.minimum((probability * 10).astype(int), 9)
    gaps = [
        abs(probability[bins == one].mean() - hits[bins == one].mean()) * (bins == one).sum()
        for one in set(bins.tolist())
    ]
    return float(sum(gaps) / len(hits))


def source_alone(data: train_judge.Data, seed: int) -> Answers:
    """Return the answers of a baseline that knows the source and the role of a snippet, not its text."""
    shown = np.array([name.startswith(("source ", "role ")) for name in data.names])
    reduced = replace(data, rows=data.rows * shown)
    return cross_validate(reduced, seed)


def reliability(answers: Sequence[Answers], labels: Labels) -> list[list[str]]:
    """Return the rows of the reliability curve."""
    discard = np.mean([one["tier"][:, DISCARD] for one in answers], axis=0)
    bins = np.minimum((discard * 10).astype(int), 9)
    return [
        [
            f"{one / 10:.1f}-{one / 10 + 0.1:.1f}",
            f"{(bins == one).sum()}",
            f"{discard[bins == one].mean():.2f}",
            f"{(labels.tier[bins == one] == DISCARD).mean():.2f}",
        ]
        for one in range(10)
        if (bins == one).any()
    ]


def ablation(data: train_judge.Data, labels: Labels) -> list[list[str]]:
    """Return what each group of inputs is worth: the figures without it, for one way to deal."""
    everything = np.ones(len(labels.tier), bool)
    lines = []
    for group in ("", "form ", "cue ", "source ", "word "):
        rows = data.rows.copy()
        if group:
            rows[:, [name.startswith(group) for name in data.names]] = 0.0
        reduced = train_judge.Data(data.snippets, data.repositories, data.names, rows, data.targets)
        found = figures(cross_validate(reduced, 0), labels, everything)
        shown = ("tier", "keep or drop", "kind, of kept texts", "protected: average precision")
        lines.append(
            [f"without {group.strip()}" if group else "all inputs", *(f"{found[one]:.3f}" for one in shown)]
        )
    return lines


def main() -> None:
    """Run the benchmark."""
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval/judgement")
    options = parser.parse_args()
    data = train_judge.prepare(train_judge.read([options.data / "train.jsonl", options.data / "chats.jsonl"]))
    labels = label(data)
    answers = [cross_validate(data, seed) for seed in range(1 if options.quick else DEALS)]
    chat = np.array([train_judge.source_of(one)[0] == "chat" for one in data.snippets])
    only_chats = np.array([one["kind"] == "transcripts" for one in data.snippets])
    parts = {"all": np.ones(len(chat), bool), "chats": only_chats, "notes": ~chat}
    measured = {name: [figures(one, labels, part) for one in answers] for name, part in parts.items()}
    baseline = [source_alone(data, seed) for seed in range(len(answers))]
    before = {name: [figures(one, labels, part) for one in baseline] for name, part in parts.items()}
    document = {"machine": common.machine(), "judge": measured, "source alone": before}
    rows = [
        [
            name,
            *(
                text
                for part in parts
                for text in (
                    spread([one[name] for one in measured[part]]),
                    spread([one[name] for one in before[part]]),
                )
            ),
        ]
        for name in measured["all"][0]
    ]
    headers = ["figure", *(f"{part}, {who}" for part in parts for who in ("classifier", "source alone"))]
    notes = (
        (
            f"{len(chat):,} snippets of {len(set(data.repositories))} repositories; {only_chats.sum()} in"
            f" chats, {(~chat).sum():,} in notes; {FOLDS} folds, split in {len(answers)} ways: mean [range]"
        ),
        (
            f"discarded: discard above {CERTAIN}, protected at most {PERHAPS_PROTECTED}, no rule or source"
            " protects it, not a user's; source alone: the same models without the text"
        ),
    )
    common.report("judge", document, headers, rows, options=options, notes=notes)
    report_more(
        "judge_curve", ["p(discard)", "n", "mean p", "worthless"], reliability(answers, labels), options
    )
    if not options.quick:
        names = ["inputs", "tier", "keep or drop", "kind", "protected: average precision"]
        report_more("judge_ablation", names, ablation(data, labels), options)


def report_more(
    name: str, headers: Sequence[str], rows: Sequence[Sequence[str]], options: argparse.Namespace
) -> None:
    """Report a further table; the file of figures holds the first one."""
    further = argparse.Namespace(json=None, markdown=options.markdown)
    common.report(name, {"machine": common.machine()}, headers, rows, options=further)


def spread(values: Sequence[float]) -> str:
    """Return the mean of the figures with the lowest and the highest."""
    write: Callable[[float], str] = one_figure
    middle = write(float(np.mean(values)))
    return middle if len(values) == 1 else f"{middle} [{write(min(values))}, {write(max(values))}]"


def one_figure(value: float | None) -> str:
    """Return a share with three digits, a count without."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 1 and value == round(value) else f"{value:.3f}".rstrip("0").rstrip(".")


if __name__ == "__main__":
    main()
