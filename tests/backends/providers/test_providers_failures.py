"""Every provider's failures: repeated where that helps, told in one line, and never with the key."""

import json
import logging
import time
import traceback
from importlib import import_module

import numpy as np
import pytest
from certificates import write_cert, write_key
from provider_protocols import HTML, KEY, SERVICES, Ollama, OpenAI, Reply
from provider_servers import serving

from ragmem.backends import SHIPPED
from ragmem.backends.providers import azure, compatible, connection
from ragmem.backends.providers.models import ProviderModels
from ragmem.backends.providers.rate_limit import LONGEST_ASKED_S, Clock
from ragmem.errors import BackendError


class Local(OpenAI):
    """A server that people run themselves; it takes what OpenAI took."""

    understands = OpenAI.understands | {"max_tokens"}


# Backend, protocol, path of its address, half, model.
KINDS = [
    *(
        (import_module(SHIPPED[one.backend]), one.protocol, one.path, half, model)
        for one in SERVICES
        for half, model in (("model", one.model), ("language_model", one.chatter))
        if model
    ),
    (compatible, Local, "/v1", "model", "embedder"),
    (compatible, Local, "/v1", "language_model", "chatter"),
]
IDS = [f"{module.__name__.rpartition('.')[2]}-{half}" for module, _, _, half, _ in KINDS]
EMBEDDERS = [(kind, name) for kind, name in zip(KINDS, IDS, strict=True) if kind[3] == "model"]


class Skipping:
    """A clock on which sleeping takes no time, and is written down."""

    def __init__(self):
        self.slept = []

    def clock(self):
        return Clock(now=lambda: time.monotonic() + sum(self.slept), sleep=self.slept.append)


def locals_of(error):
    """Return what a report that shows the local variables of all frames would print of this package."""
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            if "test" not in trace.tb_frame.f_code.co_filename:
                yield repr(trace.tb_frame.f_locals)
            trace = trace.tb_next
        error = error.__cause__ or error.__context__


class Asking:
    """The models of one kind before its server."""

    def __init__(self, kind, server, **options):
        module, _, path, half, model = kind
        self.half = half
        self.server = server
        self.time = Skipping()
        given = {"url": f"{server.root}{path}", half: model, "key_variable": "A_KEY", **options}
        provider = module.provider(given) if module is azure else module.PROVIDER
        self.models = ProviderModels(provider, given, clock=self.time.clock())

    def ask(self, text="what is redis for"):
        if self.half == "model":
            return self.models.embedder.embed([text], role="document")
        return self.models.language_model.complete(text)

    def fail(self, caplog, *, echoed=False):
        """Return the error of asking, after a look for the key in all that could be printed."""
        with caplog.at_level(logging.DEBUG), pytest.raises(BackendError) as caught:
            self.ask()
        printed = [
            caplog.text,
            repr(self.models),
            repr(vars(self.models)),
            repr(caught.value.hint),
            *traceback.format_exception(caught.value),
        ]
        assert KEY not in "".join(printed)
        # What a server repeats stands in its answer, where nothing can be done about it.
        assert echoed or KEY not in "".join(locals_of(caught.value))
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400
        return caught.value


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("A_KEY", KEY)


@pytest.fixture
def asking(request):
    """Return a function that opens the models of a kind before a server of its protocol."""
    with serving(request.param[1]()) as server:
        server.protocol.names = (*server.protocol.names, request.param[4])
        opened = []

        def ask(**options):
            opened.append(Asking(request.param, server, **options))
            return opened[-1]

        yield ask
        for each in opened:
            each.models.close()


each_kind = pytest.mark.parametrize("asking", KINDS, ids=IDS, indirect=True)
each_embedder = pytest.mark.parametrize(
    "asking", [kind for kind, _ in EMBEDDERS], ids=[name for _, name in EMBEDDERS], indirect=True
)
# What the transport does is the same for all; half of a provider tells apart who asks it.
each_half = pytest.mark.parametrize("asking", KINDS[:2], ids=IDS[:2], indirect=True)
one_kind = pytest.mark.parametrize("asking", KINDS[:1], ids=IDS[:1], indirect=True)
local_kind = pytest.mark.parametrize("asking", KINDS[-2:-1], ids=IDS[-2:-1], indirect=True)


