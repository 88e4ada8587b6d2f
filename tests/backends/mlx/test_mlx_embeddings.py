"""Embedding models on MLX: what decoders and encoders compute from texts and questions."""

import json
import math
import subprocess
import sys
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
from vectors import TEXTS, documents, gap

from ragmem.backends import mlx
from ragmem.backends.mlx import device
from ragmem.backends.mlx.decoder import import_standalone
from ragmem.backends.mlx.description import DECODERS
from ragmem.backends.model_folder import INSTRUCTION
from ragmem.backends.tokens import bucket
from ragmem.errors import ConfigError
from ragmem.testing import ModelsContract

# Not importorskip: mlx-lm takes seconds, and mlx is slow where it is imported before ragmem chose its BLAS.
if find_spec("mlx") is None or find_spec("mlx_lm") is None:
    pytest.skip("mlx and mlx-lm are not installed", allow_module_level=True)


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
    """Of two of its six layers, since a processor without OpenBLAS takes its time for each.

    The tests of the bundled model compare what all six compute with the original.
    """

    @pytest.fixture(autouse=True)
    def _two_layers(self, monkeypatch):
        monkeypatch.setattr("ragmem.backends.mlx.minilm.LAYERS", 2)

    def open_models(self):
        return mlx.open_models({})


# Decoders


def test_a_decoders_vector_is_mlx_lms_hidden_state_of_the_closing_token(open_tiny, tiny_models):
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
    assert gap(documents(open_tiny()), device.run(compute)) < 1e-5


@pytest.mark.parametrize("model_type", ["qwen2", "llama", "mistral"])
def test_other_decoders_are_computed_as_mlx_lm_does(model_type, open_tiny, copy_tiny):
    folder = copy_tiny(model_type=model_type, head_dim=None)

    def randomise():
        mx = device.import_mlx()
        from mlx.utils import tree_flatten

        architecture = import_standalone(DECODERS[model_type])
        config = json.loads((folder / "config.json").read_text())
        model = architecture.Model(architecture.ModelArgs.from_dict(config))
        mx.save_safetensors(str(folder / "model.safetensors"), dict(tree_flatten(model.parameters())))

    device.run(randomise)
    found = documents(open_tiny(folder))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ragmem.backends.mlx.decoder.DECODERS", {})
        expected = documents(open_tiny(folder, library="mlx-lm"))
    assert gap(found, expected) < 1e-5
    assert gap(found[0], found[2]) > 0.01


def test_four_bits_change_a_vector_by_little(open_tiny):
    exact, packed = documents(open_tiny()), documents(open_tiny("embedding_4bit"))
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
def test_every_packing_of_mlx_is_read(packing, open_tiny, copy_tiny):
    folder = copy_tiny(quantization=packing)

    def pack():
        mx = device.import_mlx()
        from mlx import nn
        from mlx.utils import tree_flatten

        architecture, path = import_standalone("qwen3"), str(folder / "model.safetensors")
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
    cosines = (documents(open_tiny(folder)) * documents(open_tiny())).sum(axis=1)
    assert 0.9 < cosines.min() < 0.99999


def test_no_known_model_needs_mlx_lm_itself_or_transformers_or_mlx_embeddings(tiny_models):
    code = """
import sys
from ragmem.backends.mlx import open_models
for folder in sys.argv[1:]:
    open_models({"model": folder}).embedder.embed(["x"], role="query")
print({"mlx_lm", "transformers", "huggingface_hub", "mlx_embeddings"} & set(sys.modules))
"""
    folders = [str(tiny_models.embedding_4bit), str(tiny_models.bert)]
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *folders], capture_output=True, text=True, check=True
    )
    assert result.stdout == "set()\n"


def test_mlx_lm_itself_computes_an_architecture_that_was_not_imported_alone(open_tiny, monkeypatch):
    expected = documents(open_tiny("embedding_4bit"))
    monkeypatch.setattr("ragmem.backends.mlx.decoder.DECODERS", {})
    asked = open_tiny("embedding_4bit", library="mlx-lm")
    assert gap(documents(asked), expected) < 1e-5
    # The one that was imported alone stands beside it, and does not stand for it.
    assert sys.modules["mlx_lm.models.qwen3"] is not import_standalone("qwen3")
    assert callable(sys.modules["mlx_lm"].load)


