"""What peers.py prints: the table, and for each column how far ours is from the best of the others."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import common
from peers_measure import Extent

COLUMNS: Sequence[tuple[str, tuple[str, ...], bool]] = (
    ("ingest s", ("ingest", "seconds"), False),
    ("one more ms", ("plain", "median"), False),
    ("with names ms", ("named", "median"), False),
    ("cold ms", ("cold", "median"), False),
    ("warm ms p50", ("asked", "median"), False),
    ("p95", ("asked", "p95"), False),
    ("disk MB", ("ingest", "disk_mb"), False),
    ("peak MB", ("ingest", "peak_mb"), False),
    ("recall@5", ("quality", "recall@5"), True),
    ("hit@1", ("quality", "hit@1"), True),
    ("hit@5", ("quality", "hit@5"), True),
)
"""Name, place among the figures, and whether more is better."""


def value(tool: Mapping[str, Any], path: Sequence[str]) -> float:
    """Return a figure; NaN where there is none."""
    found: Any = tool
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, int | float) else math.nan


def shown(name: str, figure: float) -> str:
    if math.isnan(figure):
        return "-"
    if name.endswith("ms") or name in {"warm ms p50", "p95"}:
        return common.milliseconds(figure)
    return (
        f"{figure:,.1f}"
        if name in {"ingest s", "disk MB"}
        else f"{figure:,.0f}"
        if "MB" in name
        else f"{figure:.3f}"
    )


def table(measured: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    headers = ["tool", "notes", *(name for name, _, _ in COLUMNS), "silent", "kept"]
    rows = []
    for corpus in measured:
        for tool in corpus["tools"]:
            figures = [shown(name, value(tool, path)) for name, path, _ in COLUMNS]
            silent, kept = value(tool, ("quality", "silent")), value(tool, ("kept",))
            rows.append(
                [
                    f"{tool['name']} {tool['version']}",
                    corpus["corpus"],
                    *figures,
                    "-" if math.isnan(silent) else f"{silent:.2f}",
                    "-" if math.isnan(kept) else f"{kept:.0f}",
                ]
            )
    return headers, rows


def notes(measured: Sequence[Mapping[str, Any]], extent: Extent) -> list[str]:
    """Return what the table does not say: sizes, failures, and how far ours is from the best."""
    said = []
    for corpus in measured:
        name_of = corpus["corpus"]
        ours, others = corpus["tools"][0], corpus["tools"][1:]
        asked = value(ours, ("quality", "questions"))
        without = value(ours, ("quality", "without_answer"))
        size = f"{corpus['files']:,} files, {corpus['characters'] / 1e6:.1f} million characters"
        said += [
            f"{name_of}: {size}, {asked:.0f} questions with an answer, {without:.0f} without",
            f"{name_of}: cold: median of {extent.cold}; one more: {extent.more} memories of each sort",
        ]
        said += [f"{name_of}, {one['name']}: {one['failed']}" for one in corpus["tools"] if one["failed"]]
        said += [
            f"{name_of}, {name}: {compared(path, ours, others, more_is_better=better)}"
            for name, path, better in COLUMNS
        ]
        spent = [
            f"{one['name']} {value(one, ('ingest', 'embedding_seconds')):.0f} s for "
            f"{value(one, ('ingest', 'embedded')):,.0f} texts"
            for one in others
            if not math.isnan(value(one, ("ingest", "seconds")))
        ]
        said.append(
            f"{name_of}, of ingestion embedding, in the process that gives the vectors: {', '.join(spent)}"
        )
        peaks = [
            f"{one['name']} {value(one, ('ingest', 'own_peak_mb')):,.0f} MB"
            for one in corpus["tools"]
            if not math.isnan(value(one, ("ingest", "own_peak_mb")))
        ]
        said.append(f"{name_of}, of the peak in processes of its own: {', '.join(peaks)}")
    return said


def compared(
    path: Sequence[str],
    ours: Mapping[str, Any],
    others: Sequence[Mapping[str, Any]],
    *,
    more_is_better: bool,
) -> str:
    """Return how far ours is ahead of the best of the others, or behind it."""
    mine = value(ours, path)
    there = [(value(one, path), one["name"]) for one in others if not math.isnan(value(one, path))]
    if math.isnan(mine) or not there:
        return "nothing to compare"
    best, name = max(there) if more_is_better else min(there)
    if more_is_better:
        return f"{mine - best:+.3f} to the best of the others, {name}"
    ratio = best / mine if mine <= best else mine / best
    return f"{ratio:.1f} times {'less' if mine <= best else 'more'} than the best of the others, {name}"
