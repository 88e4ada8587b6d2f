"""A better order of what was found, and a reranker that fails."""

import math
import time
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.backends.fake import FakeReranker
from ragmem.domain.model import Draft, Match, Scope
from ragmem.errors import BackendError
from ragmem.services.retrieval.circuit_breaker import CircuitBreaker
from ragmem.services.retrieval.query import Question
from ragmem.services.retrieval.rerank import RerankOptions, rerank
from ragmem.testing import make_record

QUESTION = "why is the disk full"
TEXTS = ("bread rises", "the disk is full of logs", "full moon", "why not", "disk")


def match(text, score):
    record = make_record(text, text)
    return Match(record.memory, record.chunks[0], score, {"cosine": 0.5})


def found(scores=(0.9, 0.8, 0.7, 0.6, 0.5)):
    return [match(text, score) for text, score in zip(TEXTS, scores, strict=True)]


class Scores:
    """A reranker that gives what it is told to."""

    model_id = "scores"

    def __init__(self, scores):
        self.scores = scores

    def score(self, query, texts):
        return np.array(self.scores[: len(texts)], np.float32)


def titles(reranked):
    return [one.memory.title for one in reranked.matches]


def test_the_better_answer_comes_first_and_the_scores_keep_their_places():
    reranked = rerank(
        FakeReranker("valid"), QUESTION, found(), options=RerankOptions(), breaker=CircuitBreaker()
    )
    assert titles(reranked)[0] == "the disk is full of logs"
    assert [one.score for one in reranked.matches] == [0.9, 0.8, 0.7, 0.6, 0.5]
    assert reranked.matches[0].terms["cosine"] == 0.5
    assert reranked.matches[0].terms["reranker"] == pytest.approx(0.8)
    assert reranked.note == ""


def test_only_the_candidates_are_read():
    reranked = rerank(
        Scores([0, 1, 9, 9, 9]),
        QUESTION,
        found(),
        options=RerankOptions(candidates=2),
        breaker=CircuitBreaker(),
    )
    assert titles(reranked) == [TEXTS[1], TEXTS[0], *TEXTS[2:]]


@given(
    st.lists(st.floats(-20, 20), min_size=5, max_size=5),
    st.lists(st.floats(0, 1), min_size=5, max_size=5),
    st.floats(0, 1),
)
def test_every_match_comes_back_once_with_the_same_scores_in_order(scores, before, weight):
    matches = found(sorted(before, reverse=True))
    reranked = rerank(
        Scores(scores), QUESTION, matches, options=RerankOptions(weight=weight), breaker=CircuitBreaker()
    )
    assert sorted(titles(reranked)) == sorted(TEXTS)
    assert [one.score for one in reranked.matches] == sorted(before, reverse=True)


def test_without_weight_the_first_order_stays():
    reranked = rerank(
        Scores([1, 2, 3, 4, 5]), QUESTION, found(), options=RerankOptions(weight=0), breaker=CircuitBreaker()
    )
    assert titles(reranked) == list(TEXTS)


@pytest.mark.parametrize("scores", [[1.0, 2.0], [math.nan] * 5])
def test_a_reranker_that_lacks_scores_leaves_the_first_order(scores):
    reranked = rerank(Scores(scores), QUESTION, found(), options=RerankOptions(), breaker=CircuitBreaker())
    assert titles(reranked) == list(TEXTS)
    assert reranked.note.startswith('the original order stays: the reranker "scores" did not score')


def test_what_was_not_read_in_time_keeps_its_place():
    scores = Scores([1.0, math.nan, 2.0, math.nan, 3.0])
    reranked = rerank(scores, QUESTION, found(), options=RerankOptions(weight=1), breaker=CircuitBreaker())
    assert titles(reranked) == [TEXTS[4], TEXTS[1], TEXTS[2], TEXTS[3], TEXTS[0]]
    assert [one.score for one in reranked.matches] == [0.9, 0.8, 0.7, 0.6, 0.5]
    assert reranked.note == "the reranker read 3 of 5 before the timeout"


def test_a_dead_reranker_is_waited_for_once():
    breaker, options = CircuitBreaker(), RerankOptions(deadline=0.3)
    started = time.monotonic()
    for _ in range(20):
        reranked = rerank(FakeReranker("slow"), QUESTION, found(), options=options, breaker=breaker)
        assert reranked.matches == tuple(found())
        assert "did not answer within 0.3 s" in reranked.note
    assert time.monotonic() - started < 1


