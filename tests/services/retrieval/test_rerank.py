"""A better order of what was found, and a reranker that fails."""

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.backends.fake import FakeReranker
from ragmem.domain.model import Match
from ragmem.services.retrieval.circuit_breaker import CircuitBreaker
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


@pytest.mark.parametrize("scores", [[1.0, 2.0], [1.0, math.nan, 2.0, 3.0, 4.0]])
def test_a_reranker_that_lacks_scores_leaves_the_first_order(scores):
    reranked = rerank(Scores(scores), QUESTION, found(), options=RerankOptions(), breaker=CircuitBreaker())
    assert titles(reranked) == list(TEXTS)
    assert reranked.note.startswith('the first order stays: the reranker "scores" gave no score')


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
