"""How texts become requests to a provider: batches, threads, cuts, repeated texts, and the model's id."""

import json
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from provider_protocols import KEY, Gemini, Ollama, OpenAI, RefusedError, Reply, Voyage
from provider_servers import serving

from ragmem.backends import open_models
from ragmem.backends.providers import compatible
from ragmem.backends.providers.models import ProviderModels
from ragmem.backends.providers.rate_limit import MINUTE_S, Clock, RateLimiter, RetryPolicy
from ragmem.backends.providers.vectors import EMPTY, batches, estimate_tokens
from ragmem.errors import BackendError, ConfigError, TextRejectionError
from ragmem.testing import RecordingMeter


class Local(OpenAI):
    key = ""
    dimensions = 96
    names = ("embedder", "chatter")


@pytest.fixture
def server():
    with serving(Local()) as server:
        yield server


@pytest.fixture
def embedder(server):
    """Return a function that opens an embedder before the server."""
    opened = []

    def make(**options):
        opened.append(open_models("compatible", {"model": "embedder", "url": f"{server.root}/v1", **options}))
        return opened[-1].embedder

    yield make
    for models in opened:
        models.close()


def sent(server):
    return [seen.body["input"] for seen in server.posts]


class Picky(Local):
    """A server that fails on one text, as Ollama does where its model computes NaN."""

    status = 500
    is_down = False

    def embeddings(self, body):
        if self.is_down or any("poison" in text for text in body["input"]):
            if self.status != 200:
                self.refuse(self.status, "failed to encode response: json: unsupported value: NaN")
            return {"data": [{"index": at, "embedding": [0.0]} for at in range(len(body["input"]))]}
        return super().embeddings(body)


# Batches


@given(st.lists(st.text(max_size=30), max_size=15), st.integers(1, 5), st.integers(1, 40))
def test_batches_keep_order_and_limits(texts, most, tokens):
    parts = list(batches(texts, most=most, tokens=tokens))

    assert [text for part in parts for text in part] == texts
    for part in parts:
        assert 1 <= len(part) <= most
        assert len(part) == 1 or sum(map(estimate_tokens, part)) <= tokens


@given(st.text(max_size=200))
def test_the_estimate_of_tokens_is_never_below_what_english_and_chinese_have(text):
    assert estimate_tokens(text) >= max(len(text) / 4, 1)


def test_rows_come_in_the_order_of_the_texts_over_many_requests(server, embedder):
    texts = [f"text number {number} of many" for number in range(50)]

    rows = embedder(batch=7).embed(texts, role="document")

    assert len(server.posts) == 8
    assert max(map(len, sent(server))) == 7
    expected = np.stack(server.protocol.vectors(texts))
    assert np.allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-5)


def test_long_texts_make_batches_of_few(server, embedder):
    server.protocol.window = 10**6

    embedder().embed([f"{number} " + "word " * 4000 for number in range(6)], role="document")

    assert max(map(len, sent(server))) < 6
    assert sum(map(len, sent(server))) == 6


