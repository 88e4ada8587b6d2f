"""Train the weights of the judge: python scripts/train_judge.py FOLDER [FOLDER/FILE ...].

FOLDER has train.jsonl and chats.jsonl with one labelled snippet in each line: text, repo, kind, role, tier,
alt_tier, content_type, knowledge_category, protected. Only weights are stored, no text. The same data give
the same bytes.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragmem.domain.classification.judge import HEADS, WEIGHTS, inputs, words_of

Floats = NDArray[np.float64]

TYPES = {
    "claude_md": "instructions",
    "plan_spec": "plan",
    "prd": "requirements",
    "session_summary": "summary",
    "transcripts": "chat",
    "transcripts_claude": "chat",
    "transcripts_codex": "chat",
    "transcripts_gemini": "chat",
    "transcripts_md": "chat",
}
"""Kind of the data -> type of `judge.SOURCES`, where the words differ."""

C = 0.01
"""Inverse strength of the L2 penalty of each regression, for inputs of variance 1."""

ALTERNATIVE = 0.35
"""Share of a label that its defensible neighbour gets."""

UNKNOWN = 0.25
"""Weight of each snippet's copy without source and role: unknown sources are judged as well."""

WORD_SCALE = 0.5
"""Scale of word inputs beside the others: smaller means a stronger penalty."""

WORD_REPOSITORIES = 25
"""A word is an input if it occurs in snippets of this many repositories."""

STEPS = 250
SCALE = 10_000
"""Weights are stored as whole numbers of this part of 1."""


@dataclass(frozen=True, slots=True)
class Data:
    """Snippets with their inputs: `rows[n]` belongs to `names[n]`; labels are places in HEADS."""

    snippets: Sequence[dict[str, Any]]
    repositories: NDArray[np.str_]
    names: Sequence[str]
    rows: Floats
    targets: dict[str, Floats]

    def label(self, head: str) -> NDArray[np.intp]:
        """Return the place of the label of each snippet, not that of an alternative."""
        return np.array([HEADS[head].index(_label(one, head)) for one in self.snippets])


def _label(snippet: dict[str, Any], head: str) -> str:
    if head == "protected":
        return "yes" if snippet["protected"] else "no"
    return str(snippet[{"tier": "tier", "kind": "content_type", "category": "knowledge_category"}[head]])


