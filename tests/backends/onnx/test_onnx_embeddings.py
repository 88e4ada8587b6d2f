"""Embedding models on onnxruntime: what graphs of five architectures compute, beside numpy."""

import json
import shutil
import threading
import time
from importlib.util import find_spec

import numpy as np
import pytest

from ragmem.backends import onnx
from ragmem.errors import BackendError, ConfigError
from ragmem.testing import ModelsContract

if find_spec("onnxruntime") is None or find_spec("onnx") is None:
    pytest.skip("onnx and onnxruntime are not installed", allow_module_level=True)

from safetensors.numpy import save_file
from tiny_onnx import ARCHITECTURES, SIZES, make_model, reference, write_json
from tokenizers import Tokenizer

TEXTS = [
    "the deployment failed because the disk was full",
    "a recipe for bread",
    "",
    "x",
    "naïve 東京 🙂",
    "word " * 300,
]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return a function that returns the folder of a tiny model; each is made once."""
    folder, made = tmp_path_factory.mktemp("onnx"), {}

    def find(kind, **options):
        key = (kind, *sorted(options.items()))
        if key not in made:
            made[key] = make_model(folder / str(len(made)), kind, **options)
        return made[key]

    return find


@pytest.fixture
def change(models, tmp_path):
    """Return a function that copies a tiny model and replaces files by documents; None takes one away."""

    def change_files(kind, files, **options):
        folder = shutil.copytree(models(kind, **options), tmp_path / "copy", dirs_exist_ok=True)
        for name, document in files.items():
            if document is None:
                (folder / name).unlink()
            else:
                write_json(folder / name, document)
        return folder

    return change_files


def open_embedder(folder, **options):
    return onnx.open_models({"model": str(folder), "threads": 2, **options}).embedder


def expected(kind, folder, texts, *, window=128, prefix=""):
    """Return what numpy computes from the ids of the folder's own tokenizer."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    closing = [0] if kind == "qwen3" else []
    tokenizer.enable_truncation(window - len(closing))
    return np.stack([reference(kind, [*tokenizer.encode(prefix + text).ids, *closing]) for text in texts])


class OnnxContract(ModelsContract):
    @pytest.fixture(autouse=True)
    def _models(self, models):
        self.folder = models(self.kind, **({"int8": True} if self.int8 else {}))

    int8 = False

    def open_models(self):
        return onnx.open_models({"model": str(self.folder), "threads": 2})


class TestBert(OnnxContract):
    kind = "bert"


class TestBertInInt8(OnnxContract):
    kind, int8 = "bert", True


class TestXlmRoberta(OnnxContract):
    kind = "xlmr"


class TestModernBert(OnnxContract):
    kind = "modernbert"


class TestQwen3(OnnxContract):
    kind = "qwen3"


class TestEmbeddingGemma(OnnxContract):
    kind = "gemma"


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_vectors_are_those_of_numpy(kind, models):
    """In one batch with padding, beside one text at a time."""
    folder = models(kind)
    prefix = "title: none | text: " if kind == "gemma" else ""
    found = open_embedder(folder).embed(TEXTS, role="document")
    assert np.abs(found - expected(kind, folder, TEXTS, prefix=prefix)).max() < 1e-5


@pytest.mark.parametrize("kind", ["bert", "qwen3"])
@pytest.mark.parametrize(
    "form", [{"data": True}, {"half": True}, {"int8": True}, {"data": True, "int8": True}]
)
def test_every_form_of_the_weights_gives_nearly_the_same_vector(kind, form, models):
    exact = open_embedder(models(kind)).embed(TEXTS, role="document")
    found = open_embedder(models(kind, **form)).embed(TEXTS, role="document")
    cosines = (exact * found).sum(axis=1)
    assert cosines.min() > (0.97 if "int8" in form else 0.9999)
    assert open_embedder(models(kind)).model_id != open_embedder(models(kind, half=True)).model_id


