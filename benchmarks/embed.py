"""Compare embedders of the same model in one run: throughput, first vector, memory, fidelity, the limit.

ragmem's three engines, sentence-transformers on PyTorch and mlx-embeddings, each in a process of its own,
take turns on the same texts. The last two live in an environment of their own, which is made where --peers
names none that is complete.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
from embedding.limits import attention_operations, int8_peak, matrix_operations
from embedding.peers import PEERS, original_model, prepare
from embedding.report import HEADERS, YARDSTICK, Figures, notes_of, row
from embedding.sets import QUICK_SETS, SEED, SETS, neighbours, read_sets, recall, texts_of
from inputs.retrieval_sets import DEPTH, RetrievalSet

from ragmem.backends.minilm.embedder import FOLDER
from ragmem.backends.minilm.weights import WINDOW
from ragmem.backends.minilm.wordpiece import WordPiece, read_vocabulary
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.text.chunking import chunk

ENGINES = ("numpy", "onnx", "mlx", *PEERS)


TEXTS = 400
ROUNDS, QUICK_ROUNDS = 5, 2
ROUND_SECONDS, QUICK_ROUND_SECONDS = 2.0, 0.5
"""What the slice of a round may take; a slow engine gets a shorter slice of the same texts."""
LEAST_SLICE = 2
SLOW_ROUNDS = 1
"""Rounds of an engine whose least slice takes longer than it should."""
STARTS, QUICK_STARTS = 5, 2
PATIENCE, QUICK_PATIENCE = 150.0, 30.0
"""Seconds of fidelity that one engine may take. One that would take longer embeds what it can in
SAMPLE_SECONDS, and has no recall."""
SAMPLE_SECONDS = 20.0

QUESTION = "how do I rotate the API key of the staging server?"


class EngineError(Exception):
    """An engine is not installed, or failed."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Which interpreter runs an engine, and where the peers' model lies."""

    peers: Path | None
    model: Path | None

    def command(self, engine: str, *words: str) -> list[str]:
        """Return the command line of an engine's process."""
        python = str(self.peers) if engine in PEERS else sys.executable
        worker = str(Path(__file__).with_name("embedding") / "worker.py")
        return [python, worker, "--engine", engine, "--model", str(self.model or ""), *words]


class Worker:
    """The process of one engine."""

    def __init__(self, environment: Environment, engine: str, *, threads: int, core: int | None) -> None:
        words = ["--threads", str(threads), *([] if core is None else ["--core", str(core)])]
        self.engine = engine
        self.process = start(environment.command(engine, *words))
        self.hear()

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and return its answer; raise EngineError when the engine fails."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.hear()

    def hear(self) -> dict[str, Any]:
        """Return the next answer; raise EngineError when it is none."""
        return hear(self.process, self.engine)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def start(command: Sequence[str]) -> subprocess.Popen[str]:
    """Start an engine's process; none may look for a model in the network."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(common.REPOSITORY)}
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )


def hear(process: subprocess.Popen[str], engine: str) -> dict[str, Any]:
    """Return the next answer of a process; raise EngineError when it is none."""
    assert process.stdout is not None
    line = process.stdout.readline()
    found: dict[str, Any] = json.loads(line) if line else {"error": "its process ended"}
    if "error" in found:
        process.kill()
        process.wait()
        raise EngineError(f"{engine}: {found['error']}")
    return found


def measure_first(environment: Environment, results: Mapping[str, Figures], rounds: int) -> None:
    """Time new processes from their start to a question's vector, the engines taking turns."""
    for turn in range(rounds + 1):
        for engine, figures in results.items():
            if figures.left_out:
                continue
            command = environment.command(engine, "--first", QUESTION)
            started = time.perf_counter()
            process = start(command)
            try:
                hear(process, engine)
            except EngineError as error:
                figures.left_out = str(error)
                continue
            taken = time.perf_counter() - started
            process.communicate("\n")
            if turn:  # the first one fills the page cache and writes byte code
                figures.first.append(taken)


