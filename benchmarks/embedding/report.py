"""The results of benchmarks/embed.py as a table and notes: targets, and each engine's share of the limit."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import common
from embedding.limits import attention_operations, matrix_operations

from ragmem.backends.minilm.weights import WINDOW

YARDSTICK = "sentence-transformers"
"""The engine that the others are measured by; its vectors are the float32 reference."""

TARGETS = {"numpy": 0.8, "onnx": 1.5}
FIRST_TARGET, RECALL_TARGET = 0.1, 0.005


@dataclass(slots=True)
class Figures:
    """All that was measured of one engine; speeds in tokens per second, one value a round."""

    one_core: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    all_cores: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    memory: dict[str, float] = field(default_factory=dict)
    fidelity: dict[str, float] = field(default_factory=dict)
    left_out: str = ""

    def plain(self) -> dict[str, Any]:
        """Return everything for the JSON file."""
        return {
            "one_core": self.one_core,
            "per_processor_second": self.processor,
            "all_cores": self.all_cores,
            "first": common.spread(self.first),
            "memory": self.memory,
            "fidelity": self.fidelity,
            "left_out": self.left_out,
        }


HEADERS = [
    "engine",
    "tok/s one core",
    "x",
    "CPU",
    "x",
    "all cores",
    "x",
    "first vector ms min",
    "median",
    "x",
    "peak MB",
    "cosine mean",
    "min",
    "top-10",
    "recall@10",
    "of the limit",
]


def row(engine: str, results: Mapping[str, Figures], limits: Mapping[str, float]) -> list[str]:
    """Return the figures of one engine for the table."""
    figures, base = results[engine], results.get(YARDSTICK, Figures())
    fidelity = figures.fidelity

    def times(own: Sequence[float], other: Sequence[float], *, digits: int = 2) -> str:
        shown = statistics.median(own) / statistics.median(other) if own and other else math.nan
        return "-" if math.isnan(shown) else f"{shown:.{digits}f}"

    def value(name: str, digits: int) -> str:
        return f"{fidelity[name]:.{digits}f}" if name in fidelity else "-"

    first = common.spread(figures.first)
    share = statistics.median(figures.processor) / limits[engine] if engine in limits else math.nan
    return [
        engine,
        f"{statistics.median(figures.one_core):,.0f}",
        times(figures.one_core, base.one_core),
        f"{statistics.median(figures.processor):,.0f}",
        times(figures.processor, base.processor),
        f"{statistics.median(figures.all_cores):,.0f}",
        times(figures.all_cores, base.all_cores),
        common.milliseconds(first["min"]),
        common.milliseconds(first["median"]),
        times(figures.first, base.first, digits=3),
        f"{figures.memory.get('peak', math.nan):,.0f}",
        value("cosine_mean", 5),
        value("cosine_min", 4),
        value("top10_overlap", 3),
        value("recall", 4),
        "-" if math.isnan(share) else f"{share:.0%}",
    ]


def verdicts(results: Mapping[str, Figures], limits: Mapping[str, float]) -> list[str]:
    """Return for each target whether it holds, and where it does not, what the limit is."""
    base = results.get(YARDSTICK)
    if base is None or base.left_out:
        return ["no targets were checked, as they are relative to sentence-transformers"]
    lines = []
    for engine, least in TARGETS.items():
        figures = results.get(engine)
        if figures is None or figures.left_out:
            continue
        speed = statistics.median(figures.all_cores) / statistics.median(base.all_cores)
        first = statistics.median(figures.first) / statistics.median(base.first)
        line = f"{engine}: throughput on all cores {speed:.2f}x ({'met' if speed >= least else 'NOT met'}: "
        line += f"{least}x), first vector {first:.3f}x ({'met' if first <= FIRST_TARGET else 'NOT met'}: "
        line += f"{FIRST_TARGET}x)"
        if "recall" in figures.fidelity and "recall" in base.fidelity:
            lost = base.fidelity["recall"] - figures.fidelity["recall"]
            fair = "met" if lost <= RECALL_TARGET else "NOT met"
            line += f", recall@10 {-lost:+.4f} ({fair}: within {RECALL_TARGET})"
        else:
            line += ", recall@10 not judged: an engine was too slow for all texts"
        if speed < least and engine in limits:
            line += f"; its matrices alone would allow {limits[engine]:,.0f} tokens/s on one core"
        lines.append(line)
    return lines


def notes_of(
    results: Mapping[str, Figures],
    counts: Sequence[int],
    peaks: Mapping[str, float],
    limits: Mapping[str, float],
    sets: Sequence[tuple[str, int]],
) -> list[str]:
    """Return what the columns mean, the limit, and whether the targets hold."""
    attention = attention_operations(counts)
    embedded = [f"{engine} {int(figures.fidelity['texts']):,}" for engine, figures in results.items()]
    rates = [f"{engine} {peak / 1e9:,.0f}" for engine, peak in peaks.items()]
    reachable = [f"{engine} {limit:,.0f}" for engine, limit in limits.items()]
    mean = statistics.fmean(counts)
    notes = [
        f"""tok/s: medians of interleaved rounds over the same {len(counts)} chunks of
        documents (mean: {mean:.0f} tokens); x: times {YARDSTICK}; CPU: tokens per second
        of processor time, which depends less on other load""",
        "first vector: from the start of a new process to a question's vector, with files in the page cache",
        f"""cosine, top-10: compared with {YARDSTICK} in float32; number of documents and questions:
        {", ".join(embedded)}; documents are read up to {WINDOW} tokens""",
        f"""recall@10: mean of {", ".join(f"{name} ({asked} questions)" for name, asked in sets)}; omitted if
        an engine is too slow for all of them; memory: peak of the process that embedded them on all cores""",
        f"""limit: {(matrix_operations() + attention) / 1e6:.1f} million operations a token,
        {attention / 1e6:.1f} of them attention; best rate of one core for the model's matrix products, in
        billion operations a second: {", ".join(rates)} (onnx: int8, including quantisation); with nothing
        else to do this would be, in tokens/s: {", ".join(reachable)}""",
        *verdicts(results, limits),
    ]
    return [" ".join(note.split()) for note in notes]
