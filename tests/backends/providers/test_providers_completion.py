"""How a prompt becomes a request to a language model, and its answer text or JSON."""

import json

import pytest
from provider_protocols import KEY, Anthropic, Gemini, Ollama, OpenAI, Reply
from provider_servers import serving

from ragmem.backends import open_models
from ragmem.backends.providers.completion import without_fence
from ragmem.backends.providers.schemas import openapi_subset, strict_schema
from ragmem.errors import BackendError

SCHEMA = {
    "type": "object",
    "properties": {
        "entities": {
            "type": "array",
            "maxItems": 9,
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "type": {"type": "string"}},
                "required": ["name"],
            },
        },
        "title": {"type": "string"},
    },
}


@pytest.fixture
def chat(request, monkeypatch):
    """Return a function that opens a language model before a server that understands so much."""
    monkeypatch.setenv("A_KEY", KEY)
    backend, protocol, tail = request.param
    opened = []
    with serving(protocol()) as server:

        def make(*, without=(), **options):
            server.protocol.understands = getattr(server.protocol, "understands", frozenset()) - set(without)
            given = {"url": f"{server.root}{tail}", "language_model": "chatter", "key_variable": "A_KEY"}
            opened.append(open_models(backend, {**given, **options}))
            return opened[-1].language_model

        make.server = server
        yield make
        for models in opened:
            models.close()


def served(backend, protocol, tail=""):
    return pytest.mark.parametrize("chat", [(backend, protocol, tail)], indirect=True)


openai = served("openai", OpenAI, "/v1")
anthropic = served("anthropic", Anthropic)
gemini = served("gemini", Gemini, "/v1beta")
ollama = served("ollama", Ollama)
all_of_them = pytest.mark.parametrize(
    "chat",
    [
        ("openai", OpenAI, "/v1"),
        ("anthropic", Anthropic, ""),
        ("gemini", Gemini, "/v1beta"),
        ("ollama", Ollama, ""),
    ],
    indirect=True,
    ids=["openai", "anthropic", "gemini", "ollama"],
)


def bodies(chat):
    return [seen.body for seen in chat.server.posts]


def scripted(chat, text, ending="stop"):
    """Let the server answer with this text, in the words of every protocol at once."""
    endings = {"stop": ("end_turn", "STOP"), "length": ("max_tokens", "MAX_TOKENS")}.get(ending, ending)
    answer = {
        "choices": [{"message": {"content": text}, "finish_reason": ending}],
        "content": [{"type": "text", "text": text}],
        "stop_reason": endings[0],
        "candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": endings[1]}],
        "message": {"content": text},
        "done_reason": ending,
    }
    chat.server.script.append(Reply(body=answer))


@all_of_them
def test_no_secret_leaves_in_a_prompt_nor_in_what_a_client_says_of_its_model(chat):
    secret = f"{'AKIA'}Q3EGQ7WTJ5LZ4NVB"

    chat().complete(f"why does {secret} not work", system=f"you may use the key {secret}")

    assert secret not in json.dumps(bodies(chat))


@openai
@pytest.mark.parametrize(
    ("without", "formats"),
    [
        ((), ["json_schema"]),
        (("schema",), ["json_schema", "json_object"]),
        (("schema", "json"), ["json_schema", "json_object", None]),
    ],
)
def test_json_is_asked_for_as_strictly_as_the_server_can(chat, without, formats):
    model = chat(without=without)

    answer = json.loads(model.complete("Redis is fast", json_schema=SCHEMA))

    assert set(answer) == {"entities", "title"}
    assert [body.get("response_format", {}).get("type") for body in bodies(chat)] == formats
    model.complete("Kafka is big", json_schema=SCHEMA)
    assert len(bodies(chat)) == len(formats) + 1  # what was refused is not asked for again


@anthropic
@pytest.mark.parametrize(
    ("without", "names"),
    [
        ((), ["tools"]),
        (("tool",), ["tools", "output_config"]),
        (("tool", "schema"), ["tools", "output_config", "system"]),
    ],
)
def test_anthropic_gives_json_as_a_tool_else_by_its_output_else_by_words(chat, without, names):
    answer = json.loads(chat(without=without).complete("Redis is fast", json_schema=SCHEMA))

    assert set(answer) == {"entities", "title"}
    assert [
        next(name for name in ("tools", "output_config", "system") if name in body) for body in bodies(chat)
    ] == names


@gemini
@pytest.mark.parametrize(("without", "requests"), [((), 1), (("schema",), 2), (("thinking",), 2)])
def test_gemini_is_asked_again_without_what_it_refuses(chat, without, requests):
    answer = json.loads(chat(without=without).complete("Redis is fast", json_schema=SCHEMA))

    assert set(answer) == {"entities", "title"}
    assert len(bodies(chat)) == requests


@openai
@pytest.mark.parametrize("refused", ["temperature", "max_completion_tokens"])
def test_a_field_that_a_model_refuses_is_left_out_from_then_on(chat, refused):
    model = chat(without=[refused])
    chat.server.protocol.understands |= {"max_tokens"}

    for _ in range(2):
        assert model.complete("how many words are these") == "5 words were said."

    assert [refused in body for body in bodies(chat)] == [True, False, False]
    assert "max_tokens" in bodies(chat)[-1] or refused == "temperature"


@anthropic
def test_a_temperature_that_anthropic_refuses_is_left_out(chat):
    assert chat(without=["temperature"]).complete("a b") == "2 words were said."
    assert "temperature" not in bodies(chat)[-1]


