"""How question and texts become a request to a reranker, and its answer scores in the order of the texts."""

import numpy as np
import pytest
from provider_protocols import KEY, OpenAI, Reply, Voyage
from provider_servers import serving

from ragmem.backends import open_models
from ragmem.errors import BackendError
from ragmem.ports import HasReranker
from ragmem.testing import RecordingMeter

QUESTION = "why is the disk full"
TEXTS = ["bread rises", "the disk is full of logs", "", "disk"]


class Copies(OpenAI):
    """A server that speaks OpenAI's protocol, and reranks as Cohere and Jina do."""

    reranks = "results"


@pytest.fixture(params=[("voyage", Voyage), ("compatible", Copies)], ids=["voyage", "compatible"])
def opened(request, monkeypatch):
    monkeypatch.setenv("A_KEY", KEY)
    backend, protocol = request.param
    with serving(protocol()) as server:
        meter = RecordingMeter()
        options = {"url": f"{server.root}/v1", "key_variable": "A_KEY", "meter": meter, "retries": 0}
        models = open_models(backend, {**options, "reranker": "ranker"})
        models.server, models.meter = server, meter
        yield models
        models.close()


def test_scores_come_back_in_the_order_of_the_texts(opened):
    assert isinstance(opened, HasReranker)
    scores = opened.reranker.score(QUESTION, TEXTS)
    assert scores.dtype == np.float32
    assert scores.tolist() == pytest.approx([0, 0.8, 0, 0.2])
    [seen] = opened.server.posts
    assert seen.path == "/v1/rerank"
    assert seen.body["model"] == "ranker"
    [call] = opened.meter.calls
    assert (call.purpose, call.tokens_in > 0, call.tokens_out) == ("rerank", True, 0)


def test_no_texts_need_no_request(opened):
    assert opened.reranker.score(QUESTION, []).shape == (0,)
    assert opened.server.posts == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"results": [], "data": []},
        {"results": [{"index": 0}], "data": [{"index": 0}]},
        {"results": 7, "data": 7},
        {
            "results": [{"index": 9, "relevance_score": 1}] * 4,
            "data": [{"index": 9, "relevance_score": 1}] * 4,
        },
    ],
)
def test_an_answer_that_lacks_scores_is_a_backend_error(opened, body):
    opened.server.script.append(Reply(200, body))
    with pytest.raises(BackendError):
        opened.reranker.score(QUESTION, TEXTS)


def test_a_server_that_is_too_slow_costs_its_deadline():
    with serving(Copies()) as server:
        server.script.append(Reply(delay_s=2.0))
        options = {"url": f"{server.root}/v1", "query_timeout_s": 0.2, "retries": 0, "reranker": "ranker"}
        models = open_models("compatible", options)
        with pytest.raises(BackendError):
            models.reranker.score(QUESTION, TEXTS)
        models.close()


def test_a_provider_without_reranking_says_so():
    models = open_models("openai", {"reranker": "ranker"})
    assert "openai offers no reranker" in models.check()
    with pytest.raises(BackendError, match="offers no reranker"):
        _ = models.reranker
    models.close()


def test_models_that_were_opened_for_something_else_have_none():
    models = open_models("voyage", {})
    assert models.reranker is None
    models.close()