def test_a_text_is_closed_also_where_the_tokenizer_closes_none(open_tiny, copy_tiny):
    folder = copy_tiny()
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "post_processor": None}))
    assert gap(documents(open_tiny(folder)), documents(open_tiny())) < 1e-6


def test_a_token_at_the_beginning_of_a_text_does_not_close_it(open_tiny, copy_tiny):
    folder = copy_tiny()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    end, start = (tokenizer.token_to_id(name) for name in ("<|endoftext|>", "<|im_start|>"))
    tokenizer.post_processor = TemplateProcessing(
        single="<|im_start|> $A", special_tokens=[("<|im_start|>", start)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    ids = open_tiny(folder, window=5)._open_tokenizer().encode("a disk is full of letters")
    assert len(ids) == 5
    assert (ids[0], ids[-1]) == (start, end)


def test_weights_without_the_part_that_makes_words_are_read(open_tiny, copy_tiny):
    folder = copy_tiny()
    path = folder / "model.safetensors"
    bare = {name.removeprefix("model."): values for name, values in load_file(path).items()}
    save_file(bare, path)
    assert np.array_equal(documents(open_tiny(folder)), documents(open_tiny()))


def test_half_precision_weights_are_computed_in_full_precision_on_a_processor(open_tiny, copy_tiny):
    mx = device.import_mlx()
    if not device.on_processor(mx):
        pytest.skip("a graphics chip computes in half precision")
    folder = copy_tiny()
    path = str(folder / "model.safetensors")
    mx.save_safetensors(path, {name: values.astype(mx.bfloat16) for name, values in mx.load(path).items()})
    embedder = open_tiny(folder)
    assert (documents(embedder) * documents(open_tiny())).sum(axis=1).min() > 0.999
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
def test_an_encoder_computes_what_bert_is_defined_as(pooling, open_tiny, tmp_path):
    folder = make_bert(tmp_path / "bert", pooling=pooling)
    assert gap(documents(open_tiny(folder)), reference_vectors(folder, TEXTS, pooling=pooling)) < 2e-4


@pytest.mark.parametrize("model_type", ["roberta", "xlm-roberta"])
def test_robertas_positions_begin_after_those_of_its_padding(model_type, open_tiny, copy_tiny):
    folder = copy_tiny("bert", model_type=model_type, pad_token_id=1)
    embedder = open_tiny(folder)
    assert gap(documents(embedder), reference_vectors(folder, TEXTS, pooling="mean", first=2)) < 2e-4
    assert documents(embedder, ["word " * WINDOW]).shape == (1, WIDTH)


def test_the_pooling_may_be_chosen_and_is_the_mean_where_nothing_is_said(open_tiny, copy_tiny):
    folder = copy_tiny("bert")
    as_cls = open_tiny(folder, pooling="cls")
    assert gap(documents(as_cls), reference_vectors(folder, TEXTS, pooling="cls")) < 2e-4
    (folder / "modules.json").unlink()
    assert gap(documents(open_tiny(folder)), reference_vectors(folder, TEXTS, pooling="mean")) < 2e-4


def test_the_names_of_older_and_other_savers_are_understood(open_tiny, copy_tiny):
    folder = copy_tiny("bert")
    path = folder / "model.safetensors"
    renamed = {}
    for name, values in load_file(path).items():
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        renamed[f"bert.{old}"] = values
    save_file(renamed | {"cls.predictions.bias": np.zeros(3, np.float32)}, path)
    assert np.array_equal(documents(open_tiny(folder)), documents(open_tiny("bert")))


def test_a_packed_encoder_is_unpacked(open_tiny, copy_tiny):
    folder = copy_tiny("bert", quantization=BITS)
    path = folder / "model.safetensors"
    weights = load_file(path)
    matrices = {
        name: values for name, values in weights.items() if name.startswith("encoder") and values.ndim == 2
    }
    save_file(weights | quantized(matrices, **BITS), path)
    assert (documents(open_tiny(folder)) * documents(open_tiny("bert"))).sum(axis=1).min() > 0.95


def test_a_vocabulary_serves_where_there_is_no_tokenizer_file(open_tiny, copy_tiny):
    folder = copy_tiny("bert")
    (folder / "tokenizer.json").unlink()
    assert np.array_equal(documents(open_tiny(folder)), documents(open_tiny("bert")))


@pytest.mark.parametrize("model", ["embedding", "embedding_4bit", "bert"])
def test_what_a_graphics_chip_computes_is_the_same_but_for_half_precision(
    model, open_tiny, tiny_models, copy_tiny, monkeypatch
):
    """The packed matrices, fused kernels and half numbers that are used there, on whatever is here."""
    expected = documents(open_tiny(model))
    path = str(copy_tiny(model) / "model.safetensors")

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
    found = documents(open_tiny(Path(path).parent))
    assert (found * expected).sum(axis=1).min() > 0.999
    assert gap(found, expected) > 0


# Texts


@pytest.mark.parametrize("model", ["embedding", "bert"])
def test_batches_of_any_size_give_the_same_vectors(model, open_tiny):
    texts = [*TEXTS, "word " * 300, "disk " * 70]
    small = documents(open_tiny(model, batch_tokens=1), texts)
    assert gap(small, documents(open_tiny(model, batch_tokens=100_000), texts)) < 1e-5


@pytest.mark.parametrize(("model", "window"), [("embedding", WINDOW), ("bert", 256)])
def test_what_comes_after_the_window_does_not_change_the_vector(model, window, open_tiny):
    embedder = open_tiny(model)
    assert embedder.window == window
    longer, other = documents(embedder, ["x " * window * 2, "x " * window + "bread"])
    assert gap(longer, other) < 1e-6
    first, second = documents(open_tiny(model, window=8), ["x x x x x x x x", "x x x x x x x x x bread"])
    assert gap(first, second) < 1e-6


@pytest.mark.parametrize(("model", "special"), [("embedding", "<|endoftext|>"), ("bert", "[SEP]")])
def test_a_special_token_inside_a_text_is_read_as_letters(model, special, open_tiny):
    embedder = open_tiny(model)
    plain, named = documents(embedder, ["bread", f"bread{special}"])
    assert gap(plain, named) > 0.01
    assert len(embedder._open_tokenizer().encode(special)) > 3


def test_padding_and_truncation_that_training_left_in_the_tokenizer_do_nothing(open_tiny, copy_tiny):
    folder = copy_tiny("bert")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding(length=64)
    tokenizer.enable_truncation(6)
    tokenizer.save(str(folder / "tokenizer.json"))
    assert gap(documents(open_tiny(folder)), documents(open_tiny("bert"))) < 1e-6


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\x00", "\u200b"])
def test_characters_that_are_no_text_have_a_unit_vector(text, open_tiny):
    (vector,) = documents(open_tiny(), [text])
    assert abs(np.linalg.norm(vector) - 1) < 1e-5


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 1000))
def test_batches_hold_each_text_once_within_their_bounds(lengths, tokens):
    batches = bucket(lengths, tokens=tokens)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        found = [lengths[place] for place in batch]
        assert len(batch) * max(found) <= tokens or len(batch) == 1
        assert max(found) <= 2 * min(found)


