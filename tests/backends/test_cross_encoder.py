"""A local reranker: a cross-encoder of BERT's kind in numpy, beside MLX's BERT on the same weights."""

import json
import shutil
import struct

import numpy as np
import pytest

from ragmem.backends import minilm
from ragmem.backends.minilm.cross_encoder import CrossEncoder, _Network, read_tensors
from ragmem.errors import BackendError

QUESTION = "why did the deployment fail"
TEXTS = ["the disk was full", "bread rises slowly", "", "deployment " * 600]


def save(path, tensors):
    """Write tensors as safetensors does."""
    header, body = {}, b""
    for name, values in tensors.items():
        data = values.tobytes()
        kind = {"float32": "F32", "float16": "F16", "int64": "I64"}[values.dtype.name]
        header[name] = {
            "dtype": kind,
            "shape": list(values.shape),
            "data_offsets": [len(body), len(body) + len(data)],
        }
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


@pytest.fixture
def folder(tiny_models, tmp_path):
    """A tiny cross-encoder: the tiny BERT with a head."""
    made = tmp_path / "tiny-ranker"
    shutil.copytree(tiny_models.bert, made)
    tensors = {f"bert.{name}": values for name, values in read_tensors(made / "model.safetensors").items()}
    width = tensors["bert.pooler.dense.bias"].shape[0]
    chance = np.random.default_rng(1)
    tensors["classifier.weight"] = chance.normal(size=(1, width)).astype(np.float32)
    tensors["classifier.bias"] = np.array([0.25], np.float32)
    tensors["bert.embeddings.position_ids"] = np.arange(4, dtype=np.int64)
    save(made / "model.safetensors", tensors)
    return made


def change(folder, **tensors):
    path = folder / "model.safetensors"
    save(path, {**read_tensors(path), **tensors})


def test_each_pair_has_a_score_of_its_own(folder):
    models = minilm.open_models({"reranker": str(folder)})
    scores = models.reranker.score(QUESTION, TEXTS)
    assert scores.shape == (4,)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()
    assert len(set(scores.tolist())) == 4
    backwards = models.reranker.score(QUESTION, TEXTS[::-1])
    assert backwards[::-1].tolist() == scores.tolist()
    assert models.reranker.score(QUESTION, []).shape == (0,)
    assert models.check() == []
    models.close()


def test_question_and_text_are_told_apart(folder):
    ranker = CrossEncoder(folder)
    one, other = ranker.score("disk full", ["bread"])[0], ranker.score("bread", ["disk full"])[0]
    assert one != other


def test_the_hidden_states_are_those_that_mlx_computes(folder, tiny_models):
    mx = pytest.importorskip("mlx.core")
    from ragmem.backends.mlx import device
    from ragmem.backends.mlx.description import describe
    from ragmem.backends.mlx.encoder import Encoder
    from ragmem.backends.mlx.options import read_options

    ids = [2, 17, 33, 150, 8, 3]

    def compute():
        encoder = Encoder(describe(tiny_models.bert, "bert", read_options({"pooling": "cls"})))
        return np.array(encoder(mx.array([ids]), mx.array([len(ids)])))[0]

    expected = device.run(compute)
    found = _Network(folder).hidden_states(ids, [0] * len(ids))[0]
    assert np.abs(found - expected).max() < 5e-4


def test_halves_of_numbers_are_read_as_well(folder):
    before = CrossEncoder(folder).score(QUESTION, TEXTS)
    path = folder / "model.safetensors"
    save(path, {name: values.astype(np.float16) for name, values in read_tensors(path).items()})
    assert np.abs(CrossEncoder(folder).score(QUESTION, TEXTS) - before).max() < 0.05


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "model.safetensors"])
def test_a_file_that_is_missing_is_named(folder, name):
    (folder / name).unlink()
    ranker = CrossEncoder(folder)
    assert [name in line for line in ranker.find_problems()] == [True]
    with pytest.raises(BackendError, match=name):
        ranker.score(QUESTION, TEXTS)


@pytest.mark.parametrize("content", [b"", b"\x01", b"\xff" * 40, struct.pack("<Q", 2) + b"{}"])
def test_weights_that_are_none_are_refused(folder, content):
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(BackendError, match="does not load as a cross-encoder"):
        CrossEncoder(folder).score(QUESTION, TEXTS)


def test_a_model_with_several_labels_is_refused(folder):
    change(
        folder,
        **{"classifier.weight": np.zeros((2, 64), np.float32), "classifier.bias": np.zeros(2, np.float32)},
    )
    with pytest.raises(BackendError, match="exactly one label"):
        CrossEncoder(folder).score(QUESTION, TEXTS)


def test_a_vocabulary_of_another_model_is_refused(folder):
    with (folder / "vocab.txt").open("a") as file:
        file.write("one\ntoo\nmany\n" * 300)
    with pytest.raises(BackendError, match="its vocabulary has"):
        CrossEncoder(folder).score(QUESTION, TEXTS)