def test_a_text_of_an_int8_model_has_the_same_vector_beside_others_to_the_bit(models):
    embedder = open_embedder(models("bert", int8=True))
    together = embedder.embed(TEXTS, role="document")
    alone = np.concatenate([embedder.embed([text], role="document") for text in TEXTS])
    assert (together == alone).all()


def test_the_variant_behind_the_name_is_taken(models, tmp_path):
    folder = shutil.copytree(models("bert"), tmp_path / "two")
    make_model(folder, "bert", int8=True, file="onnx/model_int8.onnx")
    ids = {
        open_embedder(f"{folder}@{name}").model_id
        for name in ("int8", "model_int8.onnx", "onnx/model_int8.onnx")
    }
    assert len(ids) == 1
    assert ids != {open_embedder(f"{folder}@fp32").model_id}
    with pytest.raises(BackendError, match='no ONNX file "q4"') as caught:
        open_embedder(f"{folder}@q4")
    assert "onnx/model_int8.onnx" in caught.value.hint


# Pooling, dense layers, lengths, prompts, window


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_the_configured_pooling_is_that_of_numpy(pooling, models, monkeypatch):
    folder = models("bert")  # made before, because other tests read it too
    monkeypatch.setitem(__import__("tiny_onnx").POOLINGS, "bert", pooling)
    found = open_embedder(folder, pooling=pooling).embed(TEXTS, role="document")
    assert np.abs(found - expected("bert", folder, TEXTS)).max() < 1e-5


def test_pooling_over_the_tokens_may_replace_the_graphs_own(models):
    """EmbeddingGemma's graph has both outputs; the dense layers behind its pooling are missing here."""
    embedder = open_embedder(models("gemma"), pooling="mean")
    assert embedder.dimensions == SIZES["gemma"].width
    assert open_embedder(models("gemma"), output="last_hidden_state").dimensions == SIZES["gemma"].width


@pytest.mark.parametrize(("activation", "function"), [("Identity", lambda x: x), ("Tanh", np.tanh)])
def test_dense_layers_of_the_repository_are_computed(activation, function, change):
    kinds = ("Transformer", "Pooling", "Dense", "Normalize")
    modules = [{"path": f"{n}_{kind}" if n else "", "type": f"a.b.{kind}"} for n, kind in enumerate(kinds)]
    config = {"in_features": 64, "out_features": 24, "activation_function": f"torch.nn.{activation}"}
    folder = change("bert", {"modules.json": modules, "2_Dense/config.json": config})
    chance = np.random.default_rng(8)
    matrix, bias = (chance.normal(size=shape).astype(np.float32) for shape in ((24, 64), (24,)))
    save_file({"linear.weight": matrix, "linear.bias": bias}, folder / "2_Dense" / "model.safetensors")
    embedder = open_embedder(folder)
    assert embedder.dimensions == 24
    found = embedder.embed(TEXTS[:2], role="document")
    for text, row in zip(TEXTS[:2], found, strict=True):
        ids = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids
        from tiny_onnx import Numpy, bert

        vector = function(matrix @ bert(Numpy(ids), SIZES["bert"])[0].mean(0) + bias)
        assert np.abs(row - vector / np.linalg.norm(vector)).max() < 1e-5
    (folder / "2_Dense" / "model.safetensors").write_bytes(b"cut")
    with pytest.raises(BackendError, match=r"model\.safetensors"):
        open_embedder(folder).embed(["x"], role="document")


def test_a_shorter_vector_is_the_normalised_head_of_the_whole(models):
    whole = open_embedder(models("qwen3")).embed(TEXTS, role="document")
    short = open_embedder(models("qwen3"), dimensions=16)
    head = whole[:, :16] / np.linalg.norm(whole[:, :16], axis=1, keepdims=True)
    assert np.abs(short.embed(TEXTS, role="document") - head).max() < 1e-6
    assert short.model_id.endswith("-16d")
    with pytest.raises(ConfigError, match="dimensions is 65"):
        open_embedder(models("qwen3"), dimensions=65)