def test_requests_go_several_at_a_time_and_no_more_than_configured(server, embedder):
    server.slow_s = 0.05
    model = embedder(batch=1, concurrency=3)
    texts = [f"text {number}" for number in range(9)]

    threads = [threading.Thread(target=model.embed, args=(texts,), kwargs={"role": "document"}) for _ in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(server.posts) == 18
    assert server.most_at_once == 3


def test_a_question_does_not_wait_for_background_work(server, embedder):
    model = embedder(batch=1, concurrency=1)
    model.embed(["to know the dimensions"], role="document")
    server.slow_s = 0.2
    work = threading.Thread(
        target=model.embed, args=([f"text {n}" for n in range(5)],), kwargs={"role": "document"}
    )
    work.start()
    server.wait_for(2)

    model.embed(["what is it"], role="query")

    assert work.is_alive()
    work.join()


def test_after_a_failure_the_rest_is_not_asked_for(server, embedder):
    server.script.append(Reply(400, {"error": {"message": "no"}}))

    with pytest.raises(BackendError, match="refuses the request"):
        embedder(batch=1, concurrency=1).embed([f"text {n}" for n in range(30)], role="document")

    assert len(server.posts) < 5


def test_a_failure_does_not_wait_for_requests_that_run_still(server, embedder):
    server.script.extend([Reply(delay_s=3.0), Reply(400, {"error": {"message": "no"}})])

    began = time.monotonic()
    with pytest.raises(BackendError, match="refuses the request"):
        embedder(batch=1, concurrency=2, dimensions=96).embed(["one", "two", "three"], role="document")

    assert time.monotonic() - began < 2.5


def test_a_text_is_sent_once_however_often_it_comes(server, embedder):
    rows = embedder().embed(["same", "other", "same", "same"], role="document")

    assert sent(server) == [["same", "other"]]
    assert np.array_equal(rows[0], rows[2])
    assert np.array_equal(rows[0], rows[3])


# Texts


def test_a_text_without_a_word_is_sent_as_one_that_all_providers_take(server, embedder):
    rows = embedder().embed(["", " \n\t", "word"], role="document")

    assert sent(server) == [[EMPTY, "word"]]
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


def test_prefixes_stand_before_texts_and_questions(server, embedder):
    model = embedder(query_prefix="query: ", document_prefix="passage: ")

    model.embed(["a text", ""], role="document")
    model.embed(["a question"], role="query")

    assert sent(server) == [["passage: a text", f"passage: {EMPTY}"], ["query: a question"]]


def test_a_text_that_is_too_long_is_cut_and_its_neighbours_are_not(server, embedder):
    server.protocol.window = 100
    texts = ["short one", "word " * 300, "short two", "other " * 90]

    together = embedder().embed(texts, role="document")
    alone = np.concatenate([embedder().embed([text], role="document") for text in texts])

    assert np.allclose(together, alone, atol=1e-6)
    expected = server.protocol.vectors(["short one", "short two"])
    assert np.allclose(together[[0, 2]], [row / np.linalg.norm(row) for row in expected], atol=1e-5)


def test_a_window_that_is_configured_spares_the_refusal(server, embedder):
    server.protocol.window = 100

    embedder(window=99).embed(["word " * 300], role="document")

    assert len(server.posts) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 512 tokens. However, you requested 1451 tokens"),
        (400, "the input length exceeds the context length"),
        (500, "input is too large to process. increase the physical batch size"),
        (413, "Input is too long."),
        (429, "Request too large for text-embedding-3-small on tokens per min (TPM): Limit 30000"),
    ],
)
def test_each_servers_words_for_too_long_lead_to_a_shorter_text(server, embedder, status, message):
    server.script.append(Reply(status, {"error": {"message": message}}))

    embedder().embed(["word " * 1000], role="document")

    assert [len(texts[0]) for texts in sent(server)] == [5000, 2500]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (413, "batch size 3 > maximum allowed batch size 2"),
        (400, "batch size is invalid, it should not be larger than 2.: input.contents"),
        (400, "BatchEmbedContentsRequest.requests: at most 2 requests can be in one batch"),
    ],
)
def test_each_servers_words_for_too_many_texts_lead_to_smaller_batches(server, embedder, status, message):
    server.script.append(Reply(status, {"error": {"message": message}}))

    embedder().embed(["one", "two", "three"], role="document")

    assert sent(server) == [["one", "two", "three"], ["one"], ["two", "three"]]


@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_text_that_a_server_cannot_embed_is_told_from_a_server_that_is_down(status):
    with serving(Picky()) as server:
        server.protocol.status = status
        models = open_models("compatible", {"model": "embedder", "url": f"{server.root}/v1", "retries": 0})
        with pytest.raises(TextRejectionError):
            models.embedder.embed(["good", "poison"], role="document")
        with pytest.raises(BackendError) as asked:
            models.embedder.embed(["poison"], role="query")
        server.protocol.is_down = True
        with pytest.raises(BackendError) as down:
            models.embedder.embed(["good"], role="document")
        models.close()

    assert not isinstance(asked.value, TextRejectionError)
    assert not isinstance(down.value, TextRejectionError)


def test_a_server_to_which_everything_is_too_long_is_given_up(server, embedder):
    server.protocol.window = 0

    with pytest.raises(BackendError, match="maximum context length"):
        embedder().embed(["word " * 20_000], role="document")

    assert len(server.posts) < 12


