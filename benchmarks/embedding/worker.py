"""One embedder in a process of its own: requests are lines of JSON on stdin, answers are lines on stdout.

Runs in ragmem's environment or in that of the peers, so it imports nothing of the other scripts.
"""

import argparse
import ctypes
import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

WINDOW = 256
SENTENCE_TRANSFORMERS_BATCH = {True: 4, False: 8}
"""Texts a batch on one thread, and on more: the fastest of 1 to 64 on two cores.

It sorts by length itself; its default of 32 does 0.8 times as much.
"""
MLX_EMBEDDINGS_BATCH = 32

PEAK_SHAPES = ((1024, 384, 1152), (1024, 384, 384), (1024, 384, 1536), (1024, 1536, 384))
"""(rows, inputs, outputs) of the model's four matrices, for a full batch."""
PEAK_TURNS = 12

Embed = Callable[[Sequence[str], str], Any]


def bundled(engine: str, _model: str, threads: int) -> Embed:
    """Return ragmem's embedder on one of its engines."""
    from ragmem.backends.minilm import open_models

    embedder = open_models({"engine": engine, "threads": threads or None}).embedder
    return lambda texts, role: embedder.embed(texts, role=role)


def sentence_transformers(model: str, threads: int) -> Embed:
    """Return sentence-transformers' own way, on the original weights."""
    import torch
    from sentence_transformers import SentenceTransformer

    if threads:
        torch.set_num_threads(threads)
    loaded = SentenceTransformer(model, device="cpu")
    loaded.max_seq_length = WINDOW
    batch = SENTENCE_TRANSFORMERS_BATCH[threads == 1]
    return lambda texts, _role: loaded.encode(
        list(texts), batch_size=batch, normalize_embeddings=True, show_progress_bar=False
    )


def mlx_embeddings(model: str, _threads: int) -> Embed:
    """Return mlx-embeddings on the original weights; batches of texts of like length, as it has none."""
    if sys.platform == "linux":
        with suppress(OSError):  # the same help that ragmem gives MLX
            ctypes.CDLL("libopenblas.so.0", mode=ctypes.RTLD_GLOBAL)
    import numpy as np
    from mlx_embeddings import generate, load

    loaded, tokenizer = load(model)

    def embed(texts: Sequence[str], _role: str) -> Any:
        vectors = np.empty((len(texts), 384), np.float32)
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), MLX_EMBEDDINGS_BATCH):
            places = order[start : start + MLX_EMBEDDINGS_BATCH]
            output = generate(loaded, tokenizer, texts=[texts[at] for at in places], max_length=WINDOW)
            vectors[places] = np.array(output.text_embeds)
        return vectors

    return embed


def open_embedder(engine: str, model: str, threads: int) -> Embed:
    """Open an engine by name; 0 threads leaves their number to it."""
    if engine == "sentence-transformers":
        return sentence_transformers(model, threads)
    if engine == "mlx-embeddings":
        return mlx_embeddings(model, threads)
    return bundled(engine, model, threads)


def memory_mb() -> dict[str, float]:
    """Return the peak of resident memory, and what of it belongs to no file now, where the system tells."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {"peak": peak / (2**20 if sys.platform == "darwin" else 2**10)}
    fields = {"peak": "VmHWM", "anonymous": "RssAnon"}
    return {name: int(re.findall(rf"{field}:\s+(\d+)", status)[0]) / 1024 for name, field in fields.items()}


def float32_peak(engine: str) -> float:
    """Return the floating-point operations per second of this environment's matrix product, one thread.

    The best of several turns for each of the model's shapes, weighted as the model uses them.
    """
    operations = seconds = 0.0
    for rows, inputs, outputs in PEAK_SHAPES:
        if engine == "sentence-transformers":
            import torch

            torch.set_num_threads(1)
            left, right = torch.rand(rows, inputs), torch.rand(inputs, outputs)
            multiply: Any = torch.matmul
        else:
            from ragmem.backends.minilm.blas import import_numpy

            np = import_numpy()
            left = np.random.default_rng(1).random((rows, inputs), np.float32)
            right = np.random.default_rng(2).random((inputs, outputs), np.float32)
            multiply = np.matmul
        taken = []
        for _ in range(PEAK_TURNS):
            started = time.perf_counter()
            multiply(left, right)
            taken.append(time.perf_counter() - started)
        operations += 2 * rows * inputs * outputs
        seconds += min(taken)
    return operations / seconds


def answer(request: dict[str, Any], embed: Embed, engine: str) -> dict[str, Any]:
    """Carry out one request: vectors of the texts in a file, or the peak of the matrix product."""
    if request["do"] == "peak":
        return {"peak": float32_peak(engine)}
    texts = json.loads(Path(request["texts"]).read_text(encoding="utf-8"))[: request.get("to")]
    wall, cpu = time.perf_counter(), time.process_time()
    vectors = embed(texts, request.get("role", "document"))
    figures = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "memory": memory_mb()}
    if request.get("save"):
        import numpy as np

        np.save(request["save"], np.asarray(vectors, np.float32))
    return figures


def main() -> None:
    """Serve until stdin ends; with --first embed one question, say so, and end."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--engine", required=True)
    parser.add_argument("--model", default="", help="folder with the original model, for the peers")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--core", type=int, help="stay on this core")
    parser.add_argument("--first", metavar="QUESTION", help="embed this and end")
    options = parser.parse_args()
    if options.core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {options.core})
    # What libraries print (progress, advice) must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(value: dict[str, Any]) -> None:
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    try:
        embed = open_embedder(options.engine, options.model, options.threads)
        if options.first:
            embed([options.first], "query")
            say({"done": True})
            # As long as the parent's clock runs, do not also take down the interpreter.
            sys.stdin.readline()
            return
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent is to know
        say({"error": f"{type(error).__name__}: {error}"})
        return
    say({"ready": True})
    for line in sys.stdin:
        try:
            say(answer(json.loads(line), embed, options.engine))
        except Exception as error:  # noqa: BLE001 - whatever it is, the parent is to know
            say({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