def test_one_match_needs_no_reranker():
    one = found()[:1]
    assert (
        rerank(FakeReranker("down"), QUESTION, one, options=RerankOptions(), breaker=CircuitBreaker()).note
        == ""
    )


def test_a_memory_has_the_configured_reranker_and_counts_what_it_is_asked(open_memory):
    memory = open_memory(RAGMEM_RERANKER_BACKEND="fake", RAGMEM_RERANKER_MODEL="valid")
    memory.prepare()
    reranked = rerank(
        memory.models.reranker, QUESTION, found(), options=RerankOptions(), breaker=CircuitBreaker()
    )
    assert titles(reranked)[0] == "the disk is full of logs"
    assert [use.purpose for use in memory.ledger.rows()] == ["rerank"]


def test_a_memory_has_no_reranker_unless_one_is_named(open_memory):
    assert open_memory().models.reranker is None


@pytest.fixture
def asked(open_memory):
    """Return a memory with two notes, and a function that says for which questions its reranker was asked."""

    def open_one(**environ):
        memory = open_memory(**{**FAKE_RERANKER, **environ})
        drafts = [
            Draft("ingest", str(number), text, scope=Scope("user")) for number, text in enumerate(NOTES)
        ]
        memory.ingest(drafts)
        return memory

    return open_one


FAKE_RERANKER = {"RAGMEM_RERANKER_BACKEND": "fake", "RAGMEM_RERANKER_MODEL": "valid"}

NOTES = (
    "We decided to keep the sessions in Redis, because the disk of the server was full of session files.",
    "We decided to rotate the logs of the server each night, because they filled the whole disk in March.",
)


def read_by(memory):
    """Return how many questions the reranker was asked."""
    return sum(sums.calls for use, sums in memory.ledger.rows().items() if use.purpose == "rerank")


@pytest.mark.parametrize(("use", "plain"), [("always", 1), ("careful", 0)])
def test_the_configuration_says_which_questions_are_read(use, plain, asked):
    memory = asked(RAGMEM_RERANKER_USE=use)
    question = Question("why is the disk of the server full")
    assert len(memory.retrieval.ask(question).matches) == 2
    assert read_by(memory) == plain
    careful = memory.retrieval.ask(question, careful=True)
    assert read_by(memory) == plain + 1
    assert "reranker" in careful.matches[0].terms


def test_a_hook_never_asks_a_reranker(asked):
    memory = asked()
    prompt = "The disk of the server is full of session files again: should the sessions stay in Redis?"
    told = memory.injections.anticipate("s", prompt, projects=["user"])
    assert told.context.memories
    assert read_by(memory) == 0


def test_a_careful_question_without_a_reranker_is_told(open_memory):
    memory = open_memory()
    memory.prepare()
    with pytest.raises(BackendError, match="none is configured") as caught:
        memory.retrieval.ask(Question("why is the disk full"), careful=True)
    assert "[reranker]" in caught.value.hint


def test_a_cross_encoder_in_an_onnx_file_reads_a_careful_question(asked, tmp_path):
    if find_spec("onnxruntime") is None or find_spec("onnx") is None:
        pytest.skip("onnx and onnxruntime are not installed")
    from tiny_onnx import make_reranker

    folder = make_reranker(tmp_path / "ranker")
    memory = asked(
        RAGMEM_RERANKER_BACKEND="onnx", RAGMEM_RERANKER_MODEL=str(folder), RAGMEM_RERANKER_TIMEOUT_S="60"
    )
    question = Question("why is the disk of the server full")
    answer = memory.retrieval.ask(question, careful=True)
    expected = memory.models.reranker.score(question.text, [one.chunk.searchable for one in answer.matches])
    assert [one.terms["reranker"] for one in answer.matches] == pytest.approx(expected.tolist(), abs=1e-4)
    (folder / "tokenizer.json").unlink()
    damaged = asked(RAGMEM_RERANKER_BACKEND="onnx", RAGMEM_RERANKER_MODEL=str(folder))
    answer = damaged.retrieval.ask(question, careful=True)
    assert len(answer.matches) == 2
    assert "the original order stays" in answer.notes[-1]
    assert "tokenizer.json" in answer.notes[-1]