def read(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the snippets of JSON Lines files."""
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def source_of(snippet: dict[str, Any]) -> tuple[str, str]:
    """Return the type of the source of a snippet and its role."""
    role = {"developer": "system", "md": "", None: ""}.get(snippet.get("role"), snippet.get("role"))
    return TYPES.get(snippet["kind"], snippet["kind"]), str(role)


def prepare(snippets: Sequence[dict[str, Any]]) -> Data:
    """Return the snippets with their inputs."""
    spread: dict[str, set[str]] = defaultdict(set)
    words = [words_of(one["text"]) for one in snippets]
    for one, found in zip(snippets, words, strict=True):
        for word in found:
            spread[word].add(one["repo"])
    vocabulary = sorted(word for word, places in spread.items() if len(places) >= WORD_REPOSITORIES)
    found = []
    for one, said in zip(snippets, words, strict=True):
        source, role = source_of(one)
        values = inputs(one["text"], source=source, role=role)
        found.append(values | {f"word {word}": 1.0 for word in said.intersection(vocabulary)})
    names = sorted({name for values in found for name in values})
    rows = np.array([[values.get(name, 0.0) for name in names] for values in found])
    targets = {head: np.zeros((len(snippets), len(classes))) for head, classes in HEADS.items()}
    for place, one in enumerate(snippets):
        for head, classes in HEADS.items():
            other = one.get("alt_tier") if head == "tier" else None
            targets[head][place, classes.index(_label(one, head))] += 1 - ALTERNATIVE if other else 1
            if other:
                targets[head][place, classes.index(other)] += ALTERNATIVE
    return Data(snippets, np.array([one["repo"] for one in snippets]), names, rows, targets)


def fit(data: Data, chosen: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the weights (inputs, classes of all heads) and the biases, trained on the chosen snippets."""
    rows = data.rows[chosen]
    anonymous = rows.copy()
    anonymous[:, [name.startswith(("source ", "role ")) for name in data.names]] = 0.0
    rows = np.vstack([rows, anonymous])
    weight = np.repeat([1.0, UNKNOWN], chosen.sum())
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    factor = np.where([name.startswith("word ") for name in data.names], WORD_SCALE, 1.0)
    factor = np.where(deviation > 1e-6, factor / np.maximum(deviation, 1e-6), 0.0)
    scaled = (rows - mean) * factor
    kept = np.tile(data.label("tier")[chosen] != HEADS["tier"].index("discard"), 2)
    parts = []
    for head in HEADS:
        # The kind and the category of a worthless text mean nothing, and were labelled with less care.
        used = weight * (kept if head in {"kind", "category"} else 1.0)
        parts.append(regress(scaled, np.tile(data.targets[head][chosen], (2, 1)), used))
    joined = np.hstack(parts)
    weights = joined[:-1] * factor[:, None]
    return weights, joined[-1] - mean @ weights


def regress(rows: Floats, targets: Floats, weight: Floats) -> Floats:
    """Return the weights and, last, the bias of a multinomial regression (Nesterov descent)."""
    rows = np.hstack([rows, np.ones((len(rows), 1))])
    direction = np.ones(rows.shape[1])
    for _ in range(20):
        direction = rows.T @ (weight * (rows @ direction))
        direction /= np.linalg.norm(direction)
    penalty = np.full((rows.shape[1], 1), 1 / C)
    penalty[-1] = 1e-3
    step = 1 / (0.5 * np.linalg.norm(rows.T @ (weight * (rows @ direction))) + 1 / C)
    current = ahead = np.zeros((rows.shape[1], targets.shape[1]))
    momentum = 1.0
    for _ in range(STEPS):
        gradient = rows.T @ (weight[:, None] * (softmax(rows @ ahead) - targets)) + penalty * ahead
        new = ahead - step * gradient
        if float((gradient * (new - current)).sum()) > 0:
            momentum = 1.0
        following = (1 + (1 + 4 * momentum * momentum) ** 0.5) / 2
        ahead = new + (momentum - 1) / following * (new - current)
        current, momentum = new, following
    return current


def softmax(logits: Floats) -> Floats:
    """Return the probabilities of each row of logits."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def predict(data: Data, chosen: NDArray[np.bool_], weights: Floats, bias: Floats) -> dict[str, Floats]:
    """Return head -> probabilities (chosen snippets, classes)."""
    logits = data.rows[chosen] @ weights + bias
    ends = np.cumsum([len(classes) for classes in HEADS.values()])
    return {
        head: softmax(part) for head, part in zip(HEADS, np.split(logits, ends[:-1], axis=1), strict=True)
    }


def shares(data: Data) -> dict[str, float]:
    """Return the share of each category among the snippets that are worth something."""
    kept = data.label("tier") != HEADS["tier"].index("discard")
    counts = np.bincount(data.label("category")[kept], minlength=len(HEADS["category"]))
    return {
        name: round(float(count / kept.sum()), 4)
        for name, count in zip(HEADS["category"], counts, strict=True)
    }


def main() -> None:
    """Write the weights."""
    folder, *more = map(Path, sys.argv[1:])
    data = prepare(read([folder / "train.jsonl", folder / "chats.jsonl", *more]))
    weights, bias = fit(data, np.ones(len(data.snippets), bool))
    rounded = np.rint(weights * SCALE).astype(int).tolist()
    document = {
        "schema": 1,
        "snippets": len(data.snippets),
        "repositories": len(set(data.repositories)),
        "scale": SCALE,
        "category shares": shares(data),
        "bias": np.rint(bias * SCALE).astype(int).tolist(),
        "weights": {name: row for name, row in zip(data.names, rounded, strict=True) if any(row)},
    }
    WEIGHTS.write_text(
        json.dumps(document, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8"
    )
    sys.stderr.write(f"{WEIGHTS}: {len(data.names)} inputs, {WEIGHTS.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