def measure_speed(
    environment: Environment,
    results: Mapping[str, Figures],
    texts: Path,
    counts: Sequence[int],
    *,
    cores: int,
    alone: bool,
    rounds: int,
    seconds: float,
) -> None:
    """Time slices of the same texts on one core or on all, the engines taking turns in changing order."""
    workers: dict[str, Worker] = {}
    core = max(os.sched_getaffinity(0)) if alone and hasattr(os, "sched_getaffinity") else None
    for engine, figures in results.items():
        if figures.left_out:
            continue
        try:
            workers[engine] = Worker(environment, engine, threads=1 if alone else cores, core=core)
            workers[engine].ask(do="embed", texts=str(texts), to=1)
        except EngineError as error:
            figures.left_out = str(error)
            workers.pop(engine, None)
    sizes = dict.fromkeys(workers, LEAST_SLICE)
    slow: set[str] = set()
    order = list(workers)
    for turn in range(rounds + 1 if order else 0):
        for engine in order[turn % len(order) :] + order[: turn % len(order)]:
            figures = results[engine]
            if figures.left_out or (engine in slow and turn > SLOW_ROUNDS):
                continue
            size = sizes[engine]
            try:
                answer = workers[engine].ask(do="embed", texts=str(texts), to=size)
            except EngineError as error:
                figures.left_out = str(error)
                continue
            if turn:
                tokens = sum(counts[:size])
                (figures.one_core if alone else figures.all_cores).append(tokens / answer["wall"])
                if alone:
                    figures.processor.append(tokens / answer["cpu"])
            fits = int(size * seconds / answer["wall"])
            if fits < LEAST_SLICE:
                slow.add(engine)
            sizes[engine] = max(LEAST_SLICE, min(len(counts), fits))
    for worker in workers.values():
        worker.close()


def measure_fidelity(
    environment: Environment,
    results: Mapping[str, Figures],
    sets: Sequence[RetrievalSet],
    folder: Path,
    *,
    cores: int,
    patience: float,
    shuffled: Sequence[int],
) -> None:
    """Embed the sets with each engine and compare with the yardstick's vectors; also its peak memory.

    An engine too slow for all embeds as many as its patience allows, drawn at random, and has no recall.
    """
    texts = texts_of(sets)
    mixed = [texts[place] for place in shuffled]
    path, out = folder / "sets.json", folder / "vectors.npy"
    path.write_text(json.dumps(mixed), encoding="utf-8")
    back = np.argsort(np.asarray(shuffled))
    reference = None
    for engine in sorted(results, key=lambda name: name != YARDSTICK):
        figures = results[engine]
        if figures.left_out:
            continue
        common.tell(f"fidelity of {engine}")
        try:
            worker = Worker(environment, engine, threads=cores, core=None)
            worker.ask(do="embed", texts=str(path), to=1)
            trial = worker.ask(do="embed", texts=str(path), to=LEAST_SLICE * 2)
            rate = LEAST_SLICE * 2 / trial["wall"]
            count = len(mixed)
            if rate * patience < count:
                count = max(LEAST_SLICE * 4, int(rate * SAMPLE_SECONDS))
            answer = worker.ask(do="embed", texts=str(path), to=count, save=str(out))
        except EngineError as error:
            figures.left_out = str(error)
            continue
        worker.close()
        vectors = np.load(out)
        figures.memory = answer["memory"]
        if engine == YARDSTICK:
            reference = vectors
        if count == len(mixed):
            figures.fidelity = {
                f"recall {name}": value for name, value in recall(sets, vectors[back]).items()
            }
            figures.fidelity["recall"] = statistics.fmean(figures.fidelity.values())
        figures.fidelity["texts"] = count
        both = 0 if reference is None else min(count, len(reference))
        if reference is not None and both > DEPTH:
            cosines = (vectors[:both] * reference[:both]).sum(axis=1)
            shared = [
                len(ours & theirs) / DEPTH
                for ours, theirs in zip(neighbours(vectors[:both]), neighbours(reference[:both]), strict=True)
            ]
            figures.fidelity |= {
                "cosine_mean": float(cosines.mean()),
                "cosine_min": float(cosines.min()),
                "top10_overlap": statistics.fmean(shared),
            }