@each_kind
def test_a_wrong_key_is_not_tried_again_and_the_hint_says_where_it_comes_from(asking, caplog, monkeypatch):
    asked = asking()
    if isinstance(asked.server.protocol, Ollama):
        asked.server.script.append(Reply(401, {"error": "unauthorized"}))
    monkeypatch.setenv("A_KEY", KEY[::-1])

    error = asked.fail(caplog)

    assert "refuses the key" in str(error)
    assert "set A_KEY, or key_command in config.toml" in error.hint
    assert KEY[::-1] not in f"{error}{error.hint}{caplog.text}"
    assert len(asked.server.posts) == 1


@each_half
def test_a_limit_of_the_rate_is_waited_for_as_long_as_the_server_asks(asking):
    asked = asking()
    asked.server.script.append(Reply(429, {"error": {"message": "slow down"}}, {"Retry-After": "7"}))

    assert len(asked.ask())
    assert len(asked.server.posts) == 2
    assert 7 <= sum(asked.time.slept) < 8


@each_half
def test_a_failure_of_the_server_is_repeated(asking):
    asked = asking()
    asked.server.script.extend([Reply(500, b"oops"), Reply(529, {"error": "overloaded"})])

    assert len(asked.ask())
    assert len(asked.server.posts) == 3


@each_half
def test_repetitions_are_bounded(asking, caplog):
    asked = asking(retries=2)
    asked.server.script.extend([Reply(503, b"<html>try later</html>")] * 9)

    error = asked.fail(caplog)

    assert "failed (status 503)" in str(error)
    assert len(asked.server.posts) == 3
    assert len(asked.time.slept) == 2


@each_half
def test_a_server_that_does_not_answer_is_given_up(asking, caplog):
    asked = asking(timeout_s=0.1, query_timeout_s=0.1, retries=1)
    asked.server.script.extend([Reply(delay_s=0.4)] * 2)

    error = asked.fail(caplog)

    assert "did not answer within 0.1 s" in str(error)
    assert "raise timeout_s in config.toml" in error.hint
    asked.server.wait_for(2)
    assert len(asked.server.posts) == 2


@each_half
def test_a_connection_that_breaks_is_made_anew(asking):
    asked = asking()
    whole = {"data": "x" * 2000}
    asked.server.script.extend([Reply(body=whole, reset=True), Reply(body=whole, missing=10)])

    assert len(asked.ask())
    assert len(asked.server.posts) == 3


@one_kind
def test_a_connection_that_always_breaks_is_told(asking, caplog):
    asked = asking(retries=1)
    asked.server.script.extend([Reply(body={"data": "x" * 2000}, reset=True)] * 3)

    assert "broke off" in str(asked.fail(caplog))
    assert len(asked.server.posts) == 2


@each_half
def test_json_that_is_cut_short_names_the_address(asking, caplog):
    asked = asking(retries=1)
    asked.server.script.extend([Reply(body=b'{"data": [{"index": 0, "embedd')] * 3)

    error = asked.fail(caplog)

    assert "truncated JSON" in str(error)
    assert asked.server.root in str(error)
    assert len(asked.server.posts) == 2


@each_half
def test_a_web_page_names_the_address(asking, caplog):
    asked = asking()
    asked.server.script.append(Reply(body=HTML))

    error = asked.fail(caplog)

    assert "answered with a web page" in str(error)
    assert asked.server.root in str(error)
    assert len(asked.server.posts) == 1


@each_half
def test_a_limit_of_the_rate_that_is_told_with_status_200_is_repeated(asking):
    asked = asking()
    asked.server.script.append(Reply(200, {"error": {"message": "upstream is busy", "code": 429}}))

    asked.ask()

    assert len(asked.server.posts) == 2


ODD = (
    {}, [], [1], {"data": 7}, {"data": [None]}, {"choices": []}, {"embeddings": [[]]}, "text", None, 7,
    {"content": None, "stop_reason": None}, {"candidates": [None]}, {"message": None},
    {"message": {"content": None}}, {"message": {"content": 7}}, {"choices": [{"message": {"content": {}}}]},
)  # fmt: skip


