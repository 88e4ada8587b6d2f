"""Measure what is kept of a text, what it is taken to be about, and whether decisions are protected.

Reads annotated snippets (JSON lines: text, tier, alt_tier, content_type, knowledge_category, protected,
selection) and compares the published marker rule with the graded one. It is not called signal.py, because a
module of that name here would hide the standard library's from every other benchmark.
"""

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import common

from ragmem.domain.classification.kinds import detect_category, detect_kind, is_protected
from ragmem.domain.classification.signal import Rule, classify

RULES: tuple[Rule, ...] = ("classic", "graded")
LOST_COST = 3
"""A snippet worth keeping whole that is discarded costs so much; any other wrong tier costs 1."""

Row = Mapping[str, Any]


def macro_f1(gold: Sequence[str], guesses: Sequence[str]) -> float:
    """Return the mean F1 of the labels that occur in the gold; NaN without any."""
    scores = []
    for label in sorted(set(gold)):
        found = sum(one == guess == label for one, guess in zip(gold, guesses, strict=True))
        scores.append(2 * found / (list(gold).count(label) + list(guesses).count(label)))
    return sum(scores) / len(scores) if scores else float("nan")


def share(hits: Sequence[bool]) -> float:
    """Return the share of hits; NaN of none."""
    return sum(hits) / len(hits) if hits else float("nan")


def tiers(rows: Sequence[Row], guesses: Sequence[str]) -> dict[str, Any]:
    """Return how good the tiers are."""
    gold = [row["tier"] for row in rows]
    right = [one == guess for one, guess in zip(gold, guesses, strict=True)]
    costs = [
        LOST_COST if (one, guess) == ("ingest", "discard") else int(one != guess)
        for one, guess in zip(gold, guesses, strict=True)
    ]
    return {
        "accuracy": share(right),
        "macro_f1": macro_f1(gold, guesses),
        "random": share([hit for hit, row in zip(right, rows, strict=True) if row["selection"] == "random"]),
        "lenient": share(
            [guess in {row["tier"], row["alt_tier"]} for row, guess in zip(rows, guesses, strict=True)]
        ),
        "keep_or_drop": share(
            [(one == "discard") == (guess == "discard") for one, guess in zip(gold, guesses, strict=True)]
        ),
        "cost": sum(costs) / len(costs),
        "protected_discarded": sum(
            bool(row["protected"]) and guess == "discard" for row, guess in zip(rows, guesses, strict=True)
        ),
        "confusion": Counter(f"{one} -> {guess}" for one, guess in zip(gold, guesses, strict=True)),
    }


def about(rows: Sequence[Row]) -> dict[str, Any]:
    """Return how good kinds, categories and protection are; they do not depend on the rule of the tiers."""
    kept = [row for row in rows if row["tier"] != "discard"]
    whole = [row for row in rows if row["tier"] == "ingest"]
    kinds = [detect_kind(row["text"]).value for row in kept]
    categories = [detect_category(row["text"]).value for row in whole]
    gold = [bool(row["protected"]) for row in rows]
    claimed = [is_protected(row["text"]) for row in rows]
    both = sum(one and guess for one, guess in zip(gold, claimed, strict=True))
    return {
        "kind_macro_f1": macro_f1([row["content_type"] for row in kept], kinds),
        "kind_accuracy": share([row["content_type"] == kind for row, kind in zip(kept, kinds, strict=True)]),
        "category_macro_f1": macro_f1([row["knowledge_category"] for row in whole], categories),
        "protected": sum(gold),
        "protected_recall": both / sum(gold) if any(gold) else float("nan"),
        "protected_precision": both / sum(claimed) if any(claimed) else float("nan"),
    }


def measure(rows: Sequence[Row], rule: Rule) -> dict[str, Any]:
    """Return the figures of one rule, with the CPU seconds that 1,000 characters take."""
    started = time.process_time()
    guesses = [classify(row["text"], rule=rule).tier.value for row in rows]
    seconds = (time.process_time() - started) / sum(len(row["text"]) for row in rows) * 1000
    applied = [
        classify(row["text"], rule=rule, protected=is_protected(row["text"])).tier.value for row in rows
    ]
    lost = sum(
        bool(row["protected"]) and guess == "discard" for row, guess in zip(rows, applied, strict=True)
    )
    return {**tiers(rows, guesses), "protected_lost": lost, "seconds_per_1000_characters": seconds}


def main() -> None:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/eval/signal")
    options = parser.parse_args()
    lines = [
        line
        for path in sorted(options.data.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    rows = [json.loads(line) for line in lines][: 40 if options.quick else None]
    if not rows:
        raise SystemExit(f"there are no snippets in {options.data}")
    found = {rule: measure(rows, rule) for rule in RULES}
    other = about(rows)
    document: dict[str, Any] = {
        "benchmark": "tiers",
        "machine": common.machine(),
        "snippets": len(rows),
        "rules": found,
        "about": other,
    }
    cells = []
    for rule, one in found.items():
        wrong = {key: count for key, count in one["confusion"].items() if len(set(key.split(" -> "))) > 1}
        print(f"{rule}: wrong: {', '.join(f'{key} {count}' for key, count in sorted(wrong.items()))}")
        names = ("accuracy", "macro_f1", "random", "lenient", "keep_or_drop", "cost")
        cells.append(
            [
                rule,
                *(f"{one[name]:.3f}" for name in names),
                str(one["protected_discarded"]),
                str(one["protected_lost"]),
                common.milliseconds(one["seconds_per_1000_characters"]),
            ]
        )
    kinds = f"macro-F1 {other['kind_macro_f1']:.3f}, accuracy {other['kind_accuracy']:.3f}"
    recall = f"recall {other['protected_recall']:.3f} of {other['protected']}"
    notes = [
        f"{len(rows)} annotated snippets; tiers are judged by the text alone, without its source",
        "random: those drawn by chance; lenient: a neighbouring tier counts where the annotator gave one",
        "keep or drop: ingest and summarize against discard",
        "cost: 3 for each snippet worth keeping whole that is discarded, 1 for any other error",
        "discarded: protected ones that the rule alone discards; lost: those lost as the rule is applied",
        f"kinds, of what is worth keeping: {kinds}",
        f"categories, of what is worth keeping whole: macro-F1 {other['category_macro_f1']:.3f}",
        f"protection: {recall}, precision {other['protected_precision']:.3f}",
    ]
    headers = ["rule", "accuracy", "macro-F1", "random", "lenient", "keep or drop", "cost"]
    headers += ["discarded", "lost", "ms per 1,000 characters"]
    common.report("tiers", document, headers, cells, options=options, notes=notes)


if __name__ == "__main__":
    main()
