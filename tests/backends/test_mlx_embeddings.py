"""Embedding models on MLX: any model of a known family, by its folder or its name on the hub."""

import json
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from tiny_models import BITS, HEADS, LAYERS, WIDTH, WINDOW, make_bert, quantized
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from ragmem.backends import minilm, mlx
from ragmem.backends.mlx import device
from ragmem.backends.mlx.decoder import import_alone
from ragmem.backends.mlx.description import DECODERS, INSTRUCTION
from ragmem.backends.mlx.embedder import bucket
from ragmem.backends.mlx.numerics import unit
from ragmem.errors import BackendError, ConfigError
from ragmem.testing import ModelsContract

# Not importorskip: mlx-lm takes seconds, and mlx is slow where it is imported before ragmem chose its BLAS.
if find_spec("mlx") is None or find_spec("mlx_lm") is None:
    pytest.skip("mlx and mlx-lm are not installed", allow_module_level=True)

TEXTS = ["a full disk", "", "the server failed because the disk of the deployment was full", "x"]


class TinyContract(ModelsContract):
    @pytest.fixture(autouse=True)
    def _models(self, tiny_models):
        self.folder = getattr(tiny_models, self.model)

    def open_models(self):
        return mlx.open_models({"model": str(self.folder)})


class TestDecoder(TinyContract):
    model = "embedding"


class TestDecoderInFourBits(TinyContract):
    model = "embedding_4bit"


class TestEncoder(TinyContract):
    model = "bert"


@pytest.mark.slow
class TestBundledModelOnMlx(ModelsContract):
    """One model for all tests: on a Linux processor without OpenBLAS each text takes its time."""

    models = mlx.open_models({})

    def open_models(self):
        return self.models


@pytest.fixture
def open_embedder(tiny_models):
    """Return a function that opens a tiny model's embedder and closes it after the test."""
    opened = []

    def open_one(model="embedding", **options):
        folder = getattr(tiny_models, model) if isinstance(model, str) else model
        models = mlx.open_models({"model": str(folder), **options})
        opened.append(models)
        return models.embedder

    yield open_one
    for models in opened:
        models.close()


@pytest.fixture
def copied(tiny_models, tmp_path):
    """Return a function that copies a tiny model, changes its configuration, and returns the folder."""

    def copy(model="embedding", *, name="copy", file="config.json", **changes):
        folder = tmp_path / name
        if not folder.exists():
            shutil.copytree(getattr(tiny_models, model), folder)
        path = folder / file
        content = json.loads(path.read_text()) if path.exists() else {}
        content = {key: value for key, value in {**content, **changes}.items() if value is not None}
        path.write_text(json.dumps(content))
        return folder

    return copy


def documents(embedder, texts=TEXTS):
    return embedder.embed(texts, role="document")


def gap(one, other):
    return float(np.abs(one - other).max())


# Decoders


def test_a_decoders_vector_is_mlx_lms_hidden_state_of_the_closing_token(open_embedder, tiny_models):
    """Against mlx-lm's own loader, one text at a time, without padding."""

    def compute():
        mx = device.import_mlx()
        from mlx_lm.utils import load_model

        model, _ = load_model(tiny_models.embedding)
        states = [model.model(mx.array([ids]))[0, -1] for ids in sequences]
        return np.array(mx.stack([state / mx.linalg.norm(state) for state in states]))

    tokenizer = Tokenizer.from_file(str(tiny_models.embedding / "tokenizer.json"))
    sequences = [tokenizer.encode(text).ids for text in TEXTS]
    assert {ids[-1] for ids in sequences} == {tokenizer.token_to_id("<|endoftext|>")}
    assert gap(documents(open_embedder()), device.run(compute)) < 1e-5