@each_kind
def test_an_answer_of_another_form_is_an_error_of_the_backend(asking, caplog):
    asked = asking()
    for body in ODD:
        asked.server.script.append(Reply(body=json.dumps(body).encode()))
        assert str(asked.fail(caplog)), body
    assert len(asked.server.posts) == len(ODD)


@each_kind
def test_a_server_that_repeats_the_key_does_not_get_it_printed(asking, caplog):
    asked = asking()
    told = {"error": {"message": f"no {KEY} here, nor {KEY[:-3]}, nor {KEY[4:]}\n\n{'x' * 999}"}}
    asked.server.script.append(Reply(400, told))

    error = asked.fail(caplog, echoed=True)

    assert "no *** here" in str(error)
    assert KEY[:12] not in str(error)
    assert KEY[-12:] not in str(error)


# Vectors


def answer_of(rows):
    """Return these vectors in the words of every protocol at once."""
    return {
        "data": [{"index": place, "embedding": row} for place, row in enumerate(rows)],
        "embeddings": [row if isinstance(row, str) else {"values": row} for row in rows],
    }


def embeddings_reply(asked, rows):
    answer = answer_of(rows)
    if isinstance(asked.server.protocol, Ollama):
        answer["embeddings"] = rows
    return Reply(body=json.dumps(answer).encode())


@one_kind
def test_a_length_that_was_not_asked_for_names_both(asking, caplog):
    asked = asking(dimensions=64)
    asked.server.script.append(embeddings_reply(asked, [[1.0] * 48]))

    error = asked.fail(caplog)

    assert "48 dimensions, not 64" in str(error)


@one_kind
def test_a_server_that_changes_its_length_names_both(asking, caplog):
    asked = asking()
    length = asked.ask().shape[1]
    asked.server.script.append(embeddings_reply(asked, [[1.0] * 48]))

    assert f"48 dimensions, not {length}" in str(asked.fail(caplog))
    assert asked.models.embedder.dimensions == length


# These may be the fault of the text, so that another one is tried.
NO_DIRECTION = ([0.0] * 384, [float("nan")] * 384, [float("inf")] * 384, [None] * 384)
NO_VECTORS = (
    *NO_DIRECTION, ["a"] * 384, [], [[1.0]] * 384, {"a": 1}, "AAAA", "AAA", "!", None, 7,
)  # fmt: skip


@each_embedder
def test_a_vector_that_is_none_is_an_error(asking, caplog):
    asked = asking()
    for row in NO_VECTORS:
        asked.server.script.append(embeddings_reply(asked, [row]))
        assert "protocol" in str(asked.fail(caplog)), row
    assert len(asked.server.posts) == len(NO_VECTORS) + len(NO_DIRECTION)


@each_embedder
def test_a_missing_vector_is_an_error(asking, caplog):
    asked = asking()
    asked.server.script.append(embeddings_reply(asked, [[1.0] * 384] * 2))

    assert "protocol" in str(asked.fail(caplog))


# Waiting


@one_kind
def test_a_quota_that_is_used_up_is_not_waited_for(asking, caplog):
    asked = asking()
    told = {"error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}}
    asked.server.script.append(Reply(429, told, {"Retry-After": "1"}))

    assert "has no quota left" in str(asked.fail(caplog))
    assert (len(asked.server.posts), asked.time.slept) == (1, [])


@one_kind
def test_a_wait_of_hours_is_not_waited_for(asking, caplog):
    asked = asking()
    asked.server.script.append(Reply(429, b"{}", {"Retry-After": str(LONGEST_ASKED_S + 1)}))

    assert "limits the rate" in str(asked.fail(caplog))
    assert (len(asked.server.posts), asked.time.slept) == (1, [])


@pytest.mark.parametrize("asking", KINDS[7:8], ids=IDS[7:8], indirect=True)
@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after-ms": "2500", "retry-after": "9"}, b"{}", 2.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, b"{}", 0.0),
        ({}, {"error": {"message": "slow", "details": [{"retryDelay": "11s"}]}}, 11.0),
        ({"retry-after": "soon"}, b"{}", 0.0),
        ({"retry-after": "-5"}, b"{}", 0.0),
        ({"retry-after": "nan"}, b"{}", 0.0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 +99999999999999"}, b"{}", 0.0),
    ],
)
def test_each_way_to_ask_for_a_wait_is_understood(asking, headers, body, seconds):
    asked = asking()
    if isinstance(body, dict):
        body = json.dumps(body).encode()
    asked.server.script.append(Reply(429, body, headers))

    assert len(asked.ask())
    assert seconds <= sum(asked.time.slept) <= seconds + 0.5


