"""A cross-encoder on onnxruntime: scores of pairs beside numpy, in time."""

import shutil
from importlib.util import find_spec

import numpy as np
import pytest

from ragmem.backends import onnx
from ragmem.errors import BackendError

if find_spec("onnxruntime") is None or find_spec("onnx") is None:
    pytest.skip("onnx and onnxruntime are not installed", allow_module_level=True)

from tiny_onnx import make_model, make_reranker, reference_score
from tokenizers import Tokenizer

QUESTION = "why did the deployment fail"
TEXTS = ["the disk was full", "bread rises slowly", "", "deployment " * 600, "a server may fail"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_reranker(tmp_path_factory.mktemp("onnx") / "ranker")


def open_reranker(folder, **options):
    return onnx.open_models({"reranker": str(folder), "threads": 2, **options}).reranker


def expected(folder, question, texts, *, window=128):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(window, strategy="only_second")
    pairs = [tokenizer.encode(question, text) for text in texts]
    return np.array([reference_score(pair.ids, pair.type_ids) for pair in pairs])


def test_scores_are_those_of_numpy_in_batches_and_alone(folder):
    scores = open_reranker(folder).score(QUESTION, TEXTS)
    assert scores.dtype == np.float32
    assert np.abs(scores - expected(folder, QUESTION, TEXTS)).max() < 1e-4
    assert len(set(scores.tolist())) == len(TEXTS)
    alone = [open_reranker(folder).score(QUESTION, [text])[0] for text in TEXTS]
    assert np.abs(scores - alone).max() < 1e-5
    assert open_reranker(folder).score(QUESTION, []).shape == (0,)
    small = open_reranker(folder, batch_tokens=10).score(QUESTION, TEXTS)
    assert np.abs(scores - small).max() < 1e-5


def test_question_and_text_are_told_apart(folder):
    one = open_reranker(folder).score("disk full", ["bread"])[0]
    assert abs(one - open_reranker(folder).score("bread", ["disk full"])[0]) > 1e-4


def test_int8_gives_nearly_the_same_scores_which_no_other_text_changes(folder, tmp_path):
    exact = open_reranker(folder).score(QUESTION, TEXTS)
    packed = open_reranker(make_reranker(tmp_path / "int8", int8=True))
    scores = packed.score(QUESTION, TEXTS)
    assert 0 < np.abs(exact - scores).max() < 0.1 * np.abs(exact).max()
    assert packed.score(QUESTION, TEXTS[::-1])[::-1].tolist() == scores.tolist()


@pytest.mark.parametrize("question", ["", "deployment " * 500, "\ud83d\x00", "東京 " * 200])
def test_any_question_leaves_room_for_the_text(question, folder):
    scores = open_reranker(folder).score(question, TEXTS)
    assert np.isfinite(scores).all()
    assert scores[0] != scores[1]


@pytest.fixture
def slow_clock(monkeypatch):
    """A clock that jumps a second with each look at it: a model takes one for each batch."""
    from ragmem.backends.onnx import cross_encoder

    now = iter(range(1000))
    monkeypatch.setattr(cross_encoder.time, "monotonic", lambda: float(next(now)))


def test_what_was_not_read_in_time_has_no_score(folder, slow_clock):
    options = {"threads": 1, "batch_tokens": 1, "idle_s": 0}
    scores = open_reranker(folder, **options, query_timeout_s=8.0).score(QUESTION, ["disk"] * 9)
    assert np.isfinite(scores[:2]).all()
    assert np.isnan(scores[-5:]).all()
    with pytest.raises(BackendError, match=r"read no text within 0\.5 s") as caught:
        open_reranker(folder, **options, query_timeout_s=0.5).score(QUESTION, TEXTS)
    assert "timeout_s" in caught.value.hint


def test_a_text_that_would_take_too_long_is_left_out_before_it_begins(folder, slow_clock):
    """A short text took a second, so that one of ten times as many tokens would come too late."""
    ranker = open_reranker(folder, threads=1, batch_tokens=1, idle_s=0, query_timeout_s=8.0)
    scores = ranker.score(QUESTION, ["disk", "deployment " * 600, "disk"])
    assert np.isfinite(scores[[0, 2]]).all()
    assert np.isnan(scores[1])


def test_problems_are_told_before_the_first_question(folder, tmp_path):
    assert onnx.open_models({"reranker": str(folder)}).check() == []
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "tokenizer.json").unlink()
    assert len(onnx.open_models({"reranker": str(copy)}).check()) == 1
    with pytest.raises(BackendError, match=r"tokenizer\.json"):
        open_reranker(copy)


def test_models_that_are_no_cross_encoder_are_told(tmp_path):
    with pytest.raises(BackendError, match="3 labels"):
        open_reranker(make_reranker(tmp_path / "three", labels=3))
    with pytest.raises(BackendError, match='no output "logits"'):
        open_reranker(make_model(tmp_path / "embedder", "bert"))