@pytest.mark.parametrize("model_type", ["qwen2", "llama", "mistral"])
def test_other_decoders_are_computed_as_mlx_lm_does(model_type, open_embedder, copied):
    folder = copied(model_type=model_type, head_dim=None)

    def randomise():
        mx = device.import_mlx()
        from mlx.utils import tree_flatten

        architecture = import_alone(DECODERS[model_type])
        config = json.loads((folder / "config.json").read_text())
        model = architecture.Model(architecture.ModelArgs.from_dict(config))
        mx.save_safetensors(str(folder / "model.safetensors"), dict(tree_flatten(model.parameters())))

    device.run(randomise)
    found = documents(open_embedder(folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ragmem.backends.mlx.decoder.DECODERS", {})
        expected = documents(open_embedder(folder, library="mlx-lm"))
    assert gap(found, expected) < 1e-5
    assert gap(found[0], found[2]) > 0.01


def test_four_bits_change_a_vector_by_little(open_embedder):
    exact, packed = documents(open_embedder()), documents(open_embedder("embedding_4bit"))
    cosines = (exact * packed).sum(axis=1)
    assert 0.95 < cosines.min() < 0.9999


@pytest.mark.parametrize(
    "packing",
    [
        {"group_size": 32, "bits": 8},
        {"group_size": 32, "bits": 4, "mode": "mxfp4"},
        {"group_size": 64, "bits": 4, "model.layers.0.mlp.up_proj": {"group_size": 32, "bits": 8}},
    ],
    ids=["8 bits", "mxfp4", "mixed"],
)
def test_every_packing_of_mlx_is_read(packing, open_embedder, copied):
    folder = copied(quantization=packing)

    def pack():
        mx = device.import_mlx()
        from mlx import nn
        from mlx.utils import tree_flatten

        architecture, path = import_alone("qwen3"), str(folder / "model.safetensors")
        config = json.loads((folder / "config.json").read_text())
        model = architecture.Model(architecture.ModelArgs.from_dict(config))
        model.load_weights(path)
        general = {key: value for key, value in packing.items() if not isinstance(value, dict)}
        nn.quantize(
            model,
            class_predicate=lambda name, module: packing.get(name, hasattr(module, "to_quantized")),
            **general,
        )
        weights = dict(tree_flatten(model.parameters()))
        mx.eval(weights)
        mx.save_safetensors(path, weights)

    device.run(pack)
    cosines = (documents(open_embedder(folder)) * documents(open_embedder())).sum(axis=1)
    assert 0.9 < cosines.min() < 0.99999


def test_no_known_model_needs_mlx_lm_itself_or_transformers_or_mlx_embeddings(tiny_models):
    code = """
import sys
from ragmem.backends.mlx import open_models
for folder in sys.argv[1:]:
    open_models({"model": folder}).embedder.embed(["x"], role="query")
import ragmem.backends.mlx.decoder as decoder
alone = sys.modules[decoder.ALONE + ".models.qwen3"]
print({"mlx_lm", "transformers", "huggingface_hub", "mlx_embeddings"} & set(sys.modules))
import mlx_lm.models.qwen3 as whole  # and it is still there for who wants it
print(whole is not alone, callable(sys.modules["mlx_lm"].load))
"""
    folders = [str(tiny_models.embedding_4bit), str(tiny_models.bert)]
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *folders], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines() == ["set()", "True True"]


def test_mlx_lm_itself_computes_an_architecture_that_was_not_imported_alone(open_embedder, monkeypatch):
    expected = documents(open_embedder("embedding_4bit"))
    monkeypatch.setattr("ragmem.backends.mlx.decoder.DECODERS", {})
    asked = open_embedder("embedding_4bit", library="mlx-lm")
    assert gap(documents(asked), expected) < 1e-5


def test_a_text_is_closed_also_where_the_tokenizer_closes_none(open_embedder, copied):
    folder = copied()
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "post_processor": None}))
    assert gap(documents(open_embedder(folder)), documents(open_embedder())) < 1e-6


