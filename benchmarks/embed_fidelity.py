"""Compare the engines of the bundled model with the original float32 weights: fidelity, speed, start-up."""

import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import common
import numpy as np
from inputs.real_texts import sentences

from ragmem.backends.minilm import MiniLmEmbedder
from ragmem.backends.minilm.embedder import FOLDER
from ragmem.backends.minilm.weights import WINDOW
from ragmem.backends.minilm.wordpiece import WordPiece, read_vocabulary
from ragmem.errors import BackendError

sys.path.append(str(common.REPOSITORY / "scripts"))

from minilm_reference import fetch_original, reference_vectors

ENGINES = ("numpy", "onnx", "mlx")
COUNT, QUICK_COUNT = 500, 50
LEAST_COUNT = 50
"""Sentences that even a slow engine gets."""
PATIENCE = 60.0
"""Seconds that one engine may take for the sentences; a slow one gets fewer of them."""
SPEED_SECONDS, QUICK_SPEED_SECONDS = 4.0, 1.0
STARTS, QUICK_STARTS = 9, 3
QUESTION = "how do I rotate the API key of the staging server?"
LEAST_COSINE = {"numpy": 0.999, "mlx": 0.999, "onnx": 0.98}

FIRST_VECTOR = """
import time; started = time.perf_counter()
from ragmem.backends.minilm import open_models
embedder = open_models({{"engine": "{engine}"}}).embedder
vector = embedder.embed(["{question}"], role="query")
print(time.perf_counter() - started)
"""


def first_vector(engine: str, times: int) -> dict[str, float]:
    """Return the seconds from a started interpreter to a question's vector, imports included."""
    code = FIRST_VECTOR.format(engine=engine, question=QUESTION)
    command = [sys.executable, "-c", code]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True, cwd=common.REPOSITORY)
        for _ in range(times)
    ]
    return common.spread([float(run.stdout) for run in runs])


def speed(embedder: MiniLmEmbedder, texts: list[str], counts: list[int], seconds: float) -> dict[str, float]:
    """Return tokens per second of wall time, of processor time, and the milliseconds of a question."""
    embedder.embed(texts[:8], role="document")
    best = {"wall": 0.0, "cpu": 0.0}
    started, rounds, width = time.perf_counter(), 0, 8
    while rounds < 3 or time.perf_counter() - started < seconds:
        wall, cpu = time.perf_counter(), time.process_time()
        embedder.embed(texts[:width], role="document")
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        best["wall"] = max(best["wall"], sum(counts[:width]) / wall)
        best["cpu"] = max(best["cpu"], sum(counts[:width]) / cpu)
        rounds += 1
        if wall < seconds / 4:  # all of them, unless that takes too long
            width = min(len(texts), width * 4)
    return best


def question_seconds(embedder: MiniLmEmbedder) -> dict[str, float]:
    """Return the seconds of a question in a warm process; each is a new one, so none is remembered."""
    taken = []
    for number in range(12):
        started = time.perf_counter()
        embedder.embed([f"{QUESTION} {number}"], role="query")
        taken.append(time.perf_counter() - started)
    return common.spread(taken)


def neighbours(vectors: Any, *, nearest: int = 10) -> list[set[int]]:
    """Return the nearest other rows of each row."""
    scores = vectors @ vectors.T
    np.fill_diagonal(scores, -math.inf)
    return [set(row) for row in np.argsort(-scores, axis=1)[:, :nearest].tolist()]


