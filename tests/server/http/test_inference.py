"""The models' routes: with the OpenAI client on a real server, through another home, and their refusals."""

import asyncio
import base64
import json
import threading
from contextlib import suppress

import numpy as np
import pytest

from ragmem.__main__ import run
from ragmem.api.memory import Ragmem
from ragmem.backends import open_models
from ragmem.backends.fake import FakeEmbedder, FakeModels
from ragmem.config.loader import load
from ragmem.errors import BackendError, LimitReachedError
from ragmem.server import app
from ragmem.server.http.llm_workers import LlmWorkers, Shutdown
from ragmem.server.inference.chat import StopSequences, schema_problem
from ragmem.services.ingestion.options import DraftOptions

SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "green"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
ASKED = [{"role": "user", "content": "How many words were said?"}]
SAID = "5 words were said."


@pytest.fixture(scope="module")
def openai():
    """The client's library, which takes longer to import than most tests; not where tests are collected."""
    import openai

    return openai


@pytest.fixture(scope="module")
def ai(openai, answering_server):
    with openai.OpenAI(
        base_url=f"{answering_server.url}/v1", api_key=answering_server.token, max_retries=0
    ) as client:
        yield client


class Speaker:
    """A language model that says its parts one by one, and fails where one is an error."""

    model_id = "speaker"

    def __init__(self, *parts, gate=None):
        self.parts = parts
        self.gate = gate
        self.closed = threading.Event()
        self.asked = []

    def complete(self, prompt, *, system="", max_tokens=1024, json_schema=None):
        self.asked.append((prompt, system, max_tokens, json_schema))
        return "".join(self.stream(prompt))

    def stream(self, prompt, *, system="", max_tokens=1024):
        self.asked.append((prompt, system, max_tokens, None))
        try:
            for part in self.parts:
                if isinstance(part, BackendError):
                    raise part
                yield part
                if self.gate is not None:
                    assert self.gate.wait(10)
        finally:
            self.closed.set()


@pytest.fixture
def spoken(tmp_path, connect):
    """Return a function that serves a language model, without a socket."""
    opened = []

    def serve(model):
        environ = {"RAGMEM_HOME": str(tmp_path / "ragmem"), "RAGMEM_STORE_BACKEND": "fake"}
        settings = load(environ=environ, home=tmp_path, cwd=tmp_path)
        memory = Ragmem(settings, home=tmp_path, cwd=tmp_path, models=FakeModels(model))
        context = connect(memory)
        opened.append((context, memory))
        return context.__enter__()

    yield serve
    for context, memory in opened:
        context.__exit__(None, None, None)
        memory.close()


def refused(response, status):
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return error


def test_the_openai_client_lists_the_models(ai):
    embedder, chatter = ai.models.list().data
    assert embedder.id == FakeEmbedder().model_id
    assert (embedder.owned_by, embedder.kind, embedder.dimensions) == ("fake", "embedding", 384)
    assert (chatter.id, chatter.kind, chatter.aliases) == (
        "fake-valid",
        "chat",
        ["default", "valid", "fake:valid"],
    )


def test_the_openai_client_asks_for_one_model(openai, ai):
    embedder, chatter = ai.models.list().data
    assert ai.models.retrieve("default") == embedder
    assert ai.models.retrieve(chatter.id) == chatter
    with pytest.raises(openai.NotFoundError, match='there is no model "org/nope"'):
        ai.models.retrieve("org/nope")


