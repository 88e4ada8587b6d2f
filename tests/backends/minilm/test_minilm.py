"""The bundled embedder: every engine is held to the original model's vectors."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.backends import minilm
from ragmem.backends.minilm import MiniLmEmbedder, numpy_engine, onnx_engine
from ragmem.backends.minilm import embedder as embedder_module
from ragmem.backends.minilm.embedder import FOLDER, batch
from ragmem.backends.minilm.engines import candidates, has_fast_int8, open_engine
from ragmem.backends.minilm.weights import Weights, read_spans
from ragmem.errors import BackendError, ConfigError
from ragmem.testing import ModelsContract

DATA = Path(__file__).resolve().parents[2] / "data"
SENTENCES = (DATA / "minilm_sentences.txt").read_text(encoding="utf-8").splitlines()
REFERENCE = np.load(DATA / "minilm_reference.npy")

needs_onnx = pytest.mark.skipif(find_spec("onnxruntime") is None, reason="onnxruntime is not installed")
needs_mlx = pytest.mark.skipif(find_spec("mlx") is None, reason="mlx is not installed")
# MLX's Linux wheel multiplies matrices at 2 GFLOP/s where no OpenBLAS is installed.
slow_mlx = [needs_mlx, pytest.mark.slow]

ENGINES = [
    pytest.param("numpy"),
    pytest.param("onnx", marks=needs_onnx),
    pytest.param("mlx", marks=slow_mlx),
]
# onnx also quantises what flows between the layers.
LEAST_COSINE = {"numpy": 0.999, "onnx": 0.99, "mlx": 0.999}
BATCH_TOLERANCE = {"numpy": 1e-6, "onnx": 0.0, "mlx": 1e-6}
HEAVY = "{'numpy', 'onnxruntime', 'mlx', 'mlx.core'}"


@pytest.fixture(scope="module")
def open_embedder():
    opened = {}

    def open_once(engine):
        if engine not in opened:
            opened[engine] = MiniLmEmbedder(engine=engine, threads=2)
        return opened[engine]

    yield open_once
    for each in opened.values():
        each.close()


@pytest.fixture(scope="module")
def numpy_alone():
    """Return an engine without what prepares its sequences."""
    return open_engine("numpy", FOLDER)


@pytest.fixture(scope="module")
def sentence_vectors(open_embedder):
    """Return a function that gives the vectors of all sentences by an engine; to be read only."""
    known = {}

    def vectors_of(engine):
        if engine not in known:
            known[engine] = open_embedder(engine).embed(SENTENCES, role="document")
        return known[engine]

    return vectors_of


def run_python(code):
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.strip()


class TestBundledModels(ModelsContract):
    def open_models(self):
        return minilm.open_models({"engine": "numpy"})


@needs_onnx
class TestBundledModelsOnOnnx(ModelsContract):
    def open_models(self):
        return minilm.open_models({"engine": "onnx"})


# Fidelity


@pytest.mark.parametrize("engine", ENGINES)
def test_vectors_are_those_of_the_original_model(engine, open_embedder, monkeypatch):
    # The original reads texts in other languages and marks as they are.
    for changed in ("in_english", "strip_markup"):
        monkeypatch.setattr(embedder_module, changed, lambda text: text)
    processor = Path("/proc/cpuinfo")
    if (
        engine == "onnx"
        and processor.exists()
        and "avx2" in (flags := processor.read_text())
        and "vnni" not in flags
    ):
        pytest.skip("onnxruntime's 16-bit sums of int8 products saturate on processors without VNNI")
    some = slice(None, None, 4 if engine == "mlx" else 1)
    vectors = open_embedder(engine).embed(SENTENCES[some], role="document")
    cosines = (vectors * REFERENCE[some]).sum(axis=1)
    assert cosines.min() >= LEAST_COSINE[engine], SENTENCES[some][cosines.argmin()]
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5


MARKED = """## Ports of the **gateway**
| service | port |
|---------|-----:|
| api     | `8080` |
- admin: _never_ open → ask first
════════"""
UNMARKED = "Ports of the gateway service port api 8080 - admin: _never_ open → ask first"


def test_marks_of_markdown_change_no_vector_and_take_no_token(open_embedder):
    embedder = open_embedder("numpy")
    marked, unmarked = embedder.embed([MARKED, UNMARKED], role="document")
    assert marked == pytest.approx(unmarked, abs=1e-6)
    assert embedder.count_tokens(MARKED) == embedder.count_tokens(UNMARKED)


def test_a_heading_that_repeats_the_path_above_it_is_read_once(open_embedder):
    embedder = open_embedder("numpy")
    text = "Guide > Setup\n{}Install the server with one command."
    once, twice, other = (
        text.format(heading) for heading in ("", "## Setup\n\n", "## Setup of a server\n\n")
    )
    vectors = embedder.embed([once, twice, other], role="document")
    assert vectors[0] == pytest.approx(vectors[1], abs=1e-6)
    assert vectors[0] @ vectors[2] < 0.999
    assert embedder.count_tokens(once) == embedder.count_tokens(twice) < embedder.count_tokens(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("written in C#", "written in C"),
        ("the rate is -5", "the rate is 5"),
        ("***", "---"),
        ("a = b", "a b"),
    ],
)
def test_marks_with_a_meaning_are_read(one, other, open_embedder):
    vectors = open_embedder("numpy").embed([one, other], role="document")
    assert vectors[0] @ vectors[1] < 0.999


@pytest.mark.parametrize("engine", ["numpy", pytest.param("onnx", marks=needs_onnx)])
def test_a_question_is_nearest_to_its_answer(engine, sentence_vectors):
    question = SENTENCES.index("Why is the websocket closed after sixty seconds?")
    answer = SENTENCES.index("Because the load balancer has an idle timeout of sixty seconds.")
    vectors = sentence_vectors(engine)
    scores = vectors @ vectors[question]
    scores[question] = -1
    assert scores.argmax() == answer


# A text's vector is its own


@pytest.mark.parametrize("engine", ENGINES)
def test_a_vector_does_not_depend_on_the_other_texts_of_the_call(engine, open_embedder, sentence_vectors):
    embedder = open_embedder(engine)
    # Among them are the shortest and the longest.
    few = sorted(range(len(SENTENCES)), key=lambda place: len(SENTENCES[place]))[:: len(SENTENCES) // 7]
    texts = ["ok", SENTENCES[9]] if engine == "mlx" else [SENTENCES[place] for place in few]
    together = embedder.embed(texts, role="document") if engine == "mlx" else sentence_vectors(engine)[few]
    alone = np.concatenate([embedder.embed([text], role="document") for text in texts])
    assert np.abs(together - alone).max() <= BATCH_TOLERANCE[engine]


@pytest.mark.parametrize("engine", ["numpy", pytest.param("onnx", marks=needs_onnx)])
def test_the_number_of_threads_does_not_change_a_vector(engine, sentence_vectors):
    single = MiniLmEmbedder(engine=engine, threads=1).embed(SENTENCES, role="document")
    assert np.abs(single - sentence_vectors(engine)).max() <= 1e-6


def test_the_role_does_not_change_a_vector(open_embedder):
    embedder = open_embedder("numpy")
    query = embedder.embed(["where are the keys"], role="query")
    assert np.array_equal(query, embedder.embed(["where are the keys"], role="document"))


@pytest.mark.parametrize("engine", ENGINES)
def test_threads_that_share_an_embedder_get_its_vectors(engine, open_embedder):
    texts = ["ok", "TODO"] if engine == "mlx" else SENTENCES[:6]
    embedder = open_embedder(engine)
    expected = embedder.embed(texts, role="document")
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: embedder.embed(texts, role="document"), range(4)))
    assert max(np.abs(result - expected).max() for result in results) <= 1e-6


def test_the_first_texts_may_come_from_several_threads_at_once():
    embedder = MiniLmEmbedder(engine="numpy", threads=2)
    start = threading.Barrier(4)

    def work(_):
        start.wait()
        return embedder.embed(["ok"], role="query")

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(work, range(4))
    assert all(np.array_equal(first, other) for other in others)


# Any text has a vector


@pytest.mark.parametrize("engine", ["numpy", pytest.param("onnx", marks=needs_onnx)])
@pytest.mark.parametrize("text", ["", " \n", "\x00", "\ud800", "a\udfffb", "\u200b", "\u0301"])
def test_a_text_without_words_has_a_unit_vector(engine, text, open_embedder):
    (vector,) = open_embedder(engine).embed([text], role="document")
    assert np.isfinite(vector).all()
    assert abs(np.linalg.norm(vector) - 1) < 1e-5


def test_what_comes_after_the_window_does_not_change_the_vector(open_embedder):
    embedder = open_embedder("numpy")
    text = "memory " * embedder.window
    whole, cut = embedder.embed([text + "and more of it", text], role="document")
    assert np.abs(whole - cut).max() <= 1e-6
    assert embedder.count_tokens(text) == embedder.window
    assert embedder.count_tokens(text + "and more of it") == embedder.window + 4


def test_no_texts_give_an_array_of_no_rows(open_embedder):
    for role in ("document", "query"):
        vectors = open_embedder("numpy").embed([], role=role)
        assert vectors.shape == (0, 384)
        assert vectors.dtype == np.float32


# QuestionCache are remembered


def test_a_repeated_question_is_not_computed_again(monkeypatch, open_embedder):
    embedder = open_embedder("numpy")
    first = embedder.embed(["where is the key kept"], role="query")
    monkeypatch.setattr(embedder, "_embed", None)
    assert np.array_equal(first, embedder.embed(["where is the key kept"], role="query"))


def test_changing_a_returned_vector_does_not_change_the_remembered_one(open_embedder):
    embedder = open_embedder("numpy")
    for _ in range(2):
        vector = embedder.embed(["a question that is spoiled"], role="query")
        assert abs(np.linalg.norm(vector) - 1) < 1e-5
        vector *= 0


def test_no_more_questions_are_remembered_than_agreed(monkeypatch):
    monkeypatch.setattr(embedder_module, "CACHED_QUERIES", 2)
    embedder = MiniLmEmbedder(engine="numpy", threads=1)
    for text in ("one", "two", "one", "three"):
        embedder.embed([text], role="query")
    assert list(embedder._queries) == ["one", "three"]


# Loading


@pytest.mark.parametrize("name", ["ragmem.backends.minilm", "ragmem.backends.mlx"])
def test_importing_and_opening_loads_no_library(name):
    code = f"import sys, {name} as backend; backend.open_models({{}}); print({HEAVY} & set(sys.modules))"
    assert run_python(code) == "set()"


def test_a_single_question_does_not_start_threads_or_onnxruntime_on_the_numpy_engine():
    code = (
        "import sys, threading; from ragmem.backends.minilm import open_models;"
        "open_models({'engine': 'numpy'}).embedder.embed(['where'], role='query');"
        "print(threading.active_count(), 'onnxruntime' in sys.modules)"
    )
    assert run_python(code) == "1 False"


def test_the_thread_limit_of_numpy_is_not_left_to_child_processes():
    code = (
        "import os; os.environ.pop('OPENBLAS_NUM_THREADS', None); before = dict(os.environ);"
        "from ragmem.backends.minilm.blas import import_numpy; import_numpy();"
        "print(dict(os.environ) == before)"
    )
    assert run_python(code) == "True"


def test_closing_twice_is_closing_once_and_the_next_text_loads_again():
    models = minilm.open_models({"engine": "numpy", "threads": 2})
    before = models.embedder.embed(SENTENCES[:3], role="document")
    models.close()
    models.close()
    assert np.array_equal(before, models.embedder.embed(SENTENCES[:3], role="document"))
    models.close()
    assert models.language_model is None


@pytest.mark.parametrize("engine", ["auto", *ENGINES])
def test_missing_weights_are_a_backend_error_with_a_hint(engine, tmp_path):
    embedder = MiniLmEmbedder(engine=engine, folder=tmp_path)
    with pytest.raises(BackendError, match="missing") as caught:
        embedder.embed(["text"], role="query")
    assert "reinstall" in caught.value.hint


@pytest.mark.parametrize("damage", [b"", b"\x00" * 8, b"PK\x03\x04" * 100, b"\xff" * 100, "cut", "other"])
@pytest.mark.parametrize("engine", ["auto", *ENGINES])
def test_damaged_weights_are_a_backend_error(engine, damage, tmp_path):
    whole = (FOLDER / "minilm.safetensors").read_bytes()
    damaged = {"cut": whole[:-1], "other": whole.replace(b"ragmem-minilm-1", b"ragmem-minilm-0", 1)}
    (tmp_path / "minilm.safetensors").write_bytes(damaged.get(damage, damage))
    with pytest.raises(BackendError, match="cannot be read") as caught:
        MiniLmEmbedder(engine=engine, folder=tmp_path).embed(["text"], role="query")
    assert caught.value.hint


@needs_onnx
def test_onnxruntime_packs_the_weights_after_some_sequences_and_the_vectors_stay_the_same(monkeypatch):
    import onnxruntime

    packed = []

    class Options(onnxruntime.SessionOptions):
        def add_session_config_entry(self, name, value):
            packed.append((name, value))
            super().add_session_config_entry(name, value)

    monkeypatch.setattr(onnxruntime, "SessionOptions", Options)
    engine = open_engine("onnx", FOLDER)
    long = [101, *range(2000, 2180), 102]
    sequences = [[101, 2054, 2003, 102], long] * (onnx_engine.FEW // 2)

    first = np.concatenate([engine.forward([one]) for one in sequences[:-1]])
    assert packed == [("session.disable_prepacking", "1")]
    later = engine.forward(sequences)
    engine.forward(sequences)

    assert packed == [("session.disable_prepacking", "1"), ("session.disable_prepacking", "0")]
    assert np.array_equal(first, later[:-1])


@needs_onnx
def test_a_damaged_graph_is_a_backend_error_and_auto_goes_on_with_numpy(tmp_path, monkeypatch):
    (tmp_path / "minilm.safetensors").symlink_to(FOLDER / "minilm.safetensors")
    (tmp_path / "minilm.onnx").write_bytes(b"no graph")
    with pytest.raises(BackendError, match="onnxruntime cannot open"):
        open_engine("onnx", tmp_path)
    monkeypatch.setattr("ragmem.backends.minilm.engines.candidates", lambda **_: ("onnx", "numpy"))
    assert open_engine("auto", tmp_path).id == "numpy"


@pytest.mark.parametrize(("engine", "module"), [("onnx", "onnxruntime"), ("mlx", "mlx.core")])
def test_an_engine_that_is_not_installed_is_a_backend_error(engine, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(BackendError) as caught:
        open_engine(engine, FOLDER)
    assert f"ragmem[{engine}]" in caught.value.hint


def test_a_tensor_that_the_file_lacks_is_a_backend_error():
    with pytest.raises(BackendError, match=r"layer\.9"):
        Weights(FOLDER / "minilm.safetensors").array("layer.9.expand.values")


def test_the_weights_can_be_read_by_the_safetensors_library():
    from safetensors.numpy import load_file

    path = FOLDER / "minilm.safetensors"
    ours, theirs = Weights(path), load_file(path)
    assert set(theirs) == set(read_spans(path.read_bytes()))
    assert all(np.array_equal(ours.array(name), theirs[name]) for name in theirs)
    assert path.stat().st_size <= 25_000_000


# Options and the choice of an engine


@pytest.mark.parametrize(
    "options", [{"engine": "cuda"}, {"engine": None}, {"threads": 0}, {"threads": "two"}]
)
def test_a_wrong_option_is_a_configuration_error_with_a_hint(options):
    with pytest.raises(ConfigError) as caught:
        minilm.open_models(options)
    assert caught.value.hint


def test_every_engine_has_the_same_model_id_and_its_own_name(open_embedder):
    numpy_embedder = open_embedder("numpy")
    assert numpy_embedder.model_id == minilm.MODEL_ID == minilm.open_models({}).embedder.model_id
    assert numpy_embedder.engine == "numpy"
    assert numpy_embedder.dimensions == 384


VNNI = "processor : 0\nflags : fpu sse2 avx512_vnni\n"
NO_VNNI = "processor : 0\nflags : fpu sse2 avx2\nbugs : avx512_vnni\n"
BOTH = frozenset({"mlx", "onnxruntime"})


@pytest.mark.parametrize(
    ("system", "machine", "cpu_info", "installed", "expected"),
    [
        ("darwin", "arm64", "", BOTH, ("mlx", "onnx", "numpy")),
        ("darwin", "arm64", "", frozenset(), ("numpy",)),
        ("darwin", "x86_64", "", BOTH, ("numpy",)),
        ("linux", "x86_64", VNNI, BOTH, ("onnx", "numpy")),
        ("linux", "x86_64", VNNI, frozenset({"mlx"}), ("numpy",)),
        ("linux", "x86_64", NO_VNNI, BOTH, ("numpy",)),
        ("linux", "aarch64", "", BOTH, ("onnx", "numpy")),
        ("win32", "AMD64", "", BOTH, ("numpy",)),
        ("win32", "ARM64", "", BOTH, ("onnx", "numpy")),
    ],
)
def test_the_engine_is_chosen_by_machine_and_installation(system, machine, cpu_info, installed, expected):
    order = candidates(system=system, machine=machine, cpu_info=cpu_info, installed=installed)
    assert order == expected


def test_fast_int8_is_read_from_the_flags_only():
    assert has_fast_int8(machine="x86_64", cpu_info="flags\t\t: fpu avx_vnni\n")
    assert not has_fast_int8(machine="x86_64", cpu_info=NO_VNNI)


# Batches


@given(
    st.lists(st.integers(2, 256), min_size=1, max_size=200),
    st.integers(1, 4096),
    st.integers(1, 8),
)
def test_batches_partition_the_texts(lengths, tokens, least):
    batches = batch(lengths, tokens=tokens, least=least)
    assert sorted(place for places in batches for place in places) == list(range(len(lengths)))
    assert all(sum(lengths[place] for place in places) < tokens + 256 for places in batches)
    assert all(places for places in batches)


def test_a_file_that_is_not_as_shipped_is_named(tmp_path):
    for name in ("minilm.safetensors", "vocab.txt", "minilm.onnx"):
        (tmp_path / name).symlink_to(FOLDER / name)
    models = minilm.open_models({"folder": str(tmp_path)})
    assert models.check() == []
    (tmp_path / "vocab.txt").unlink()
    (tmp_path / "vocab.txt").write_text("[PAD]\n")
    (tmp_path / "minilm.safetensors").unlink()
    vocabulary, weights = sorted(models.check(), key=lambda line: "vocab" not in line)
    assert vocabulary == f'"{tmp_path / "vocab.txt"}" is not as it was shipped (6 bytes)'
    assert weights == f'"{tmp_path / "minilm.safetensors"}" is missing'


def test_a_model_in_another_folder_is_the_one_that_is_used(tmp_path):
    models = minilm.open_models({"folder": str(tmp_path), "engine": "numpy"})
    with pytest.raises(BackendError, match="are missing") as caught:
        models.embedder.embed(["x"], role="query")
    assert str(tmp_path) in str(caught.value)
    assert "--force-reinstall" in caught.value.hint


# The numpy engine


def test_attention_scores_beyond_the_range_of_exp_give_the_same_vectors(
    monkeypatch, open_embedder, sentence_vectors
):
    vectors = sentence_vectors("numpy")
    nothing_is_safe = (float("inf"), 0.0)
    monkeypatch.setattr(numpy_engine, "SAFE_SUMS", nothing_is_safe)
    assert np.abs(open_embedder("numpy").embed(SENTENCES, role="document") - vectors).max() <= 1e-6


@pytest.mark.parametrize("lengths", [(1,), (2, 1, 44), (1, 48), (49, 79), (127, 129, 128), (256, 3, 255)])
def test_a_length_at_the_seams_of_the_numpy_engine_gives_the_same_vectors_in_any_company(
    lengths, numpy_alone
):
    draw = np.random.default_rng(sum(lengths))
    sequences = [draw.integers(0, 30_000, length).tolist() for length in lengths]
    alone = np.concatenate([numpy_alone.forward([sequence]) for sequence in sequences])
    assert np.abs(numpy_alone.forward(sequences) - alone).max() <= 1e-6
    assert np.allclose(np.linalg.norm(alone, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("factor", [-300.0, 300.0])
def test_attention_of_huge_scores_goes_to_the_largest(factor, numpy_alone):
    joined = np.zeros((3, 3, 12, 32), np.float32)
    joined[:, 0, :, 0] = factor
    joined[:, 1, :, 0] = [[-1], [0], [1]]
    joined[:, 2, :, 0] = [[10], [20], [30]]
    context = np.empty((3, 384), np.float32)
    numpy_alone._attend(joined.reshape(3, -1), [0, 3], context)
    assert np.allclose(context.reshape(3, 12, 32)[:, :, 0], 30 if factor > 0 else 10)


@given(st.lists(st.integers(2, 256), min_size=8, max_size=200), st.integers(2, 4))
def test_every_thread_gets_as_many_batches(lengths, threads):
    batches = batch(lengths, tokens=512, least=threads)
    assert len(batches) <= -(-sum(lengths) // (512 * threads)) * threads
