"""Embedding models on MLX: which model a folder holds, where it lies, and what is wrong with it."""

import json
import os
import shutil
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny_models import PIECES, WIDTH, make_bert
from vectors import documents

from ragmem.backends import minilm, mlx
from ragmem.errors import BackendError, ConfigError

if find_spec("mlx") is None or find_spec("mlx_lm") is None:
    pytest.skip("mlx and mlx-lm are not installed", allow_module_level=True)


# Identity


def test_the_id_is_the_same_for_the_same_model_elsewhere(open_tiny, copy_tiny):
    folder = copy_tiny(name="embedding")
    assert open_tiny(folder).model_id == open_tiny().model_id
    assert open_tiny().model_id.startswith("embedding-")
    assert open_tiny(query_prefix="other").model_id == open_tiny().model_id


@pytest.mark.parametrize(
    "options", [{"dimensions": 32}, {"pooling": "mean"}, {"document_prefix": "d: "}, {"window": 100}]
)
def test_the_id_differs_where_a_texts_vector_does(options, open_tiny):
    assert open_tiny(**options).model_id != open_tiny().model_id


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json"])
def test_the_id_differs_between_two_trainings_of_one_model(file, open_tiny, copy_tiny):
    folder = copy_tiny(name="embedding")
    path = folder / file
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    assert open_tiny(folder).model_id != open_tiny().model_id


def test_who_the_model_is_and_its_length_are_known_before_it_is_loaded(open_tiny):
    embedder = open_tiny()
    assert (embedder.dimensions, embedder.model_id != "") == (WIDTH, True)
    assert not embedder.is_loaded


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
    (model / "refs" / "main").write_text("")
    assert mlx.find_folder("someone/tiny", {}).name == "bbbb"
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


TENSOR = '{{"a": {{"dtype": "F32", "shape": {}, "data_offsets": {}}}}}'


def safetensors(header):
    return len(header).to_bytes(8, "little") + header.encode()


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("config.json", None, "config.json"),
        ("config.json", b"{", "config.json"),
        ("config.json", b"{}", "model_type"),
        ("config.json", b"[1]", "config.json"),
        ("config.json", b"[" * 200_000, "deep"),
        ("config.json", b'{"model_type": "qwen3", "hidden_size": 1e400}', "hidden_size"),
        ("config.json", b'{"model_type": "qwen3", "hidden_size": 10000000000000}', "hidden_size"),
        ("config.json", b'{"model_type": "qwen3", "hidden_size": -5}', "hidden_size"),
        ("model.safetensors", None, "no weights"),
        ("model.safetensors", b"", "model.safetensors"),
        ("model.safetensors", b"\xff" * 100, "model.safetensors"),
        ("model.safetensors", b"\x02" + b"\x00" * 7 + b"[]", "model.safetensors"),
        ("model.safetensors", "cut", "bytes"),
        ("model.safetensors", (2**60).to_bytes(8, "little") + b"{}", "truncated"),
        ("model.safetensors", safetensors("[" * 200_000), "deep"),
        ("model.safetensors", safetensors(TENSOR.format("[1]", '[0, "x"]')), "not a list of tensors"),
        ("model.safetensors", safetensors(TENSOR.format("[1]", "[0, NaN]")), "not a list of tensors"),
        ("model.safetensors", safetensors(TENSOR.format('["q"]', "[0, 0]")), "not a list of tensors"),
        ("model.safetensors", safetensors(TENSOR.format("[-4]", "[0, 0]")), "not a list of tensors"),
        ("tokenizer.json", None, "tokenizer.json"),
        (
            "model.safetensors.index.json",
            b'{"weight_map": {"a": "model-00002-of-00002.safetensors"}}',
            "model-00002",
        ),
        ("model.safetensors.index.json", b"[]", "index.json"),
        ("model.safetensors.index.json", b"[" * 200_000, "index.json"),
    ],
)
def test_a_missing_or_torn_file_is_reported_and_refused(file, content, said, copy_tiny):
    path = copy_tiny() / file
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
def test_a_tensor_that_is_missing_is_a_backend_error(model, open_tiny, copy_tiny):
    folder = copy_tiny(model)
    path = folder / "model.safetensors"
    weights = load_file(path)
    save_file(dict(list(weights.items())[2:]), path)
    with pytest.raises(BackendError, match="does not load"):
        documents(open_tiny(folder))


def test_a_tokenizer_that_is_none_is_a_backend_error(open_tiny, copy_tiny):
    folder = copy_tiny()
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(BackendError, match=r"tokenizer\.json"):
        documents(open_tiny(folder))