def shown_names(capsys):
    """Return every name that `models list` shows for the configured models, in both of its forms."""
    assert run(["models", "list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    names = {told["embedder"]["backend"], told["vectors"] and told["vectors"]["active"]}
    names |= {one["name"] for one in told["models"] if one["configured"]}
    assert run(["models", "list"]) == 0
    names.add(capsys.readouterr().out.splitlines()[0].split()[1].rstrip(";"))
    return {name for name in names if name}


@pytest.mark.parametrize("stored", [True, False])
def test_every_name_that_models_list_shows_is_taken_by_the_server_and_by_the_configuration(
    tmp_path, connect, capsys, monkeypatch, stored
):
    monkeypatch.setenv("RAGMEM_STORE_BACKEND", "fake")
    with Ragmem.open() as memory:
        if stored:
            note = b"We decided to pin psycopg 3.2, because 3.1 resets connections."
            memory.ingest(memory.ingestion.draft([], DraftOptions(), text=note).drafts)
        names = shown_names(capsys)
        assert {"minilm", "all-MiniLM-L6-v2"} <= names
        assert ("all-MiniLM-L6-v2-int8-1" in names) == stored
        with connect(memory) as client:
            for name in names:
                answer = client.post("/v1/embeddings", model=name, input="a text")
                assert answer.status_code == 200, (name, answer.text)
                assert client.get(f"/v1/models/{name}").json()["kind"] == "embedding"
            told = client.post("/v1/embeddings", model="team/none", input="x")
            assert "there is no model" in refused(told, 404)["message"]
    for name in names:
        assert run(["models", "use", name, "--no-test"]) == 0, (name, capsys.readouterr().err)
        assert run(["models", "test", name]) == 0, (name, capsys.readouterr().err)
        if name != "minilm":
            monkeypatch.setenv("RAGMEM_MODELS_MODEL", name)
            with Ragmem.open() as memory:
                assert len(memory.models.embedder.embed(["a text"], role="document")) == 1
            monkeypatch.delenv("RAGMEM_MODELS_MODEL")


def test_a_model_that_is_here_and_not_configured_is_told_apart_from_none(tmp_path, connect, monkeypatch):
    folder = tmp_path / "ragmem" / "data" / "models" / "team--encoder"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "bert"}')
    environ = {"RAGMEM_HOME": str(tmp_path / "ragmem"), "RAGMEM_STORE_BACKEND": "fake"}
    environ["RAGMEM_MODELS_BACKEND"] = "fake"
    with Ragmem.open(environ=environ, home=tmp_path, cwd=tmp_path) as memory, connect(memory) as client:
        told = client.post("/v1/embeddings", model="team/encoder", input="x")
        assert "is not configured" in refused(told, 404)["message"]


@pytest.mark.parametrize("form", ["float", "base64", None])
def test_the_openai_client_embeds(ai, form):
    given = {} if form is None else {"encoding_format": form}
    texts = [f"text number {number}" for number in range(70)]
    answer = ai.embeddings.create(model="default", input=texts, **given)
    rows = [one.embedding for one in answer.data]
    if form == "base64":
        rows = [np.frombuffer(base64.b64decode(row), "<f4") for row in rows]
    expected = FakeEmbedder().embed(texts, role="document")
    np.testing.assert_allclose(np.array(rows, np.float32), expected, rtol=1e-6)
    assert [one.index for one in answer.data] == list(range(70))
    assert answer.usage.prompt_tokens == sum(-(-len(text) // 4) for text in texts)


def test_the_openai_client_chats(ai):
    answer = ai.chat.completions.create(model="valid", messages=ASKED, temperature=0.7)
    assert answer.choices[0].message.content == SAID
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_the_openai_client_streams(ai):
    chunks = list(
        ai.chat.completions.create(
            model="default", messages=ASKED, stream=True, stream_options={"include_usage": True}
        )
    )
    told = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(told) == SAID
    assert len([one for one in told if one]) > 1
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage.completion_tokens == -(-len(SAID) // 4)


def test_the_openai_client_gets_json_by_a_schema(ai):
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "strict": True}}
    answer = ai.chat.completions.create(model="default", messages=ASKED, response_format=form)
    assert json.loads(answer.choices[0].message.content) == {"colour": "red"}


def test_the_openai_client_raises_its_own_errors(openai, ai, answering_server):
    with pytest.raises(openai.NotFoundError) as caught:
        ai.embeddings.create(model="text-embedding-9", input="x")
    assert caught.value.code == "model_not_found"
    with pytest.raises(openai.NotFoundError, match="GET /v1/models"):
        ai.chat.completions.create(model="gpt-9", messages=ASKED)
    with pytest.raises(openai.BadRequestError, match="tools are not supported"):
        ai.chat.completions.create(model="default", messages=ASKED, tools=[{"type": "function"}])
    with pytest.raises(openai.BadRequestError, match="384 dimensions"):
        ai.embeddings.create(model="default", input="x", dimensions=256)
    with (
        openai.OpenAI(base_url=f"{answering_server.url}/v1", api_key="wrong", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError) as caught,
    ):
        stranger.models.list()
    assert (caught.value.code, caught.value.type) == ("invalid_api_key", "invalid_request_error")
    assert caught.value.body["message"].startswith("the token is missing or wrong; send it as")


def test_another_home_embeds_and_answers_through_this_one(answering_server, open_memory, monkeypatch):
    monkeypatch.setenv("OTHER_TOKEN", answering_server.token)
    url = f"{answering_server.url}/v1"
    memory = open_memory(
        RAGMEM_MODELS_BACKEND="compatible",
        RAGMEM_MODELS_MODEL=FakeEmbedder().model_id,
        RAGMEM_MODELS_URL=url,
        RAGMEM_MODELS_KEY_VARIABLE="OTHER_TOKEN",
        RAGMEM_LANGUAGE_MODEL_BACKEND="compatible",
        RAGMEM_LANGUAGE_MODEL_MODEL="default",
        RAGMEM_LANGUAGE_MODEL_URL=url,
        RAGMEM_LANGUAGE_MODEL_KEY_VARIABLE="OTHER_TOKEN",
    )
    note = b"We decided to pin psycopg 3.2, because 3.1 resets connections."
    memory.ingest(memory.ingestion.draft([], DraftOptions(), text=note).drafts)
    assert set(memory.store.vector_models()) == {(f"compatible/{FakeEmbedder().model_id}", 384)}
    assert memory.query("why do we pin psycopg").rung == "text and vectors"
    model = memory.answers.model
    assert "".join(model.stream(ASKED[0]["content"])) == SAID
    assert json.loads(model.complete("A colour?", json_schema=SCHEMA)) == {"colour": "red"}


def test_openais_own_backend_works_against_it_too(answering_server, monkeypatch):
    monkeypatch.setenv("OTHER_TOKEN", answering_server.token)
    models = open_models(
        "openai", {"url": f"{answering_server.url}/v1", "model": "default", "key_variable": "OTHER_TOKEN"}
    )
    texts = ["one", "two"]
    found = models.embedder.embed(texts, role="document")
    np.testing.assert_allclose(found, FakeEmbedder().embed(texts, role="document"), rtol=1e-5)
    models.close()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"input": [1, 2, 3]}, "tokens are not accepted"),
        ({"input": [[1, 2], [3]]}, "tokens are not accepted"),
        ({"input": []}, "0 texts"),
        ({"input": ["x"] * 2049}, "2,049 texts"),
        ({"input": ["x", ""]}, "empty"),
        ({"input": "x" * 1_000_001}, "1,000,000 characters"),
        ({"input": "x", "encoding_format": "hex"}, "encoding_format"),
        ({"input": {"a": 1}}, "input"),
        ({}, "input"),
    ],
)
def test_what_cannot_be_embedded_is_refused_in_openais_shape(reader, body, told):
    error = refused(reader.post("/v1/embeddings", model="default", **body), 400)
    assert told in error["message"] + str(error["param"])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "system", "content": "x"}]}, "no message to answer"),
        ({"messages": [{"role": "alien", "content": "x"}]}, "role"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "not text"),
        ({"messages": ASKED, "n": 2}, "n is 2"),
        ({"messages": ASKED, "stop": ["a", "b", "c", "d", "e"]}, "5 stops"),
        ({"messages": ASKED, "functions": [{}]}, "functions are not supported"),
        ({"messages": ASKED, "max_tokens": 0}, "max_tokens"),
        ({"messages": ASKED, "response_format": {"type": "json_schema"}}, "schema is missing"),
        (
            {
                "messages": ASKED,
                "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": 7}}},
            },
            "type is one of",
        ),
    ],
)
def test_what_no_model_does_is_refused_before_one_is_asked(spoken, body, told):
    model = Speaker("Well.")
    error = refused(spoken(model).post("/v1/chat/completions", **body), 400)
    assert told in error["message"] + str(error["param"])
    assert model.asked == []


