"""The engine of the bundled model: measured once, remembered in the cache folder."""

import json
import weakref
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np
import pytest

from ragmem.backends import minilm
from ragmem.backends.minilm import embedder
from ragmem.backends.minilm.embedder import FILE, machine_key, recall_engine, remember_engine
from ragmem.errors import BackendError, ConfigError

BULK = ["every night the store is copied to the second disk, and the copy is read again"] * 6
KEY = {"processor": "linux x86_64 One", "numpy": "2.4.6", "onnxruntime": "1.31.1"}
SPEEDS = {"numpy": 3000.4, "onnx": 9000.6}

needs_onnx = pytest.mark.skipif(find_spec("onnxruntime") is None, reason="onnxruntime is not installed")


@pytest.fixture
def two_engines(monkeypatch):
    """Make numpy and onnx the candidates of an ARM processor, and a few texts enough to measure them."""
    monkeypatch.setattr("ragmem.backends.minilm.engines.machine_type", lambda: "aarch64")
    for module in ("embedder", "engines"):
        monkeypatch.setattr(f"ragmem.backends.minilm.{module}.local_candidates", lambda: ("onnx", "numpy"))
    monkeypatch.setattr("ragmem.backends.minilm.embedder.WORTH_TOKENS", 64)


def set_speeds(monkeypatch, speeds):
    calls = []
    monkeypatch.setattr(
        "ragmem.backends.minilm.embedder.measure", lambda engines, *_, **__: calls.append(engines) or speeds
    )
    return calls


def names_in(folder):
    return [path.name for path in folder.iterdir()]


def embedder_of(folder):
    return minilm.open_models({"cache": folder, "threads": 1}).embedder


def test_the_fastest_engine_is_remembered_for_its_processor_and_versions(tmp_path):
    remember_engine(tmp_path / "cache", KEY, SPEEDS)
    assert recall_engine(tmp_path / "cache", KEY) == "onnx"
    assert recall_engine(tmp_path / "cache", KEY | {"processor": "another"}) is None
    assert recall_engine(tmp_path / "cache", KEY | {"onnxruntime": "1.32.0"}) is None
    assert names_in(tmp_path / "cache") == [FILE]
    assert (tmp_path / "cache" / FILE).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff", b'{"key": 1}', "cut", "unknown"])
def test_a_torn_or_foreign_file_is_ignored_and_made_again(content, tmp_path):
    remember_engine(tmp_path, KEY, SPEEDS)
    whole = (tmp_path / FILE).read_bytes()
    damaged = {"cut": whole[:-9], "unknown": whole.replace(b'"engine": "onnx"', b'"engine": "cuda"')}
    (tmp_path / FILE).write_bytes(damaged.get(content, content))
    assert recall_engine(tmp_path, KEY) is None
    remember_engine(tmp_path, KEY, SPEEDS)
    assert recall_engine(tmp_path, KEY) == "onnx"


def test_a_folder_that_cannot_be_written_costs_only_the_memory_of_it(tmp_path):
    (tmp_path / "cache").write_text("a file, where the folder should be")
    remember_engine(tmp_path / "cache", KEY, SPEEDS)
    assert recall_engine(tmp_path / "cache", KEY) is None
    (tmp_path / "other" / FILE).mkdir(parents=True)
    remember_engine(tmp_path / "other", KEY, SPEEDS)
    assert names_in(tmp_path / "other") == [FILE]


def test_the_key_names_the_installed_versions():
    assert machine_key(("numpy",), processor="x") == {"processor": "x", "numpy": version("numpy")}


def test_an_engine_is_timed_on_the_texts_of_the_call():
    class Sleepless:
        id, batch_tokens = "numpy", 8

        def __init__(self):
            self.seen = []

        def forward(self, sequences):
            self.seen.append(sum(map(len, sequences)))

    engine = Sleepless()
    assert embedder.measure([engine], [[1] * 5] * 9, threads=2)["numpy"] > 0
    assert engine.seen == [5, 10, 10]