def measure(
    engine: str, texts: list[str], counts: list[int], reference: Any, *, quick: bool
) -> dict[str, Any]:
    """Return all figures of one engine; raise BackendError where it is not installed."""
    seconds = QUICK_SPEED_SECONDS if quick else SPEED_SECONDS
    result: dict[str, Any] = {"first_vector": first_vector(engine, QUICK_STARTS if quick else STARTS)}
    single = MiniLmEmbedder(engine=engine, threads=1)
    result["question"] = question_seconds(single)
    for threads in (1, 2):
        embedder = single if threads == 1 else MiniLmEmbedder(engine=engine, threads=2)
        result[f"threads_{threads}"] = speed(embedder, texts, counts, seconds)
        embedder.close()
    tokens = sum(counts)
    count = len(texts)
    if tokens / result["threads_1"]["wall"] > PATIENCE:
        count = max(LEAST_COUNT, int(count * PATIENCE * result["threads_1"]["wall"] / tokens))
    vectors = single.embed(texts[:count], role="document")
    cosines = (vectors * reference[:count]).sum(axis=1)
    overlaps = [
        len(found & wanted) / len(wanted)
        for found, wanted in zip(neighbours(vectors), neighbours(reference[:count]), strict=True)
    ]
    alone = np.concatenate([single.embed([text], role="document") for text in texts[:10]])
    single.close()
    result |= {
        "sentences": count,
        "cosine_mean": float(cosines.mean()),
        "cosine_p1": float(np.quantile(cosines, 0.01)),
        "cosine_min": float(cosines.min()),
        "worst": texts[int(cosines.argmin())],
        "top10_overlap": float(np.mean(overlaps)),
        "batch_difference": float(np.abs(alone - vectors[:10]).max()),
        "met": bool(cosines.min() >= LEAST_COSINE[engine]),
    }
    return result


def row(engine: str, result: dict[str, Any]) -> list[str]:
    """Return the figures of one engine for the table."""
    one, two = result["threads_1"], result["threads_2"]
    return [
        engine,
        str(result["sentences"]),
        f"{result['cosine_mean']:.5f}",
        f"{result['cosine_min']:.5f}",
        "yes" if result["met"] else "NO",
        f"{result['top10_overlap']:.3f}",
        f"{result['batch_difference']:.0e}",
        f"{one['cpu']:,.0f}",
        f"{one['wall']:,.0f}",
        f"{two['wall']:,.0f}",
        common.milliseconds(result["question"]["min"]),
        common.milliseconds(result["first_vector"]["min"]),
        common.milliseconds(result["first_vector"]["median"]),
    ]


def main() -> int:
    parser = common.arguments(__doc__.splitlines()[0], data="../shared/corpus")
    parser.add_argument("--original", type=Path, metavar="WHEEL", help="the wheel of the original, if here")
    parser.add_argument("--engines", default=",".join(ENGINES), help="which engines, separated by commas")
    options = parser.parse_args()
    about = common.machine()
    texts = sentences(options.data, QUICK_COUNT if options.quick else COUNT)
    tokenizer = WordPiece(read_vocabulary(FOLDER / "vocab.txt"))
    encoded = [tokenizer.encode(text, limit=WINDOW) for text in texts]
    counts = list(map(len, encoded))
    common.tell(f"the original's vectors of {len(texts)} sentences, {sum(counts):,} tokens")
    reference = reference_vectors(fetch_original(options.original), encoded)
    results = {}
    for engine in options.engines.split(","):
        common.tell(f"engine {engine}")
        try:
            results[engine] = measure(engine, texts, counts, reference, quick=options.quick)
        except (BackendError, subprocess.CalledProcessError) as error:
            common.tell(f"left out: {error}")
    document = {"benchmark": "embed_fidelity", "machine": about, "tokens": sum(counts), "engines": results}
    headers = ["engine", "sentences", "cosine mean", "min", "met", "top-10", "batch", "tok/CPU-s"]
    headers += ["tok/s 1 thread", "2 threads", "question ms", "first ms min", "median"]
    notes = [
        "cosine and top-10: compared with the original float32 weights, computed in float64 with exact erf",
        "met: the lowest cosine is at least "
        + ", ".join(f"{least} ({engine})" for engine, least in LEAST_COSINE.items()),
        "batch: largest difference in a component between a text embedded alone and in a batch",
        "first: from the started interpreter to a question's vector, with files in the page cache",
    ]
    rows = [row(engine, result) for engine, result in results.items()]
    common.report("embed_fidelity", document, headers, rows, options=options, notes=notes)
    return 0 if all(result["met"] for result in results.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