def test_without_a_language_model_there_is_none_to_chat_with(reader):
    error = refused(reader.post("/v1/chat/completions", messages=ASKED), 404)
    assert "[language_model]" in error["message"]
    assert [one["kind"] for one in reader.get("/v1/models").json()["data"]] == ["embedding"]


def test_half_a_surrogate_pair_is_embedded_like_a_question_mark(reader):
    found = reader.post("/v1/embeddings", input="a \ud800 b").json()["data"][0]["embedding"]
    expected = FakeEmbedder().embed(["a ? b"], role="document")[0]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_conversation_and_its_limits_reach_the_model(spoken):
    model = Speaker("Well.")
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "First"}, {"type": "text", "text": " thing."}]},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "And then?"},
    ]
    assert spoken(model).post("/v1/chat/completions", messages=messages, max_tokens=7).status_code == 200
    prompt, system, most, schema = model.asked[0]
    assert "user: First thing.\n\nassistant: Yes." in prompt
    assert prompt.endswith("And then?")
    assert system.startswith("Be brief.")
    assert (most, schema) == (7, None)


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_ends_before_a_stop_also_where_its_parts_cut_it(spoken, stream):
    model = Speaker("one EN", "D two", " END three")
    response = spoken(model).post("/v1/chat/completions", messages=ASKED, stop="END", stream=stream)
    if stream:
        told = "".join(
            event["choices"][0]["delta"].get("content", "")
            for event in map(json.loads, events(response.text)[:-1])
        )
    else:
        told = response.json()["choices"][0]["message"]["content"]
    assert told == "one "