@settings(max_examples=10, deadline=None)
@given(texts=st.lists(st.text(st.characters(), max_size=40), min_size=1, max_size=5))
def test_any_text_can_be_sent(texts):
    with serving(Local()) as server:
        models = open_models("compatible", {"model": "embedder", "url": f"{server.root}/v1"})
        assert models.embedder.embed(texts, role="document").shape == (len(texts), 96)
        models.close()


# Dimensions


def test_dimensions_are_asked_of_the_server_once(server, embedder):
    model = embedder()

    assert (model.dimensions, model.dimensions) == (96, 96)
    assert len(server.posts) == 1


def test_dimensions_are_learnt_from_the_first_vectors(server, embedder):
    model = embedder()
    model.embed(["a text"], role="document")

    assert model.dimensions == 96
    assert len(server.posts) == 1


@pytest.mark.parametrize(
    ("kind", "model", "length", "name"),
    [
        (("openai", OpenAI, "/v1"), "text-embedding-3-small", 256, "dimensions"),
        (("ollama", Ollama, ""), "embedder", 128, "dimensions"),
        (("gemini", Gemini, "/v1beta"), "gemini-embedding-001", 768, "outputDimensionality"),
        (("voyage", Voyage, "/v1"), "voyage-3.5", 512, "output_dimension"),
        (("compatible", Local, "/v1"), "embedder", 32, "dimensions"),
    ],
)
def test_dimensions_that_are_configured_are_asked_for(kind, model, length, name, monkeypatch):
    backend, protocol, tail = kind
    monkeypatch.setenv("A_KEY", KEY)
    with serving(protocol()) as server:
        server.protocol.names = (*server.protocol.names, model)
        options = {"model": model, "url": f"{server.root}{tail}", "key_variable": "A_KEY"}
        models = open_models(backend, {**options, "dimensions": length})

        assert models.embedder.dimensions == length
        assert server.posts == []
        assert models.embedder.embed(["a text"], role="document").shape == (1, length)
        body = server.posts[0].body
        assert (body["requests"][0] if backend == "gemini" else body)[name] == length
        assert models.embedder.model_id == f"{backend}/{model}@{length}"
        models.close()


def test_well_known_models_need_no_request_to_know_their_dimensions():
    for backend, model, length in [
        ("openai", "text-embedding-3-large", 3072),
        ("voyage", "", 1024),
        ("gemini", "", 3072),
        ("ollama", "nomic-embed-text", 768),
    ]:
        models = open_models(backend, {"model": model, "url": "http://127.0.0.1:9/v1"})
        assert models.embedder.dimensions == length
        models.close()


def test_a_server_that_takes_no_length_may_still_have_the_right_one(server, embedder):
    server.protocol.understands = frozenset()
    model = embedder(dimensions=96)

    model.embed(["a text"], role="document")
    model.embed(["another"], role="document")

    assert ["dimensions" in seen.body for seen in server.posts] == [True, False, False]