def test_an_engine_that_fails_is_no_candidate():
    class Broken:
        id, batch_tokens = "onnx", 8

        def forward(self, sequences):
            raise BackendError("onnxruntime cannot embed: no memory")

    class Working:
        id, batch_tokens = "numpy", 8

        def forward(self, sequences):
            pass

    assert set(embedder.measure([Broken(), Working()], [[1] * 5], threads=1)) == {"numpy"}
    with pytest.raises(BackendError, match="no memory"):
        embedder.measure([Broken()], [[1] * 5], threads=1)


@needs_onnx
@pytest.mark.parametrize("fastest", ["numpy", "onnx"])
def test_a_large_call_measures_and_the_next_process_knows(fastest, tmp_path, monkeypatch, two_engines):
    calls = set_speeds(monkeypatch, {"numpy": 1.0, "onnx": 1.0} | {fastest: 2.0})
    embedder = embedder_of(tmp_path)
    assert embedder.embed(BULK, role="document").shape == (6, 384)
    assert embedder.engine == fastest
    embedder.embed(BULK, role="document")
    following = embedder_of(tmp_path)
    following.embed(BULK, role="document")
    assert following.engine == fastest
    assert len(calls) == 1
    assert json.loads((tmp_path / FILE).read_text())["engine"] == fastest


@needs_onnx
def test_flags_of_an_x86_processor_decide_without_a_measurement(tmp_path, monkeypatch, two_engines):
    calls = set_speeds(monkeypatch, {"numpy": 2.0, "onnx": 1.0})
    monkeypatch.setattr("ragmem.backends.minilm.engines.machine_type", lambda: "x86_64")
    embedder = embedder_of(tmp_path)
    embedder.embed(BULK, role="document")
    assert (calls, names_in(tmp_path), embedder.engine) == ([], [], "onnx")


@needs_onnx
def test_a_question_never_measures(tmp_path, monkeypatch, two_engines):
    calls = set_speeds(monkeypatch, {"numpy": 2.0, "onnx": 1.0})
    embedder = embedder_of(tmp_path)
    embedder.embed(["where is the second disk"], role="query")
    assert (calls, names_in(tmp_path), embedder.engine) == ([], [], "onnx")


@needs_onnx
def test_the_measured_call_has_the_vectors_of_the_chosen_engine(tmp_path, monkeypatch, two_engines):
    set_speeds(monkeypatch, {"numpy": 2.0, "onnx": 1.0})
    vectors = embedder_of(tmp_path).embed(BULK, role="document")
    expected = minilm.open_models({"engine": "numpy"}).embedder.embed(BULK, role="document")
    assert np.abs(vectors - expected).max() <= 1e-6


@needs_onnx
@pytest.mark.parametrize("fastest", ["numpy", "onnx"])
def test_the_slower_engine_is_freed(fastest, tmp_path, monkeypatch, two_engines):
    engines = {}

    def measure(measured, *_, **__):
        engines.update({engine.id: weakref.ref(engine) for engine in measured})
        return dict.fromkeys(engines, 1.0) | {fastest: 2.0}

    monkeypatch.setattr("ragmem.backends.minilm.embedder.measure", measure)
    embedder = embedder_of(tmp_path)
    embedder.embed(BULK, role="document")
    assert [name for name, engine in engines.items() if engine() is not None] == [embedder.engine]


@needs_onnx
def test_a_named_engine_is_not_measured(tmp_path, monkeypatch, two_engines):
    calls = set_speeds(monkeypatch, {"numpy": 1.0, "onnx": 2.0})
    embedder = minilm.open_models({"cache": tmp_path, "engine": "numpy"}).embedder
    embedder.embed(BULK, role="document")
    assert (calls, names_in(tmp_path), embedder.engine) == ([], [], "numpy")


@pytest.mark.parametrize("name", [None, "", "all-MiniLM-L6-v2", minilm.MODEL_ID])
def test_the_bundled_model_may_be_named(name):
    assert minilm.open_models({"model": name}).embedder.model_id == minilm.MODEL_ID


def test_another_model_is_refused_with_the_backends_that_could():
    with pytest.raises(ConfigError, match="Qwen3-Embedding") as caught:
        minilm.open_models({"model": "Qwen3-Embedding-0.6B"})
    assert "ollama" in caught.value.hint