@one_kind
def test_a_question_is_repeated_once_and_not_beyond_its_time(asking):
    asked = asking(query_timeout_s=2.0, retries=9)
    asked.server.script.extend([Reply(500)] * 9)

    with pytest.raises(BackendError):
        asked.models.embedder.embed(["what is redis for"], role="query")

    assert len(asked.server.posts) == 2
    assert sum(asked.time.slept) < 2.0


@one_kind
def test_a_question_does_not_wait_longer_than_its_time_for_a_server_that_asks_for_more(asking):
    asked = asking(query_timeout_s=2.0)
    asked.server.script.append(Reply(429, b"{}", {"Retry-After": "3"}))

    with pytest.raises(BackendError):
        asked.models.embedder.embed(["what is redis for"], role="query")

    assert (len(asked.server.posts), asked.time.slept) == (1, [])


@one_kind
@pytest.mark.parametrize("head", [True, False], ids=["head", "body"])
def test_a_trickle_of_bytes_does_not_hold_a_question(asking, head):
    asked = asking(query_timeout_s=0.3, retries=0)
    asked.server.trickle_s = 0.05
    asked.server.trickles_head = head

    began = time.monotonic()
    with pytest.raises(BackendError, match="did not answer within"):
        asked.models.embedder.embed(["what is redis for"], role="query")

    assert time.monotonic() - began < 1.5


@one_kind
def test_an_answer_without_end_is_given_up(asking, caplog, monkeypatch):
    monkeypatch.setattr(connection, "LONGEST_ANSWER", 2**20)
    asked = asking()
    asked.server.script.append(Reply(body=b"[" + b"0," * 2**20 + b"0]"))

    assert "longer than 1 MiB" in str(asked.fail(caplog))


# Addresses


@one_kind
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_the_key_does_not_follow_a_redirect_to_another_server(asking, status, caplog):
    asked = asking()
    with serving(OpenAI()) as other:
        asked.server.script.append(Reply(status, b"", {"Location": f"{other.root}/v1/embeddings?token=x"}))

        error = asked.fail(caplog)

        assert other.seen == []
    assert f"redirects to {other.root}/v1/embeddings" in str(error)
    assert "token" not in str(error)


@one_kind
def test_a_redirect_at_the_same_server_is_followed(asking):
    asked = asking()
    asked.server.script.append(Reply(307, b"", {"Location": "/v1/embeddings"}))

    assert len(asked.ask())
    assert len(asked.server.posts) == 2


@one_kind
@pytest.mark.parametrize("location", ["http://[", "//[", "http://h:99999/"])
def test_a_redirect_to_what_is_no_address_is_told(asking, location, caplog):
    asked = asking()
    asked.server.script.append(Reply(307, b"", {"Location": location}))

    assert f"redirects to {location.rstrip('/')}" in str(asked.fail(caplog))


@one_kind
def test_redirects_in_a_circle_end(asking, caplog):
    asked = asking()
    asked.server.script.extend([Reply(307, b"", {"Location": "/v1/embeddings"})] * 20)

    assert "redirects to" in str(asked.fail(caplog))
    assert len(asked.server.posts) <= 5


@local_kind
@pytest.mark.parametrize("wrong", ["", "/", "/v1/embeddings", "/v1/chat/completions", "/v2", "/api"])
def test_an_address_without_its_v1_is_told_how_to_write(asking, wrong, caplog):
    asked = asking()
    asked = asking(url=f"{asked.server.root}{wrong}")

    error = asked.fail(caplog)

    assert f'write url = "{asked.server.root}/v1" in config.toml, [models]' in error.hint