@all_of_them
def test_the_answer_is_to_be_the_same_each_time(chat):
    chat().complete("a b")

    body = bodies(chat)[0]
    where = body.get("options") or body.get("generationConfig") or body
    assert where["temperature"] == 0


@all_of_them
def test_what_was_cut_is_returned_as_far_as_it_goes(chat):
    model = chat()
    cut = '{"entities": [{"name": "Redis"}, {"na'
    scripted(chat, cut, "length")
    scripted(chat, "Redis is a", "length")

    assert model.complete("Redis", max_tokens=50, json_schema=SCHEMA) == cut
    assert model.complete("Redis", max_tokens=50) == "Redis is a"


@all_of_them
@pytest.mark.parametrize("begun", ["<think>\nIs {this} JSON", "Let me see: the text names"])
def test_json_that_was_cut_before_it_began_is_an_error(chat, begun):
    model = chat()
    scripted(chat, begun, "length")

    with pytest.raises(BackendError, match="did not finish within 50 tokens"):
        model.complete("Redis", max_tokens=50, json_schema=SCHEMA)


@anthropic
@pytest.mark.parametrize("ending", ["max_tokens", "model_context_window_exceeded"])
def test_a_tool_that_was_cut_before_its_input_began_is_an_error(chat, ending):
    model = chat()
    content = [{"type": "tool_use", "name": "answer", "input": {}}]
    chat.server.script.append(Reply(body={"content": content, "stop_reason": ending}))

    with pytest.raises(BackendError, match="did not finish within 50 tokens"):
        model.complete("Redis", max_tokens=50, json_schema=SCHEMA)


@openai
def test_an_answer_with_half_a_surrogate_pair_can_be_stored(chat):
    reply = b'{"choices":[{"message":{"content":"a \\ud83d b"},"finish_reason":"stop"}]}'
    chat.server.script.append(Reply(body=reply))

    assert chat().complete("Name a colour.").encode() == b"a ? b"


@all_of_them
def test_an_empty_answer_is_an_error(chat):
    model = chat()
    scripted(chat, "")
    scripted(chat, "  \n")

    with pytest.raises(BackendError, match="an empty answer"):
        model.complete("Redis")
    with pytest.raises(BackendError, match="an empty answer"):
        model.complete("Redis", json_schema=SCHEMA)


@all_of_them
def test_thoughts_and_fences_around_json_are_taken_off(chat):
    model = chat()
    scripted(chat, '<think>\nJSON { or not?\n</think>\n\nHere:\n```json\n{"title": "a"}\n```\nDone.')

    assert model.complete("Redis", json_schema=SCHEMA) == '{"title": "a"}'


@pytest.mark.parametrize(
    ("chat", "reply"),
    [
        (
            ("openai", OpenAI, "/v1"),
            {"choices": [{"message": {"content": None, "refusal": "I can't help"}, "finish_reason": "stop"}]},
        ),
        (
            ("openai", OpenAI, "/v1"),
            {"choices": [{"message": {"content": "Re"}, "finish_reason": "content_filter"}]},
        ),
        (("anthropic", Anthropic, ""), {"content": [], "stop_reason": "refusal"}),
        (("gemini", Gemini, "/v1beta"), {"promptFeedback": {"blockReason": "SAFETY"}}),
        (("gemini", Gemini, "/v1beta"), {"candidates": [{"finishReason": "RECITATION"}]}),
    ],
    indirect=["chat"],
)
def test_a_refusal_is_an_error_that_says_so(chat, reply):
    model = chat()
    chat.server.script.append(Reply(body=reply))

    with pytest.raises(BackendError, match="refuses to answer"):
        model.complete("Redis")


@ollama
def test_ollama_is_given_a_context_that_holds_the_prompt(chat):
    model = chat()
    for words in (10, 2000, 12_000):
        model.complete("word " * words)

    contexts = [body["options"]["num_ctx"] for body in bodies(chat)]
    assert contexts == [8192, 8192, 32_768]


@pytest.mark.parametrize(
    ("text", "json_text"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("  [1]\n", "[1]"),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('```\n{"a": "```"}\n```', '{"a": "```"}'),
        ("no json at all", "no json at all"),
        ('{"a": "```json\\nx```"}', '{"a": "```json\\nx```"}'),
        ('A thought that began in the prompt.\n</think>\n\n{"a": 1}', '{"a": 1}'),
        ('Hm: ```json\n{"a": 2}\n```\n</think>\n```json\n{"a": 1}\n```', '{"a": 1}'),
        ('{"a": "</think>"}', '{"a": "</think>"}'),
    ],
)  # fmt: skip
def test_a_fence_is_taken_off_and_nothing_else(text, json_text):
    assert without_fence(text) == json_text


def test_a_strict_schema_closes_every_object():
    closed = strict_schema(SCHEMA)

    assert closed["additionalProperties"] is False
    assert closed["required"] == ["entities", "title"]
    item = closed["properties"]["entities"]["items"]
    assert (item["required"], item["additionalProperties"]) == (["name", "type"], False)
    assert "maxItems" not in closed["properties"]["entities"]


def test_names_of_properties_are_not_taken_for_words_of_the_schema():
    # "title" and "type" are both.
    assert set(strict_schema(SCHEMA)["properties"]) == {"entities", "title"}
    assert set(openapi_subset({**SCHEMA, "additionalProperties": False})) == {"type", "properties"}
    assert set(openapi_subset(SCHEMA)["properties"]["entities"]["items"]["properties"]) == {"name", "type"}