def test_base64_is_left_out_where_it_is_refused(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.protocol.understands = frozenset()
    models = open_models("openai", {"model": "embedder", "url": f"{server.root}/v1", "dimensions": 96})

    models.embedder.embed(["a text"], role="document")
    models.embedder.embed(["another"], role="document")

    assert ["encoding_format" in seen.body for seen in server.posts] == [True, False, False, False]
    models.close()


# Ids


def test_the_id_tells_models_apart_and_not_servers(embedder):
    first = embedder()
    ids = {
        first.model_id,
        embedder(dimensions=32).model_id,
        embedder(document_prefix="passage: ").model_id,
        embedder(document_prefix="text: ").model_id,
        embedder(model="other").model_id,
    }

    assert len(ids) == 5
    assert embedder(url="http://127.0.0.1:1234/v1").model_id == first.model_id == "compatible/embedder"
    # A question's prefix changes no stored vector.
    assert embedder(query_prefix="query: ").model_id == first.model_id


# QuestionCache


def test_a_question_that_was_asked_is_not_asked_again(server, embedder):
    model = embedder()

    first = model.embed(["what is it"], role="query")
    again = model.embed(["what is it"], role="query")
    again[0] = 0
    third = model.embed(["what is it", "another"], role="query")

    assert sent(server) == [["what is it"], ["another"]]
    assert np.array_equal(first[0], third[0])


def test_of_many_questions_the_newest_are_kept(server, embedder):
    model = embedder(batch=400)
    questions = [f"question {number}" for number in range(300)]

    model.embed(questions, role="query")
    model.embed(questions[-256:], role="query")
    assert len(server.posts) == 1

    model.embed(questions[:1], role="query")
    assert len(server.posts) == 2


# Limits


def test_no_minute_has_more_requests_than_allowed():
    moment = [0.0]
    clock = Clock(now=lambda: moment[0], sleep=lambda seconds: moment.__setitem__(0, moment[0] + seconds))
    pacing = RateLimiter(5, clock)
    times = []
    for _ in range(23):
        pacing.wait(RetryPolicy(60, None, 3))
        times.append(moment[0])
        moment[0] += 1.0

    for begin in times:
        assert sum(begin <= other < begin + MINUTE_S for other in times) <= 5
    assert times[-1] == 4 * MINUTE_S + 2


def test_the_limit_holds_for_all_threads_together():
    moment, times, own = [0.0], [], threading.local()

    def now():
        own.moment = moment[0]
        return own.moment

    pacing = RateLimiter(3, Clock(now=now, sleep=lambda seconds: time.sleep(0.001)))

    def work():
        for _ in range(3):
            pacing.wait(RetryPolicy(60, None, 3))
            times.append(own.moment)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.005)
        moment[0] += MINUTE_S / 4

    assert len(times) == 12
    for begin in times:
        assert sum(begin <= other < begin + MINUTE_S for other in times) <= 3


def test_requests_wait_for_the_limit(server):
    skipped = []
    clock = Clock(now=lambda: time.monotonic() + sum(skipped), sleep=skipped.append)
    options = {
        "model": "embedder",
        "url": f"{server.root}/v1",
        "requests_per_minute": 4,
        "batch": 1,
        "concurrency": 1,
    }
    models = ProviderModels(compatible.PROVIDER, {**options, "dimensions": 96}, clock=clock)

    models.embedder.embed([f"text {number}" for number in range(9)], role="document")

    assert len(server.posts) == 9
    assert sum(skipped) >= MINUTE_S
    models.close()


def test_a_question_does_not_wait_for_the_limit(server):
    def refuse(seconds):
        raise AssertionError(f"slept {seconds}")

    options = {"model": "embedder", "url": f"{server.root}/v1", "requests_per_minute": 1}
    models = ProviderModels(compatible.PROVIDER, options, clock=Clock(sleep=refuse))

    for number in range(3):
        models.embedder.embed([f"question {number}"], role="query")

    assert len(server.posts) == 3
    models.close()


# Counting


def test_each_request_is_counted_also_those_that_failed(server, embedder):
    meter = RecordingMeter()
    server.script.append(Reply(503, b"later", {"Retry-After": "0"}))

    embedder(meter=meter).embed(["one two three four"], role="document")

    assert meter.admitted == ["document", "document"]
    failed, done = meter.calls
    assert (failed.error, failed.tokens_in) == ("status 503", 0)
    assert (done.error, done.backend, done.purpose) == ("", "compatible", "document")
    assert done.model == "compatible/embedder"
    assert done.tokens_in == server.protocol.words("one two three four")


def test_tokens_that_nobody_counted_are_estimated(server, embedder):
    server.protocol.usage = False
    meter = RecordingMeter()

    embedder(meter=meter).embed(["word " * 100], role="document")

    assert 100 <= meter.calls[0].tokens_in <= 200


@pytest.mark.parametrize("count", ["12", -5, 1.5, 1e30, 10**30, True, [1], {"a": 1}, None])
def test_a_count_of_tokens_that_is_none_is_estimated(server, embedder, count):
    answer = {"data": [{"embedding": [1.0, 2.0], "index": 0}], "usage": {"prompt_tokens": count}}
    server.script.append(Reply(body=json.dumps(answer).encode()))
    meter = RecordingMeter()

    embedder(meter=meter).embed(["word " * 100], role="document")

    assert 100 <= meter.calls[0].tokens_in <= 200


def test_a_cap_that_is_reached_stops_before_the_request(server, embedder):
    with pytest.raises(BackendError, match="daily cap"):
        embedder(meter=RecordingMeter(refuses=True)).embed(["a text"], role="document")

    assert server.posts == []


