"""The output of peers.py: the table, and ragmem's ratio to each other tool."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import common
from peer_tools.measure import Extent

COLUMNS: Sequence[tuple[str, tuple[str, ...], str]] = (
    ("ingest s", ("ingest", "cpu_seconds"), "seconds"),
    ("first answers s", ("ingest", "first_cpu_seconds"), "seconds"),
    ("peak MB", ("ingest", "peak_mb"), "whole"),
    ("disk per byte", ("ingest", "disk_by_text"), "ratio"),
    ("one more ms", ("plain", "median"), "ms"),
    ("with names ms", ("named", "median"), "ms"),
    ("whole process ms", ("whole", "median"), "ms"),
    ("cold ms", ("cold", "median"), "ms"),
    ("warm ms p50", ("asked", "median"), "ms"),
    ("p95", ("asked", "p95"), "ms"),
    ("query MB", ("asking_mb",), "whole"),
    ("recall@5", ("quality", "recall@5"), "share"),
    ("hit@1", ("quality", "hit@1"), "share"),
    ("hit@5", ("quality", "hit@5"), "share"),
    ("silent", ("quality", "silent"), "share"),
    ("kept", ("kept",), "whole"),
)
"""Name, place among the figures, and how it is shown; seconds and milliseconds are the processor's."""

DIGITS = {"seconds": 1, "ratio": 1, "whole": 0, "share": 3}


def value(tool: Mapping[str, Any], path: Sequence[str]) -> float:
    """Return a figure; NaN where there is none."""
    found: Any = tool
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, int | float) else math.nan


def shown(figure: float, how: str) -> str:
    if math.isnan(figure):
        return "-"
    if how == "ms":
        return common.milliseconds(figure)
    return f"{figure:,.{DIGITS[how]}f}"


def table(measured: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    rows = [
        [
            f"{tool['name']} {tool['version']}",
            corpus["corpus"],
            *(shown(value(tool, path), how) for _, path, how in COLUMNS),
        ]
        for corpus in measured
        for tool in corpus["tools"]
    ]
    return ["tool", "notes", *(name for name, _, _ in COLUMNS)], rows


def notes(measured: Sequence[Mapping[str, Any]], extent: Extent) -> list[str]:
    """Return what the table does not say: sizes, failures, times by the clock, ours by each other tool."""
    said = [
        "s and ms: median processor time, user plus system, of all processes of a tool",
        f"runs: ingest {extent.rounds}; one more, with names {extent.more}; new processes {extent.cold}",
    ]
    for corpus in measured:
        name, ours = corpus["corpus"], corpus["tools"][0]
        asked = value(ours, ("quality", "questions"))
        without = value(ours, ("quality", "without_answer"))
        said.append(
            f"{name}: {corpus['files']:,} files, {corpus['bytes'] / 1e6:.2f} MB of text, "
            f"{asked:.0f} questions with an answer, {without:.0f} without"
        )
        for one in corpus["tools"]:
            if one["failed"]:
                said.append(f"{name}, {one['name']}: {one['failed']}")
            if "by_words" in one:
                first = ", ".join(f"{what} {one['by_words'][what]:.3f}" for what in ("recall@5", "hit@5"))
                said.append(f"{name}, {one['name']}: first answers, by words alone: {first}")
        said += [
            f"{name}: ragmem / {one['name']} (difference for shares): {by(ours, one)}"
            for one in corpus["tools"][1:]
            if by(ours, one)
        ]
        wall = [
            f"{one['name']} {value(one, ('ingest', 'seconds')):,.1f} s and "
            f"{common.milliseconds(value(one, ('asked_seconds', 'median')))} ms"
            for one in corpus["tools"]
            if "asked_seconds" in one
        ]
        said.append(f"{name}, wall time of ingestion and of a warm question: {', '.join(wall)}")
    return said


def by(ours: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return our costs as multiples of another tool's, and our quality less its."""
    found = []
    for name, path, how in COLUMNS:
        mine, its = value(ours, path), value(other, path)
        if math.isnan(mine) or math.isnan(its) or name == "kept":
            continue
        if how == "share":
            found.append(f"{name} {mine - its:+.3f}")
        elif its:
            found.append(f"{name} {mine / its:.2f}")
    return ", ".join(found)