def measure_peaks(environment: Environment, results: Mapping[str, Figures]) -> dict[str, float]:
    """Return operations per second on one core: numpy's matrix product, torch's, onnxruntime's int8."""
    core = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    peaks = {}
    for engine in ("numpy", YARDSTICK):
        if engine in results and not results[engine].left_out:
            worker = Worker(environment, engine, threads=1, core=core)
            peaks[engine] = worker.ask(do="peak")["peak"]
            worker.close()
    int8 = int8_peak()
    if int8 is not None:
        peaks["onnx"] = int8
    return peaks


def main() -> int:
    parser = common.arguments((__doc__ or "").partition("\n")[0], data="../shared/eval")
    parser.add_argument(
        "--peers",
        type=Path,
        metavar="DIR",
        default=Path(tempfile.gettempdir(), "ragmem-peers"),
        help="environment of the other embedders, made there if need be (2 GB); default %(default)s",
    )
    parser.add_argument("--without-peers", action="store_true", help="measure only ragmem's own engines")
    parser.add_argument("--original", type=Path, metavar="WHEEL", help="the wheel of the original, if here")
    parser.add_argument("--engines", default=",".join(ENGINES), help="which engines, separated by commas")
    options = parser.parse_args()
    wanted = [
        engine for engine in options.engines.split(",") if not (options.without_peers and engine in PEERS)
    ]
    environment = Environment(None, None)
    if any(engine in PEERS for engine in wanted):
        python = prepare(options.peers)
        environment = Environment(python, original_model(options.peers, options.original))
    about = common.machine()
    with common.temporary_folder("embed") as folder:
        return run(options, wanted, environment, about, folder)


def run(
    options: argparse.Namespace,
    wanted: Sequence[str],
    environment: Environment,
    about: Mapping[str, Any],
    folder: Path,
) -> int:
    """Measure everything and report it; return 0 when at least one engine worked."""
    quick, cores = options.quick, common.available_cores()
    sets = read_sets(options.data, QUICK_SETS if quick else SETS)
    tokenizer = WordPiece(read_vocabulary(FOLDER / "vocab.txt"))
    parts = [
        part.text
        for chosen in sets
        for draft in chosen.drafts
        for part in chunk(draft.text, memory_id="", redactor=DEFAULT)
    ]
    texts = random.Random(SEED).sample(parts, min(TEXTS, len(parts)))
    counts = [len(tokenizer.encode(text, limit=WINDOW)) for text in texts]
    path = folder / "texts.json"
    path.write_text(json.dumps(texts), encoding="utf-8")
    results = {engine: Figures() for engine in wanted}
    common.tell(f"first vectors, {len(texts)} texts of {statistics.fmean(counts):.0f} tokens for the rest")
    measure_first(environment, results, QUICK_STARTS if quick else STARTS)
    for alone in (True, False):
        common.tell(f"throughput on {'one core' if alone else f'all cores ({cores})'}")
        measure_speed(
            environment,
            results,
            path,
            counts,
            cores=cores,
            alone=alone,
            rounds=QUICK_ROUNDS if quick else ROUNDS,
            seconds=QUICK_ROUND_SECONDS if quick else ROUND_SECONDS,
        )
    shuffled = random.Random(SEED).sample(range(count := len(texts_of(sets))), count)
    patience = QUICK_PATIENCE if quick else PATIENCE
    measure_fidelity(environment, results, sets, folder, cores=cores, patience=patience, shuffled=shuffled)
    peaks = measure_peaks(environment, results)
    for figures in results.values():
        if figures.left_out:
            common.tell(f"left out: {figures.left_out}")
    working = {engine: figures for engine, figures in results.items() if not figures.left_out}
    operations = matrix_operations() + attention_operations(counts)
    limits = {engine: peak / operations for engine, peak in peaks.items()}
    document = {
        "benchmark": "embed",
        "machine": about,
        "texts": {"count": len(texts), "tokens": sum(counts)},
        "operations_per_token": {"matrices": matrix_operations(), "attention": attention_operations(counts)},
        "peaks": peaks,
        "limits": limits,
        "engines": {engine: figures.plain() for engine, figures in results.items()},
    }
    notes = notes_of(working, counts, peaks, limits, [(chosen.name, len(chosen.queries)) for chosen in sets])
    rows = [row(engine, working, limits) for engine in working]
    common.report("embed", document, HEADERS, rows, options=options, notes=notes)
    return 0 if working else 1


if __name__ == "__main__":
    raise SystemExit(main())