@local_kind
def test_a_server_that_tells_a_wrong_path_with_status_200_is_asked_for_the_right_one(asking, caplog):
    asked = asking()
    asked = asking(url=asked.server.root)
    asked.server.script.append(Reply(200, {"error": "Unexpected endpoint or method. (POST /embeddings)"}))

    assert f'write url = "{asked.server.root}/v1"' in asked.fail(caplog).hint


@pytest.mark.parametrize("asking", KINDS[4:7], ids=IDS[4:7], indirect=True)
@pytest.mark.parametrize("tail", ["/v1", "/v1/", ""])
def test_a_v1_that_this_provider_does_not_want_does_no_harm(asking, tail):
    asked = asking()
    asked = asking(url=f"{asked.server.root}{tail}")

    assert len(asked.ask())


@pytest.mark.parametrize(
    "asking",
    [kind for kind in KINDS if kind[1].lists_models],
    ids=[name for kind, name in zip(KINDS, IDS, strict=True) if kind[1].lists_models],
    indirect=True,
)
def test_a_model_that_the_server_lacks_is_told_with_those_it_has(asking, caplog):
    asked = asking()
    asked = asking(**{asked.half: "no-such-model"})

    error = asked.fail(caplog)

    assert 'has no model "no-such-model"' in str(error)
    assert asked.server.protocol.names[0] in error.hint
    assert len(asked.server.posts) == 1


@pytest.mark.parametrize("asking", [KINDS[2], KINDS[9]], ids=[IDS[2], IDS[9]], indirect=True)
def test_a_model_that_cannot_be_listed_is_told_in_the_providers_words(asking, caplog):
    asked = asking(model="no-such-model")

    error = asked.fail(caplog)

    assert "not exist" in str(error) or "is not supported. Supported models are" in str(error)


@pytest.mark.parametrize("asking", [KINDS[1], KINDS[5]], ids=[IDS[1], IDS[5]], indirect=True)
def test_a_server_that_does_not_run_is_told_with_its_address(asking, caplog):
    asked = asking(retries=1)
    asked.server.close()

    error = asked.fail(caplog)

    assert f"no server answers at {asked.server.root}" in str(error)
    if "ollama" in str(error):
        assert "is the server running (`ollama serve`)?" in error.hint


@local_kind
def test_an_address_that_is_missing_is_told_with_an_example(asking, caplog):
    asked = asking(url="")

    assert str(asked.fail(caplog)) == 'url is missing; it looks like "http://127.0.0.1:8000/v1"'


@local_kind
@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8000/v1",
        "ftp://x/v1",
        "http://",
        "http://[::1/v1",
        "http://h:x/v1",
        "http://a..b/v1",
        f"http://{'a' * 64}/v1",
        "http://127.0.0.1:1\n/v1",
        "http://127.0.0.1/a b",
    ],
)
def test_an_address_that_is_none_is_told_like_a_server_that_is_down(asking, url, caplog):
    asked = asking(url=url)

    assert asked.models.check()
    error = asked.fail(caplog)
    assert "is not a URL" in str(error)
    assert error.hint == "write url in config.toml, [models]"


@local_kind
def test_a_password_in_the_address_is_refused_and_not_shown(asking, caplog):
    asked = asking()
    asked = asking(url=asked.server.root.replace("http://", "http://someone:s3cret@") + "/v1")

    error = asked.fail(caplog)

    assert "is written with a name or password" in str(error)
    assert "s3cret" not in f"{error}{error.hint}{asked.models.check()}"
    assert asked.server.seen == []


@local_kind
def test_a_certificate_that_nobody_knows_is_told_and_can_be_made_known(asking, caplog, monkeypatch, tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    write_cert(cert, write_key(key))
    asking().server.use_tls(cert, key)
    asked = asking()

    error = asked.fail(caplog)

    assert "no secure connection" in str(error)
    assert "set SSL_CERT_FILE" in error.hint
    assert asked.time.slept == []
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    assert np.isfinite(asking().ask()).all()


@local_kind
def test_a_server_on_this_machine_is_not_asked_through_a_proxy(asking, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert np.isfinite(asking().ask()).all()