# QuestionCache, and shorter vectors


def test_a_question_gets_qwens_instruction_and_a_text_does_not(open_tiny):
    embedder = open_tiny()
    question = embedder.embed(["where is bread"], role="query")
    assert gap(question, documents(embedder, [f"{INSTRUCTION}where is bread"])) < 1e-6
    assert gap(question, documents(embedder, ["where is bread"])) > 0.01


def test_prefixes_of_the_configuration_come_before_those_of_the_model(open_tiny, copy_tiny):
    folder = copy_tiny(
        "bert", file="config_sentence_transformers.json", prompts={"query": "ask: ", "document": "text: "}
    )
    plain = open_tiny("bert")
    own = open_tiny(folder)
    chosen = open_tiny(folder, query_prefix="q: ", document_prefix="d: ")
    for embedder, query, document in ((own, "ask: ", "text: "), (chosen, "q: ", "d: ")):
        expected = documents(plain, [f"{query}bread", f"{document}bread"])
        found = np.concatenate([embedder.embed(["bread"], role=role) for role in ("query", "document")])
        assert gap(found, expected) < 1e-6


def test_a_shorter_vector_is_the_beginning_of_the_whole_one(open_tiny):
    whole, short = documents(open_tiny()), documents(open_tiny(dimensions=16))
    beginning = whole[:, :16] / np.linalg.norm(whole[:, :16], axis=1, keepdims=True)
    assert short.shape == (len(TEXTS), 16)
    assert gap(short, beginning) < 1e-6


def test_a_longer_vector_than_the_models_is_a_configuration_error(open_tiny):
    with pytest.raises(ConfigError, match="64"):
        open_tiny(dimensions=65)