def test_questions_and_texts_get_the_prompts_of_the_repository(models, change):
    embedder = open_embedder(models("gemma"))
    assert embedder.description.query_prefix == "task: search result | query: "
    plain = change("gemma", {"config_sentence_transformers.json": {"prompts": {}}})
    bare = open_embedder(plain)
    asked = embedder.embed(["disk"], role="query")
    assert np.allclose(asked, bare.embed(["task: search result | query: disk"], role="query"), atol=1e-6)
    assert np.abs(asked - embedder.embed(["disk"], role="document")).max() > 1e-3
    given = open_embedder(plain, query_prefix="query: ", document_prefix="passage: ")
    assert np.allclose(
        given.embed(["a"], role="document"), bare.embed(["passage: a"], role="document"), atol=1e-6
    )
    assert given.model_id != bare.model_id
    assert open_embedder(plain, query_prefix="query: ").model_id == bare.model_id


@pytest.mark.parametrize(
    ("files", "options", "window"),
    [
        ({}, {}, 128),
        ({"sentence_bert_config.json": {"max_seq_length": 64}}, {}, 64),
        ({"tokenizer_config.json": {"model_max_length": 32}}, {}, 32),
        ({"tokenizer_config.json": {"model_max_length": 10**30}}, {}, 128),
        ({"sentence_bert_config.json": {"max_seq_length": 64}}, {"window": 16}, 16),
        ({"sentence_bert_config.json": {"max_seq_length": 64}}, {"window": 1000}, 64),
    ],
)
@pytest.mark.parametrize("kind", ["bert", "xlmr"])
def test_the_window_is_the_least_that_a_file_or_option_says(kind, files, options, window, change):
    folder = change(kind, files)
    embedder = open_embedder(folder, **options)
    assert embedder.window == window
    found = embedder.embed(["disk full " * 300], role="document")
    assert np.abs(found - expected(kind, folder, ["disk full " * 300], window=window)).max() < 1e-5


def test_a_folder_without_any_configuration_is_read(change):
    """Tokenizer and graph are enough, where the graph says how long its vectors are."""
    folder = change(
        "xlmr", {"config.json": None, "modules.json": None, "1_Pooling/config.json": None}, file="model.onnx"
    )
    embedder = open_embedder(folder, window=100)
    assert (
        np.abs(embedder.embed(TEXTS, role="document") - expected("xlmr", folder, TEXTS, window=100)).max()
        < 1e-5
    )


# Memory and time


def test_the_end_of_a_huge_text_is_not_even_read(models):
    """One word of many letters is one token; without the cut the words behind it would be read."""
    embedder = open_embedder(models("bert"))
    word = "x" * (128 * 64)
    one, other, near = embedder.embed([f"{word} disk", f"{word} bread", f"{word[:-9]} disk"], role="document")
    assert (one == other).all()
    assert np.abs(one - near).max() > 1e-3


def test_small_batches_give_the_same_vectors(models):
    one = open_embedder(models("xlmr")).embed(TEXTS * 3, role="document")
    other = open_embedder(models("xlmr"), batch_tokens=20, threads=3).embed(TEXTS * 3, role="document")
    assert np.abs(one - other).max() < 1e-6


def test_an_idle_model_is_freed_and_loads_again(models):
    embedder = open_embedder(models("bert"), idle_s=0.05)
    assert not embedder.is_loaded
    before = embedder.embed(["disk"], role="document")
    until = time.monotonic() + 20
    while embedder.is_loaded and time.monotonic() < until:
        threading.Event().wait(0.02)
    assert not embedder.is_loaded
    assert (embedder.embed(["disk"], role="document") == before).all()
    embedder.close()
    assert not embedder.is_loaded


def test_a_model_that_does_not_fit_is_not_loaded(models):
    embedder = open_embedder(models("bert"), memory_limit_mb=0.1)
    with pytest.raises(BackendError, match=r"needs \d MB, the limit is 0 MB") as caught:
        embedder.embed(["x"], role="document")
    assert "memory_limit_mb" in caught.value.hint


