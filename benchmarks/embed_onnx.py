"""Compare the general ONNX engine with onnxruntime called by hand: tokens per processor second, and memory.

The models have real shapes and random weights: they are made here, and nothing is fetched. Both ways get the
same graph and the same texts, and take turns, each time in a process of its own, on one thread. By hand means
the tokenizer of the repository, one text at a time (batches are slower on one thread), and pooling in numpy.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common

sys.path.append(str(common.REPOSITORY / "tests" / "support"))

from embedding.worker import memory_mb
from tiny_models import CORPUS
from tiny_onnx import Size, make_folder, make_reranker

ROUNDS, QUICK_ROUNDS = 2, 1
SHORTEST, LONGEST = 10, 250
"""Words of a text."""
SEED = 25

CANDIDATES = 30
"""Texts that a reranker reads by default."""
QUESTION = "why did the deployment fail on the server when the disk was full"

SMALL = Size(words=30_522, width=384, layers=6, heads=12, key_heads=12, head=32, inner=1536, positions=512)
LARGE = Size(
    words=151_669, width=1024, layers=28, heads=16, key_heads=8, head=128, inner=3072, positions=32_768
)

Embed = Callable[[list[str]], Any]

MODELS = {
    "BERT of 22 million, float32": ("bert", SMALL, False, 60),
    "BERT of 22 million, int8": ("bert", SMALL, True, 60),
    "Qwen3 of 600 million, int8": ("qwen3", LARGE, True, 6),
}
"""Architecture, size, whether int8, and the number of texts."""


def make_texts(count: int) -> list[str]:
    """Return texts of random lengths from a few words."""
    chance = random.Random(SEED)
    words = " ".join(CORPUS).split()
    return [" ".join(chance.choices(words, k=chance.randint(SHORTEST, LONGEST))) for _ in range(count)]


def embed_by_hand(folder: Path) -> Embed:
    """Return a function that embeds with onnxruntime and tokenizers alone."""
    import numpy as np
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    path = str(folder / "onnx" / "model.onnx")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    last = (folder / "last").exists()

    def vector(ids: list[int]) -> Any:
        shape = (1, len(ids))
        feed = {
            "input_ids": np.array([ids]),
            "attention_mask": np.ones(shape, np.int64),
            "token_type_ids": np.zeros(shape, np.int64),
            "position_ids": np.arange(len(ids))[None],
        }
        for each in session.get_inputs():
            if each.name not in feed:
                feed[each.name] = np.zeros((1, each.shape[1], 0, each.shape[3]), np.float32)
        feed = {each.name: feed[each.name] for each in session.get_inputs()}
        hidden = session.run(["last_hidden_state"], feed)[0][0]
        pooled = hidden[-1] if last else hidden.mean(0)
        return pooled / np.linalg.norm(pooled)

    def embed(texts: list[str]) -> Any:
        return np.stack([vector(tokenizer.encode(text).ids) for text in texts])

    return embed


def embed_by_ragmem(folder: Path) -> Embed:
    """Return a function that embeds with ragmem's engine."""
    from ragmem.backends.onnx import open_models

    embedder = open_models({"model": str(folder), "threads": 1, "document_prefix": ""}).embedder
    return lambda texts: embedder.embed(texts, role="document")


def work(way: str, folder: Path, vectors: Path) -> None:
    """Embed the texts of a folder with a loaded model; print the seconds and the peak of memory."""
    import numpy as np

    texts = json.loads((folder / "texts.json").read_text())
    if way == "rerank":
        from ragmem.backends.onnx import open_models

        reranker = open_models({"reranker": str(folder), "threads": 1}).reranker
        assert reranker is not None
        reranker.score(QUESTION, texts[:1])
        began = time.process_time()
        reranker.score(QUESTION, texts)
        print(json.dumps({"cpu": time.process_time() - began}))
        return
    embed = {"by hand": embed_by_hand, "ragmem": embed_by_ragmem}[way](folder)
    embed(texts[:1])
    began, wall = time.process_time(), time.perf_counter()
    found = embed(texts)
    seconds = time.process_time() - began
    np.save(vectors, found)
    told = {"cpu": seconds, "wall": time.perf_counter() - wall, "peak_mb": memory_mb()["peak"]}
    print(json.dumps(told))


def measure(folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Return the least seconds and the most memory of both ways, and how near their vectors are."""
    import numpy as np

    found: dict[str, dict[str, float]] = {}
    for _ in range(rounds):
        for way in ("by hand", "ragmem"):
            vectors = folder / f"{way}.npy"
            command = [sys.executable, __file__, "--work", way, str(folder), str(vectors)]
            told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            best = found.setdefault(way, told)
            best["cpu"], best["peak_mb"] = (
                min(best["cpu"], told["cpu"]),
                max(best["peak_mb"], told["peak_mb"]),
            )
    one, other = (np.load(folder / f"{way}.npy") for way in ("by hand", "ragmem"))
    found["ragmem"]["cosine"] = float((one * other).sum(axis=1).min())
    return found


def main() -> None:
    """Make the models, measure, and report."""
    parser = common.arguments((__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work[0], Path(options.work[1]), Path(options.work[2]))
        return
    from tokenizers import Tokenizer

    document: dict[str, Any] = {"machine": common.machine(), "models": {}}
    rows = []
    for name, (kind, size, int8, count) in MODELS.items():
        if options.quick and size is LARGE:
            continue
        with common.temporary_folder("onnx") as folder:
            common.tell(f"making {name}")
            make_folder(folder, kind, size, int8=int8)
            texts = make_texts(count)
            (folder / "texts.json").write_text(json.dumps(texts))
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            tokens = sum(len(tokenizer.encode(text).ids) for text in texts)
            common.tell(f"measuring {name}: {count} texts, {tokens:,} tokens")
            found = measure(folder, QUICK_ROUNDS if options.quick else ROUNDS)
        speeds = {way: tokens / figures["cpu"] for way, figures in found.items()}
        document["models"][name] = {"tokens": tokens, "tokens_per_cpu_second": speeds, **found}
        rows.append(
            [
                name,
                f"{speeds['ragmem']:,.0f}",
                f"{speeds['by hand']:,.0f}",
                f"{speeds['ragmem'] / speeds['by hand']:.2f}",
                f"{found['ragmem']['cosine']:.4f}",
                f"{found['ragmem']['peak_mb']:,.0f} MB",
                f"{found['by hand']['peak_mb']:,.0f} MB",
            ]
        )
    with common.temporary_folder("onnx") as folder:
        make_reranker(folder, int8=True, size=SMALL)
        (folder / "texts.json").write_text(json.dumps(make_texts(CANDIDATES)))
        command = [sys.executable, __file__, "--work", "rerank", str(folder), ""]
        told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    document["rerank"] = {"candidates": CANDIDATES, **told}
    note = (
        f"a cross-encoder of six layers and 22 million parameters, int8, reads {CANDIDATES} such texts in"
        f" {told['cpu']:.1f} s of processor time"
    )
    headers = [
        "model with random weights",
        "tokens per CPU-second",
        "direct",
        "share",
        "lowest cosine of the two",
        "peak memory",
        "direct",
    ]
    common.report("embed_onnx", document, headers, rows, options=options, notes=[note])


if __name__ == "__main__":
    main()