def test_a_time_out_is_counted_as_one(server, embedder):
    meter = RecordingMeter()
    server.script.append(Reply(delay_s=0.3))

    with pytest.raises(BackendError):
        embedder(meter=meter, timeout_s=0.05, retries=0).embed(["a text"], role="document")

    assert [call.error for call in meter.calls] == ["timeout"]
    assert meter.calls[0].seconds >= 0.05


# Configuration

# As the portal shows the address of a deployment.
PORTAL = "https://n.openai.azure.com/openai/deployments/x/embeddings?api-version=2023-05-15"


@pytest.mark.parametrize(
    ("backend", "options", "problems"),
    [
        ("openai", {"model": ""}, ["there is no key: OPENAI_API_KEY is not set"]),
        ("openai", {"model": "", "key_variable": "MY_KEY"}, ["there is no key: MY_KEY is not set"]),
        ("openai", {"language_model": ""}, ["no model of openai is named", "there is no key"]),
        ("azure", {"model": "x"}, ["url is missing", "there is no key: AZURE_OPENAI_API_KEY"]),
        ("compatible", {"model": ""}, ["no model of compatible is named", "url is missing"]),
        ("compatible", {"model": "x", "url": "localhost:8000"}, ["must start with http:// or https://"]),
        ("azure", {"model": "x", "url": PORTAL}, ["there is no key: AZURE_OPENAI_API_KEY"]),
        ("ollama", {"model": "x"}, []),
        ("gemini", {"model": ""}, ["there is no key: GEMINI_API_KEY or GOOGLE_API_KEY"]),
        ("anthropic", {"model": "x"}, ["anthropic offers no embeddings"]),
        ("voyage", {"language_model": "x"}, ["voyage offers no language model"]),
    ],
)
def test_what_the_configuration_lacks_is_said_without_a_request(backend, options, problems, monkeypatch):
    for name in ("OPENAI", "AZURE_OPENAI", "GEMINI", "GOOGLE"):
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
    found = open_models(backend, options).check()

    assert len(found) == len(problems)
    for line, problem in zip(found, problems, strict=True):
        assert problem in line


@pytest.mark.parametrize(
    "options",
    [
        {"window": "many"},
        {"batch": -1},
        {"dimensions": 10**30},
        {"body": "x"},
        {"body": {"x": 10**30}},
        {"purpose": "fun"},
        {"timeout_s": "5"},
        {"timeout_s": 1e300},
        {"timeout_s": float("nan")},
        {"url": 7},
        {"model": "a\udcff"},
    ],
)
def test_an_option_of_another_type_is_an_error_of_the_configuration(options):
    with pytest.raises(ConfigError):
        open_models("openai", {"model": "", **options})


def test_what_a_provider_does_not_offer_is_said():
    with pytest.raises(BackendError, match="anthropic offers no embeddings"):
        _ = open_models("anthropic", {"model": "x"}).embedder
    with pytest.raises(BackendError, match="voyage offers no language model"):
        _ = open_models("voyage", {"language_model": "x"}).language_model
    assert open_models("openai", {"model": "x"}).language_model is None
    with pytest.raises(BackendError, match="was opened for its language model"):
        _ = open_models("openai", {"language_model": "x"}).embedder


def test_what_is_configured_as_body_goes_along(server, embedder):
    server.protocol.embeddings = lambda body: {"data": [{"embedding": [1.0, 2.0], "index": 0}], "seen": body}

    embedder(body={"priority": 3}).embed(["a text"], role="document")

    assert server.posts[0].body["priority"] == 3


def test_a_model_that_is_refused_in_passing_does_not_change_what_is_asked_later(server, embedder):
    server.protocol.understands = frozenset({"dimensions"})
    model = embedder(dimensions=32)
    ordinary = server.protocol.embeddings

    def fail(body):
        raise RefusedError(400, {"error": {"message": "dimensions: overloaded, do not ask now"}})

    server.protocol.embeddings = fail
    with pytest.raises(BackendError):
        model.embed(["a text"], role="document")
    server.protocol.embeddings = ordinary

    assert model.embed(["a text"], role="document").shape == (1, 32)