# What is no embedding model


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"tokenizer.json": None}, "has no tokenizer.json"),
        ({"onnx/model.onnx": None}, "has no ONNX file"),
        (
            {"1_Pooling/config.json": {"pooling_mode_max_tokens": True}},
            "a pooling that ragmem does not support",
        ),
        ({"modules.json": [{"path": "", "type": "x.WordWeights"}]}, 'a module "WordWeights"'),
        ({"modules.json": ["x"]}, "not a list of modules"),
        ({"modules.json": [{"path": "2_Dense", "type": "x.Dense"}], "2_Dense/config.json": {}}, "is missing"),
    ],
)
def test_a_folder_that_lacks_something_is_told_in_one_line(files, message, change):
    folder = change("bert", files)
    with pytest.raises(BackendError, match=message) as caught:
        open_embedder(folder)
    assert "\n" not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "data"])
def test_a_damaged_file_is_told_before_it_is_loaded(damage, models, tmp_path):
    folder = shutil.copytree(models("bert", data=True), tmp_path / "copy")
    graph = folder / "onnx" / "model.onnx"
    if damage == "data":
        (folder / "onnx" / "model.onnx_data").unlink()
    else:
        content = graph.read_bytes()
        graph.write_bytes(
            {"empty": b"", "cut": content[: len(content) // 2], "text": b"version https://git-lfs"}[damage]
        )
    opened = onnx.open_models({"model": str(folder)})
    assert len(opened.check()) == 1
    with pytest.raises(BackendError, match=r"model\.onnx") as caught:
        opened.embedder  # noqa: B018
    assert "models pull" in caught.value.hint


def test_every_cut_of_a_graph_is_an_error_of_ours(models, tmp_path):
    content = (models("qwen3") / "onnx" / "model.onnx").read_bytes()
    folder = shutil.copytree(models("qwen3"), tmp_path / "copy")
    for length in range(1, len(content), max(1, len(content) // 60)):
        (folder / "onnx" / "model.onnx").write_bytes(content[:length])
        with pytest.raises(BackendError):
            open_embedder(folder).embed(["x"], role="document")


def test_a_tokenizer_of_another_model_is_told(models, tmp_path):
    folder = shutil.copytree(models("bert"), tmp_path / "copy")
    content = json.loads((folder / "tokenizer.json").read_text())
    content["model"]["vocab"]["disk"] = 70_000
    (folder / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(BackendError, match="cannot be computed"):
        open_embedder(folder).embed(["disk"], role="document")


def test_models_without_a_name_and_unknown_ones_are_told(tmp_path, monkeypatch):
    monkeypatch.setenv("RAGMEM_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="no model of its own"):
        onnx.open_models({})
    with pytest.raises(BackendError, match="is not on this machine") as caught:
        open_embedder("someone/nothing")
    assert "`ragmem models pull onnx:someone/nothing`" in caught.value.hint
    with pytest.raises(BackendError, match="there is no folder"):
        open_embedder(tmp_path / "nothing")
    with pytest.raises(ConfigError, match='pooling is "max"'):
        open_embedder("a/b", pooling="max")


def test_onnxruntime_that_is_not_installed_is_told_with_the_command(models, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(BackendError, match="onnx") as caught:
        open_embedder(models("bert")).embed(["x"], role="document")
    assert "pip install 'ragmem[onnx]'" in caught.value.hint


def test_a_model_in_the_hubs_cache_is_read_through_its_links(models, tmp_path, monkeypatch):
    """The cache has links to files with other names, also for the weights beside the graph."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    repository = tmp_path / "hub" / "models--team--tiny"
    (repository / "blobs").mkdir(parents=True)
    made, snapshot = models("bert", data=True), repository / "snapshots" / "abc"
    for number, path in enumerate(sorted(each for each in made.rglob("*") if each.is_file())):
        blob = shutil.copy(path, repository / "blobs" / str(number))
        link = snapshot / path.relative_to(made)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(blob)
    embedder = open_embedder("team/tiny", models_folder=str(tmp_path / "none"))
    assert embedder.model_id.startswith("tiny-")
    assert np.allclose(embedder.embed(TEXTS, role="query"), open_embedder(made).embed(TEXTS, role="query"))