def events(text):
    return [line.removeprefix("data: ") for line in text.split("\n\n") if line]


def test_a_failure_before_the_first_part_is_an_error_and_after_it_an_event(spoken):
    down = BackendError("the model is down", hint="start it")
    error = refused(spoken(Speaker(down)).post("/v1/chat/completions", messages=ASKED, stream=True), 503)
    assert error["message"] == "the model is down; start it"
    response = spoken(Speaker("Well", down)).post("/v1/chat/completions", messages=ASKED, stream=True)
    assert response.status_code == 200
    told = events(response.text)
    assert json.loads(told[-1])["error"]["message"] == "the model is down; start it"
    assert "[DONE]" not in told


def test_an_answer_that_nobody_reads_on_ends_the_model():
    gate = threading.Event()
    model = Speaker(*["word "] * 50, gate=gate)

    async def leave():
        parts = LlmWorkers(Shutdown()).parts(lambda: model.stream(""))
        assert await anext(parts) == "word "
        await parts.aclose()

    asyncio.run(leave())
    gate.set()
    assert model.closed.wait(10)


def test_answers_that_nobody_waits_for_any_more_keep_their_place_until_they_end():
    gate, begun = threading.Event(), []

    def speaks():
        begun.append(threading.current_thread())
        assert gate.wait(20)
        yield "word"

    async def leave_again_and_again():
        speaking = LlmWorkers(Shutdown(), count=2, waiting=1)
        for _ in range(6):
            with suppress(TimeoutError, LimitReachedError):
                await asyncio.wait_for(speaking.run(lambda: "".join(speaks())), 0.1)
        assert await comes_true(lambda: len(begun) == 2)
        gate.set()
        assert await speaking.run(lambda: "said") == "said"
        for thread in begun:
            await asyncio.to_thread(thread.join, 10)
        assert await comes_true(lambda: speaking.active_count == 0)
        return len(begun)

    async def comes_true(holds):
        for _ in range(400):
            if holds():
                return True
            await asyncio.sleep(0.025)
        return False

    assert asyncio.run(leave_again_and_again()) == 2