def test_a_token_at_the_beginning_of_a_text_does_not_close_it(open_embedder, copied):
    folder = copied()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    end, start = (tokenizer.token_to_id(name) for name in ("<|endoftext|>", "<|im_start|>"))
    tokenizer.post_processor = TemplateProcessing(
        single="<|im_start|> $A", special_tokens=[("<|im_start|>", start)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    ids = open_embedder(folder, window=5)._open_tokenizer().encode("a disk is full of letters")
    assert len(ids) == 5
    assert (ids[0], ids[-1]) == (start, end)


def test_weights_without_the_part_that_makes_words_are_read(open_embedder, copied):
    folder = copied()
    path = folder / "model.safetensors"
    bare = {name.removeprefix("model."): values for name, values in load_file(path).items()}
    save_file(bare, path)
    assert np.array_equal(documents(open_embedder(folder)), documents(open_embedder()))


def test_half_precision_weights_are_computed_in_full_precision_on_a_processor(open_embedder, copied):
    mx = device.import_mlx()
    if not device.on_processor(mx):
        pytest.skip("a graphics chip computes in half precision")
    folder = copied()
    path = str(folder / "model.safetensors")
    mx.save_safetensors(path, {name: values.astype(mx.bfloat16) for name, values in mx.load(path).items()})
    embedder = open_embedder(folder)
    assert (documents(embedder) * documents(open_embedder())).sum(axis=1).min() > 0.999
    parameters = embedder._model.use(
        lambda model: [model._model.norm.weight.dtype, model._model.layers[0].mlp.up_proj.weight.dtype]
    )
    assert parameters == [mx.float32, mx.float32]


# Encoders, against a forward pass that is written down once more


erf = np.vectorize(math.erf)


def reference_bert(weights, ids, *, pooling, epsilon=1e-12, first=0):
    def linear(x, name):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x, name):
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + epsilon)
        return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][first : first + len(ids)]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        query, key, value = (
            linear(x, f"{layer}.attention.self.{part}").reshape(len(ids), HEADS, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(WIDTH // HEADS)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares = shares / shares.sum(axis=-1, keepdims=True)
        context = (shares @ value).transpose(1, 0, 2).reshape(len(ids), WIDTH)
        x = norm(
            x + linear(context, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm"
        )
        hidden = linear(x, f"{layer}.intermediate.dense")
        hidden = hidden * 0.5 * (1 + erf(hidden / np.sqrt(2)))
        x = norm(x + linear(hidden, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    vector = x[0] if pooling == "cls" else x.mean(axis=0)
    return vector / np.linalg.norm(vector)


def reference_vectors(folder, texts, **how):
    weights = load_file(folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return np.array([reference_bert(weights, tokenizer.encode(text).ids, **how) for text in texts])


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_an_encoder_computes_what_bert_is_defined_as(pooling, open_embedder, tmp_path):
    folder = make_bert(tmp_path / "bert", pooling=pooling)
    assert gap(documents(open_embedder(folder)), reference_vectors(folder, TEXTS, pooling=pooling)) < 2e-4


@pytest.mark.parametrize("model_type", ["roberta", "xlm-roberta"])
def test_robertas_positions_begin_after_those_of_its_padding(model_type, open_embedder, copied):
    folder = copied("bert", model_type=model_type, pad_token_id=1)
    embedder = open_embedder(folder)
    assert gap(documents(embedder), reference_vectors(folder, TEXTS, pooling="mean", first=2)) < 2e-4
    assert documents(embedder, ["word " * WINDOW]).shape == (1, WIDTH)


def test_the_pooling_may_be_chosen_and_is_the_mean_where_nothing_is_said(open_embedder, copied):
    folder = copied("bert")
    as_cls = open_embedder(folder, pooling="cls")
    assert gap(documents(as_cls), reference_vectors(folder, TEXTS, pooling="cls")) < 2e-4
    (folder / "modules.json").unlink()
    assert gap(documents(open_embedder(folder)), reference_vectors(folder, TEXTS, pooling="mean")) < 2e-4


def test_the_names_of_older_and_other_savers_are_understood(open_embedder, copied):
    folder = copied("bert")
    path = folder / "model.safetensors"
    renamed = {}
    for name, values in load_file(path).items():
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        renamed[f"bert.{old}"] = values
    save_file(renamed | {"cls.predictions.bias": np.zeros(3, np.float32)}, path)
    assert np.array_equal(documents(open_embedder(folder)), documents(open_embedder("bert")))


def test_a_packed_encoder_is_unpacked(open_embedder, copied):
    folder = copied("bert", quantization=BITS)
    path = folder / "model.safetensors"
    weights = load_file(path)
    matrices = {
        name: values for name, values in weights.items() if name.startswith("encoder") and values.ndim == 2
    }
    save_file(weights | quantized(matrices, **BITS), path)
    assert (documents(open_embedder(folder)) * documents(open_embedder("bert"))).sum(axis=1).min() > 0.95


def test_a_vocabulary_serves_where_there_is_no_tokenizer_file(open_embedder, copied):
    folder = copied("bert")
    (folder / "tokenizer.json").unlink()
    assert np.array_equal(documents(open_embedder(folder)), documents(open_embedder("bert")))


@pytest.mark.parametrize("model", ["embedding", "embedding_4bit", "bert"])
def test_what_a_graphics_chip_computes_is_the_same_but_for_half_precision(
    model, open_embedder, tiny_models, copied, monkeypatch
):
    """The packed matrices, fused kernels and half numbers that are used there, on whatever is here."""
    expected = documents(open_embedder(model))
    path = str(copied(model) / "model.safetensors")

    def halve():
        mx = device.import_mlx()
        halves = {
            name: values.astype(mx.float16) if values.dtype == mx.float32 else values
            for name, values in mx.load(path).items()
        }
        mx.save_safetensors(path, halves)

    device.run(halve)
    for module in ("device", "numerics"):
        monkeypatch.setattr(f"ragmem.backends.mlx.{module}.on_processor", lambda _: False)
    found = documents(open_embedder(Path(path).parent))
    assert (found * expected).sum(axis=1).min() > 0.999
    assert gap(found, expected) > 0


# Texts


@pytest.mark.parametrize("model", ["embedding", "bert"])
def test_batches_of_any_size_give_the_same_vectors(model, open_embedder):
    texts = [*TEXTS, "word " * 300, "disk " * 70]
    small = documents(open_embedder(model, batch_tokens=1), texts)
    assert gap(small, documents(open_embedder(model, batch_tokens=100_000), texts)) < 1e-5


@pytest.mark.parametrize(("model", "window"), [("embedding", WINDOW), ("bert", 256)])
def test_what_comes_after_the_window_does_not_change_the_vector(model, window, open_embedder):
    embedder = open_embedder(model)
    assert embedder.window == window
    longer, other = documents(embedder, ["x " * window * 2, "x " * window + "bread"])
    assert gap(longer, other) < 1e-6
    first, second = documents(open_embedder(model, window=8), ["x x x x x x x x", "x x x x x x x x x bread"])
    assert gap(first, second) < 1e-6


@pytest.mark.parametrize(("model", "special"), [("embedding", "<|endoftext|>"), ("bert", "[SEP]")])
def test_a_special_token_inside_a_text_is_read_as_letters(model, special, open_embedder):
    embedder = open_embedder(model)
    plain, named = documents(embedder, ["bread", f"bread{special}"])
    assert gap(plain, named) > 0.01
    assert len(embedder._open_tokenizer().encode(special)) > 3


def test_padding_and_truncation_that_training_left_in_the_tokenizer_do_nothing(open_embedder, copied):
    folder = copied("bert")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding(length=64)
    tokenizer.enable_truncation(6)
    tokenizer.save(str(folder / "tokenizer.json"))
    assert gap(documents(open_embedder(folder)), documents(open_embedder("bert"))) < 1e-6


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\x00", "\u200b"])
def test_characters_that_are_no_text_have_a_unit_vector(text, open_embedder):
    (vector,) = documents(open_embedder(), [text])
    assert abs(np.linalg.norm(vector) - 1) < 1e-5


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 1000))
def test_batches_hold_each_text_once_within_their_bounds(lengths, tokens):
    batches = bucket(lengths, tokens=tokens)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        found = [lengths[place] for place in batch]
        assert len(batch) * max(found) <= tokens or len(batch) == 1
        assert max(found) <= 2 * min(found)


# Questions, and shorter vectors


def test_a_question_gets_qwens_instruction_and_a_text_does_not(open_embedder):
    embedder = open_embedder()
    question = embedder.embed(["where is bread"], role="query")
    assert gap(question, documents(embedder, [f"{INSTRUCTION}where is bread"])) < 1e-6
    assert gap(question, documents(embedder, ["where is bread"])) > 0.01


def test_prefixes_of_the_configuration_come_before_those_of_the_model(open_embedder, copied):
    folder = copied(
        "bert", file="config_sentence_transformers.json", prompts={"query": "ask: ", "document": "text: "}
    )
    plain = open_embedder("bert")
    own = open_embedder(folder)
    chosen = open_embedder(folder, query_prefix="q: ", document_prefix="d: ")
    for embedder, query, document in ((own, "ask: ", "text: "), (chosen, "q: ", "d: ")):
        expected = documents(plain, [f"{query}bread", f"{document}bread"])
        found = np.concatenate([embedder.embed(["bread"], role=role) for role in ("query", "document")])
        assert gap(found, expected) < 1e-6


def test_a_shorter_vector_is_the_beginning_of_the_whole_one(open_embedder):
    whole, short = documents(open_embedder()), documents(open_embedder(dimensions=16))
    beginning = whole[:, :16] / np.linalg.norm(whole[:, :16], axis=1, keepdims=True)
    assert short.shape == (len(TEXTS), 16)
    assert gap(short, beginning) < 1e-6


def test_a_longer_vector_than_the_models_is_a_configuration_error(open_embedder):
    with pytest.raises(ConfigError, match="64"):
        open_embedder(dimensions=65)


# Identity


def test_the_id_is_the_same_for_the_same_model_elsewhere(open_embedder, copied):
    folder = copied(name="embedding")
    assert open_embedder(folder).model_id == open_embedder().model_id
    assert open_embedder().model_id.startswith("embedding-")
    assert open_embedder(query_prefix="other").model_id == open_embedder().model_id


@pytest.mark.parametrize(
    "options", [{"dimensions": 32}, {"pooling": "mean"}, {"document_prefix": "d: "}, {"window": 100}]
)
def test_the_id_differs_where_a_texts_vector_does(options, open_embedder):
    assert open_embedder(**options).model_id != open_embedder().model_id


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json"])
def test_the_id_differs_between_two_trainings_of_one_model(file, open_embedder, copied):
    folder = copied(name="embedding")
    path = folder / file
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    assert open_embedder(folder).model_id != open_embedder().model_id


def test_who_the_model_is_and_its_length_are_known_before_it_is_loaded(open_embedder):
    embedder = open_embedder()
    assert (embedder.dimensions, embedder.model_id != "") == (WIDTH, True)
    assert not embedder.loaded


# Where models lie


@pytest.mark.parametrize("place", ["ragmem", "option", "cache"])
def test_a_model_is_found_by_its_name_on_the_hub(place, tiny_models, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path / "home"))
    folder = {
        "ragmem": tmp_path / "home" / "data" / "models" / "someone--tiny",
        "option": tmp_path / "mine" / "someone--tiny",
        "cache": tmp_path / "hub" / "models--someone--tiny" / "snapshots" / "0123",
    }[place]
    shutil.copytree(tiny_models.embedding, folder)
    options = {"models_folder": str(tmp_path / "mine")} if place == "option" else {}
    models = mlx.open_models({"model": "someone/tiny", **options})
    by_folder = mlx.open_models({"model": str(folder)})
    assert models.check() == []
    assert models.embedder.model_id == by_folder.embedder.model_id
    assert models.embedder.model_id.startswith("tiny-")


def test_the_main_branch_of_the_hubs_cache_comes_before_what_was_fetched_later(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    model = tmp_path / "models--someone--tiny"
    for revision in ("aaaa", "bbbb", "cccc"):
        (model / "snapshots" / revision).mkdir(parents=True)
    os.utime(model / "snapshots" / "bbbb", (2e9, 2e9))
    assert mlx.find_folder("someone/tiny", {}).name == "bbbb"
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("aaaa")
    assert mlx.find_folder("someone/tiny", {}).name == "aaaa"


@pytest.mark.parametrize("name", ["someone/missing", "a/b/c", "someone/.."])
def test_a_model_that_is_not_here_is_a_backend_error_that_names_pull(name):
    models = mlx.open_models({"model": name})
    with pytest.raises(BackendError, match="not on this machine") as caught:
        _ = models.embedder
    assert f"ragmem models pull {name}" in caught.value.hint
    assert len(models.check()) == 1


def test_a_folder_that_does_not_exist_is_a_backend_error(tmp_path):
    with pytest.raises(BackendError, match="no folder"):
        _ = mlx.open_models({"model": str(tmp_path / "missing")}).embedder


@pytest.mark.parametrize("name", ["", "all-MiniLM-L6-v2", minilm.MODEL_ID])
def test_the_bundled_model_is_the_one_without_a_name(name):
    models = mlx.open_models({"model": name})
    assert models.embedder.model_id == minilm.MODEL_ID
    assert models.check() == []
    assert models.language_model is None


def test_both_halves_are_found_and_told_apart(tiny_models):
    both = mlx.open_models(
        {"model": str(tiny_models.embedding), "language_model": str(tiny_models.chat), "idle_s": 9}
    )
    assert both.check() == []
    assert both.embedder.dimensions == WIDTH
    assert both.language_model.model_id
    missing = mlx.open_models({"language_model": "someone/missing"})
    assert len(missing.check()) == 1
    with pytest.raises(BackendError, match="someone/missing"):
        _ = missing.language_model
    for models in (both, missing):
        models.close()
        models.close()


# Files that are not sound


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("config.json", None, "config.json"),
        ("config.json", b"{", "config.json"),
        ("config.json", b"{}", "model_type"),
        ("model.safetensors", None, "no weights"),
        ("model.safetensors", b"", "model.safetensors"),
        ("model.safetensors", b"\xff" * 100, "model.safetensors"),
        ("model.safetensors", b"\x02" + b"\x00" * 7 + b"[]", "model.safetensors"),
        ("model.safetensors", "cut", "bytes"),
        ("tokenizer.json", None, "tokenizer.json"),
        (
            "model.safetensors.index.json",
            b'{"weight_map": {"a": "model-00002-of-00002.safetensors"}}',
            "model-00002",
        ),
        ("model.safetensors.index.json", b"[]", "index.json"),
    ],
)
def test_a_missing_or_torn_file_is_reported_and_refused(file, content, said, copied):
    path = copied() / file
    if content is None:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1] if content == "cut" else content)
    models = mlx.open_models({"model": str(path.parent)})
    assert said in models.check()[0]
    with pytest.raises(BackendError, match=said) as caught:
        _ = models.embedder
    assert caught.value.hint


@pytest.mark.parametrize("model", ["embedding", "bert"])
def test_a_tensor_that_is_missing_is_a_backend_error(model, open_embedder, copied):
    folder = copied(model)
    path = folder / "model.safetensors"
    weights = load_file(path)
    save_file(dict(list(weights.items())[2:]), path)
    with pytest.raises(BackendError, match="does not load"):
        documents(open_embedder(folder))


def test_a_tokenizer_that_is_none_is_a_backend_error(open_embedder, copied):
    folder = copied()
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(BackendError, match=r"tokenizer\.json"):
        documents(open_embedder(folder))


def test_weights_without_numbers_give_an_error_and_no_vector(open_embedder, copied):
    folder = copied()
    path = folder / "model.safetensors"
    weights = load_file(path)
    weights["model.norm.weight"][:] = np.nan
    save_file(weights, path)
    with pytest.raises(BackendError, match="no numbers"):
        documents(open_embedder(folder))


# Architectures that are not computed here


@pytest.mark.parametrize(
    "changes",
    [{"model_type": "modernbert"}, {"model_type": "gemma3_text"}, {"is_causal": False}],
    ids=["encoder", "decoder", "both-directions"],
)
def test_an_unknown_architecture_is_an_error_that_names_the_extra_and_its_licence(changes, copied):
    models = mlx.open_models({"model": str(copied(**changes))})
    with pytest.raises(BackendError, match="architecture") as caught:
        _ = models.embedder
    assert "mlx-embeddings" in caught.value.hint
    assert "GPLv3" in caught.value.hint
    assert "library" in caught.value.hint


@pytest.mark.parametrize(
    "changes", [{"hidden_act": "relu"}, {"position_embedding_type": "relative_key"}], ids=str
)
def test_a_bert_of_another_make_is_a_backend_error(changes, open_embedder, copied):
    with pytest.raises(BackendError, match="does not compute"):
        documents(open_embedder(copied("bert", **changes)))


@pytest.mark.parametrize("kind", ["Dense", "WeightedLayerPooling"])
def test_a_module_behind_the_transformer_that_is_not_computed_is_a_backend_error(kind, copied):
    folder = copied("bert")
    modules = json.loads((folder / "modules.json").read_text())
    modules.insert(
        1, {"idx": 9, "name": "9", "path": "9_Other", "type": f"sentence_transformers.models.{kind}"}
    )
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(BackendError, match=kind):
        _ = mlx.open_models({"model": str(folder)}).embedder


def test_a_pooling_that_is_not_computed_is_a_backend_error(tmp_path):
    folder = make_bert(tmp_path / "bert", pooling="max")
    with pytest.raises(BackendError, match="pooling") as caught:
        _ = mlx.open_models({"model": str(folder)}).embedder
    assert "[models.options]" in caught.value.hint


@pytest.mark.parametrize(
    "options",
    [
        {"library": "torch"},
        {"pooling": "max"},
        {"dimensions": -1},
        {"window": 1.5},
        {"batch_tokens": "many"},
        {"memory_limit_mb": True},
        {"idle_s": -1},
    ],
    ids=str,
)
def test_a_wrong_option_is_a_configuration_error_with_a_hint(options):
    with pytest.raises(ConfigError, match=next(iter(options))) as caught:
        mlx.open_models(options)
    assert caught.value.hint


def test_a_window_without_room_is_a_backend_error(open_embedder):
    with pytest.raises(BackendError, match="window of 1"):
        documents(open_embedder(window=1))


@pytest.mark.parametrize(("module", "extra"), [("mlx.core", "mlx"), ("tokenizers", "mlx")])
def test_a_library_that_is_not_installed_is_a_backend_error(module, extra, open_embedder, monkeypatch):
    embedder = open_embedder()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(BackendError, match="cannot load") as caught:
        documents(embedder)
    assert f"ragmem[{extra}]" in caught.value.hint


# The device


def wait_until(true, seconds=10.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_an_idle_model_is_freed_and_the_next_text_loads_it_again(open_embedder):
    embedder = open_embedder(idle_s=0.1)
    before = documents(embedder)
    assert embedder.loaded
    wait_until(lambda: not embedder.loaded)
    assert np.array_equal(documents(embedder), before)


def test_a_model_in_use_is_not_idle(open_embedder):
    embedder = open_embedder(idle_s=1)
    for _ in range(12):
        documents(embedder, ["x"])
        time.sleep(0.1)
        assert embedder.loaded


def test_a_question_comes_between_the_batches_of_a_long_seeding(open_embedder, monkeypatch):
    embedder = open_embedder(batch_tokens=1)
    documents(embedder)
    answered = threading.Event()

    def take_time(mx, vectors):
        answered.wait(0.03)
        return unit(mx, vectors)

    monkeypatch.setattr("ragmem.backends.mlx.embedder.unit", take_time)
    with ThreadPoolExecutor(1) as pool:
        seeding = pool.submit(documents, embedder, ["a disk"] * 100)
        try:
            embedder.embed(["where is bread"], role="query")
            assert not seeding.done()
        finally:
            answered.set()


def test_a_process_does_not_wait_for_a_model_to_become_idle(tiny_models):
    code = (
        "from ragmem.backends.mlx import open_models\n"
        f"models = open_models({{'model': {str(tiny_models.embedding)!r}, 'idle_s': 3600}})\n"
        "models.embedder.embed(['x'], role='query')"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert result.stderr == ""


def test_a_model_that_cannot_fit_is_refused_before_it_is_loaded(open_embedder):
    embedder = open_embedder(memory_limit_mb=0.1)
    with pytest.raises(BackendError, match="the limit is 0 MB") as caught:
        documents(embedder)
    assert "memory_limit_mb" in caught.value.hint
    assert not embedder.loaded


def test_a_model_makes_room_for_the_next_one_where_both_do_not_fit(open_embedder):
    first = open_embedder()
    expected = documents(first)
    documents(open_embedder("bert", memory_limit_mb=0.6))
    assert not first.loaded
    assert np.array_equal(documents(first), expected)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[metal::malloc] Attempting to allocate 99 bytes which is too much."),
        RuntimeError("cudaMallocAsync failed: out of memory"),
    ],
    ids=str,
)
def test_a_full_device_is_a_backend_error_and_frees_the_model(error, open_embedder, monkeypatch):
    embedder = open_embedder()
    before = documents(embedder)

    def fail(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("ragmem.backends.mlx.embedder.unit", fail)
        with pytest.raises(BackendError, match="out of memory") as caught:
            documents(embedder)
    assert "batch_tokens" in caught.value.hint
    assert not embedder.loaded
    assert np.array_equal(documents(embedder), before)


def test_memory_comes_back_when_a_model_is_closed(open_embedder):
    mx = device.import_mlx()
    before = mx.get_active_memory()
    embedder = open_embedder()
    documents(embedder)
    assert mx.get_active_memory() >= before + 400_000
    embedder.close()
    assert mx.get_active_memory() < before + 100_000