def test_weights_without_numbers_give_an_error_and_no_vector(open_tiny, copy_tiny):
    folder = copy_tiny()
    path = folder / "model.safetensors"
    weights = load_file(path)
    weights["model.norm.weight"][:] = np.nan
    save_file(weights, path)
    with pytest.raises(BackendError, match="no numbers"):
        documents(open_tiny(folder))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("modules.json", b"[1, 2]"),
        ("modules.json", b"[{"),
        ("modules.json", b"[" * 200_000),
        ("1_Pooling/config.json", b"{"),
        ("1_Pooling/config.json", b'{"pooling_mode": [1]}'),
        ("sentence_bert_config.json", b"{"),
        ("config_sentence_transformers.json", b"{"),
    ],
)
def test_a_torn_file_about_the_pooling_or_prefixes_is_refused_and_not_passed_over(file, content, copy_tiny):
    folder = copy_tiny("bert")
    (folder / file).write_bytes(content)
    with pytest.raises(BackendError, match=file.rpartition("/")[2]) as caught:
        _ = mlx.open_models({"model": str(folder)}).embedder
    assert caught.value.hint


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("embedding_4bit", {"quantization": {"bits": 0, "group_size": 64}}),
        ("embedding_4bit", {"quantization": {"bits": [4], "group_size": 64}}),
        ("bert", {"vocab_size": 10}),
        ("bert", {"hidden_size": 32}),
        ("bert", {"model_type": "roberta", "pad_token_id": "x"}),
    ],
    ids=str,
)
def test_a_configuration_of_another_model_is_refused(model, changes, open_tiny, copy_tiny):
    with pytest.raises(BackendError, match=r"copy|pad_token_id"):
        documents(open_tiny(copy_tiny(model, **changes)))


def test_an_encoder_without_positions_for_its_window_is_refused(open_tiny, copy_tiny):
    folder = copy_tiny("bert", max_position_embeddings=4096)
    (folder / "sentence_bert_config.json").unlink()
    with pytest.raises(BackendError, match="4096"):
        documents(open_tiny(folder))


@pytest.mark.parametrize("model", ["embedding", "bert"])
def test_a_token_that_the_model_does_not_have_is_refused(model, open_tiny, copy_tiny):
    """MLX would read beyond the table: a vector of whatever lies there, or the end of the process."""
    folder = copy_tiny(model)
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    tokenizer["model"]["vocab"]["z"] = PIECES
    path.write_text(json.dumps(tokenizer))
    embedder = open_tiny(folder)
    with pytest.raises(BackendError, match=f"token {PIECES}"):
        documents(embedder, ["bread", "z"])
    assert documents(embedder, ["bread"]).shape == (1, WIDTH)


def test_links_that_lead_nowhere_are_reported(copy_tiny):
    folder = copy_tiny()
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (folder / name).unlink()
        (folder / name).symlink_to(folder / name)
    found = mlx.open_models({"model": str(folder)}).check()
    assert [any(name in line for line in found) for name in ("config.json", "safetensors")] == [True, True]


def test_the_home_of_somebody_unknown_is_no_folder():
    with pytest.raises(BackendError, match="~nobody-of-this-name"):
        mlx.find_folder("~nobody-of-this-name/model", {})


# Architectures that are not computed here


@pytest.mark.parametrize(
    "changes",
    [{"model_type": "modernbert"}, {"model_type": "gemma3_text"}, {"is_causal": False}],
    ids=["encoder", "decoder", "both-directions"],
)
def test_an_unknown_architecture_is_an_error_that_names_the_extra_and_its_licence(changes, copy_tiny):
    models = mlx.open_models({"model": str(copy_tiny(**changes))})
    with pytest.raises(BackendError, match="architecture") as caught:
        _ = models.embedder
    assert "mlx-embeddings" in caught.value.hint
    assert "GPLv3" in caught.value.hint
    assert "library" in caught.value.hint


@pytest.mark.parametrize(
    "changes", [{"hidden_act": "relu"}, {"position_embedding_type": "relative_key"}], ids=str
)
def test_a_bert_of_another_make_is_a_backend_error(changes, open_tiny, copy_tiny):
    with pytest.raises(BackendError, match="does not support"):
        documents(open_tiny(copy_tiny("bert", **changes)))


@pytest.mark.parametrize("kind", ["Dense", "WeightedLayerPooling"])
def test_a_module_behind_the_transformer_that_is_not_computed_is_a_backend_error(kind, copy_tiny):
    folder = copy_tiny("bert")
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
        {"idle_s": float("inf")},
        {"memory_limit_mb": float("nan")},
    ],
    ids=str,
)
def test_a_wrong_option_is_a_configuration_error_with_a_hint(options):
    with pytest.raises(ConfigError, match=next(iter(options))) as caught:
        mlx.open_models(options)
    assert caught.value.hint


def test_a_window_without_room_is_a_backend_error(open_tiny):
    with pytest.raises(BackendError, match="window of 1"):
        documents(open_tiny(window=1))


@pytest.mark.parametrize(("module", "extra"), [("mlx.core", "mlx"), ("tokenizers", "mlx")])
def test_a_library_that_is_not_installed_is_a_backend_error(module, extra, open_tiny, monkeypatch):
    embedder = open_tiny()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(BackendError, match="cannot load") as caught:
        documents(embedder)
    assert f"ragmem[{extra}]" in caught.value.hint