def test_a_stream_is_told_when_the_server_ends():
    gate = threading.Event()
    ending = Shutdown()

    async def end():
        parts = LlmWorkers(ending).parts(lambda: Speaker("word", "word", gate=gate).stream(""))
        assert await anext(parts) == "word"
        asyncio.get_running_loop().call_later(0.05, ending.begin)
        with pytest.raises(BackendError, match="shutting down"):
            await anext(parts)

    asyncio.run(end())
    gate.set()


def test_more_answers_than_may_wait_are_told_to_come_again(spoken, monkeypatch):
    monkeypatch.setattr(app, "LlmWorkers", lambda ending, *, count: LlmWorkers(ending, count=1, waiting=1))
    gate = threading.Event()
    client = spoken(Speaker("Well.", gate=gate))

    async def four():
        asked = [client.http.post("/v1/chat/completions", json={"messages": ASKED}) for _ in range(4)]
        waiting = {asyncio.ensure_future(one) for one in asked}
        refused_at_once = set()
        while len(refused_at_once) < 2:
            done, waiting = await asyncio.wait(waiting, timeout=20, return_when=asyncio.FIRST_COMPLETED)
            assert done, "two of them should be refused while the others wait"
            refused_at_once |= done
        gate.set()
        return [one.result() for one in refused_at_once] + await asyncio.gather(*waiting)

    answers = client.runner.run(four())
    assert sorted(one.status_code for one in answers) == [200, 200, 429, 429]
    assert {one.headers.get("retry-after") for one in answers if one.status_code == 429} == {"2"}


def test_a_question_does_not_wait_for_answers_that_are_being_made(spoken):
    gate = threading.Event()
    client = spoken(Speaker("Well.", gate=gate))
    asked = ("POST", "/v1/chat/completions", {"json": {"messages": ASKED}})
    embeds = ("POST", "/v1/embeddings", {"json": {"input": "x"}})

    async def both():
        waiting = [asyncio.ensure_future(client.http.request(m, p, **o)) for m, p, o in [asked] * 12]
        await asyncio.sleep(0.05)
        method, path, options = embeds
        answer = await asyncio.wait_for(client.http.request(method, path, **options), 5)
        undone = sum(not one.done() for one in waiting)
        gate.set()
        await asyncio.gather(*waiting)
        return answer.status_code, undone

    assert client.runner.run(both()) == (200, 12)


def test_stops_hold_back_no_more_than_may_begin_one():
    stops = StopSequences(("###", "\n\nUser:"))
    assert [stops.before(part) for part in ("a#", "#b", "\n", "\nUse", "d #", "##", "x")] == [
        "a",
        "##b",
        "",
        "",
        "\n\nUsed ",
        "",
        "",
    ]
    assert stops.reached
    assert stops.rest() == ""


@pytest.mark.parametrize(
    "schema",
    [
        7,
        {"type": "date"},
        {"type": []},
        {"enum": []},
        {"required": [1]},
        {"properties": []},
        {"items": 3},
        {"minItems": -1},
    ],
)
def test_a_schema_that_is_none_is_told(schema):
    assert schema_problem(schema)
    assert schema_problem({"type": "object", "properties": {"a": schema}})
    assert not schema_problem(SCHEMA)


def test_a_schema_of_any_depth_is_refused_and_not_followed():
    deep = {}
    for _ in range(100):
        deep = {"items": deep}
    assert schema_problem(deep)
