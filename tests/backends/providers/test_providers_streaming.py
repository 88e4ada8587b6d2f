"""Answers in parts: that they are those of a whole answer, what breaks them off, and how they are counted."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from provider_protocols import HTML, KEY, Anthropic, Gemini, Ollama, OpenAI, Reply
from provider_servers import serving
from provider_streams import events_of

from ragmem.backends import open_models
from ragmem.backends.providers.completion import ThoughtFilter
from ragmem.errors import BackendError
from ragmem.testing.language_models import RecordingMeter

PROMPT = "How many words were said in this question?"
SAID = f"{len(PROMPT.split())} words were said."


@pytest.fixture
def chat(request, monkeypatch):
    """Return a function that opens a language model before a server."""
    monkeypatch.setenv("A_KEY", KEY)
    backend, protocol, tail = request.param
    with serving(protocol()) as server:
        meter = RecordingMeter()
        models = open_models(
            backend,
            {
                "url": f"{server.root}{tail}",
                "language_model": "chatter",
                "key_variable": "A_KEY",
                "purpose": "answer",
                "timeout_s": 2.0,
                "retries": 0,
                "meter": meter,
            },
        )
        model = models.language_model
        model.server, model.meter = server, meter
        yield model
        models.close()


openai = pytest.mark.parametrize("chat", [("openai", OpenAI, "/v1")], indirect=True)
ollama = pytest.mark.parametrize("chat", [("ollama", Ollama, "")], indirect=True)
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


def scripted(chat, *events, status=200):
    body = "".join(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n" for event in events)
    chat.server.script.append(Reply(status, body.encode(), {"Content-Type": "text/event-stream"}))


def word(text, ending=None):
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": ending}]}


@all_of_them
def test_the_parts_make_the_whole_answer(chat):
    parts = list(chat.stream(PROMPT, system="Be brief."))
    assert len(parts) == 4
    assert "".join(parts) == SAID == chat.complete(PROMPT, system="Be brief.")


@all_of_them
def test_an_answer_in_parts_is_counted_once_with_its_tokens(chat):
    list(chat.stream(PROMPT))
    chat.complete(PROMPT)
    streamed, whole = chat.meter.calls
    assert chat.meter.admitted == ["answer", "answer"]
    assert (streamed.tokens_in, streamed.tokens_out) == (whole.tokens_in, whole.tokens_out)
    assert streamed.error == ""


@openai
def test_the_first_part_is_there_before_the_last_was_sent(chat):
    chat.server.trickle_s = 0.002
    began = time.monotonic()
    parts = chat.stream(PROMPT)
    next(parts)
    first = time.monotonic() - began
    list(parts)
    assert first < (time.monotonic() - began) / 2


@openai
def test_an_answer_that_nobody_wants_any_more_is_counted_and_its_place_is_free(chat):
    for _ in range(6):  # more than may go at a time
        parts = chat.stream(PROMPT)
        next(parts)
        parts.close()
    assert len(chat.meter.calls) == 6
    assert {call.tokens_out for call in chat.meter.calls} == {1}


@openai
def test_usage_that_a_server_does_not_know_is_not_asked_for_again(chat):
    chat.server.protocol.understands -= {"stream_options"}
    assert "".join(chat.stream(PROMPT)) == SAID
    assert "".join(chat.stream(PROMPT)) == SAID
    assert ["stream_options" in seen.body for seen in chat.server.posts] == [True, False, False]


@openai
def test_a_server_without_parts_gives_one(chat):
    answer = {"choices": [{"message": {"content": SAID}, "finish_reason": "stop"}]}
    chat.server.script.append(Reply(body=answer))
    assert list(chat.stream(PROMPT)) == [SAID]


@openai
def test_the_parts_of_a_content_are_joined_and_its_thoughts_left_out(chat):
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    scripted(
        chat, word([thought]), word([{"type": "text", "text": "Well"}, {"type": "text", "text": "."}], "stop")
    )
    assert list(chat.stream(PROMPT)) == ["Well."]


@ollama
@pytest.mark.parametrize("content", [7, ["Well"]])
def test_a_content_that_is_no_text_is_an_error_of_the_backend(chat, content):
    chat.server.script.append(Reply(body={"message": {"content": content}, "done": True}))
    with pytest.raises(BackendError, match="violates its protocol"):
        list(chat.stream(PROMPT))


@openai
def test_a_web_page_names_the_address_that_answers(chat):
    chat.server.script.append(Reply(body=HTML))
    with pytest.raises(BackendError, match="answered with a web page"):
        list(chat.stream(PROMPT))


@openai
@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([word("Well")], "broke off"),
        ([word("Well"), {"choices": [], "usage": {}}], "broke off"),
        ([word("Well"), {"error": {"message": "overloaded"}}], "overloaded"),
        ([word("Well"), "{no json"], "JSON"),
        ([word("Well"), {"choices": 7}], "violates its protocol"),
        ([word("Well"), {"choices": [None]}], "violates its protocol"),
        ([word("Well"), word(7)], "violates its protocol"),
        ([word("Well"), word("", "content_filter")], "refuses"),
        ([{"choices": []}, "[DONE]"], "an empty answer"),
        ([word("<think>hm, hm"), word("", "length")], "did not finish"),
    ],
)
def test_what_goes_wrong_on_the_way_is_told_after_the_parts_that_came(chat, events, told):
    scripted(chat, *events)
    parts = []
    with pytest.raises(BackendError, match=told):
        parts.extend(chat.stream(PROMPT))
    assert len(chat.meter.calls) == 1


@openai
@pytest.mark.parametrize("ending", [word("", "stop"), "[DONE]"])
def test_one_sign_of_its_end_is_enough(chat, ending):
    scripted(chat, word("Well"), ending)
    assert list(chat.stream(PROMPT)) == ["Well"]


@all_of_them
def test_an_answer_of_which_the_last_events_are_missing_is_an_error(chat):
    list(chat.stream(PROMPT))
    seen = chat.server.seen[-1]
    kind, body = events_of(chat.server.protocol, seen, chat.server.protocol.answer(seen))
    chat.server.script.append(
        Reply(200, body[: body.index(b"were")].rpartition(b"\n")[0], {"Content-Type": kind})
    )
    with pytest.raises(BackendError, match="broke off"):
        list(chat.stream(PROMPT))


@openai
def test_an_answer_that_breaks_off_is_an_error(chat):
    body = f"data: {json.dumps(word('Well'))}\n\n".encode() * 3
    chat.server.script.append(Reply(200, body, {"Content-Type": "text/event-stream"}, reset=True))
    with pytest.raises(BackendError, match="broke off"):
        list(chat.stream(PROMPT))
    assert chat.meter.calls[0].error == "connection"


@openai
def test_a_refused_key_is_told_before_any_part_and_without_the_key(chat, monkeypatch):
    monkeypatch.setenv("A_KEY", "sk-wrong-0123456789")
    with pytest.raises(BackendError, match="refuses the key") as caught:
        list(chat.stream(PROMPT))
    assert "sk-wrong" not in str(caught.value)


def test_a_line_separator_within_a_text_ends_no_event(monkeypatch):
    monkeypatch.setenv("A_KEY", KEY)
    with serving(OpenAI()) as server:
        event = json.dumps(word("one\u2028two\x85three"), ensure_ascii=False)
        body = f"data: {event}\r\n\r\ndata: [DONE]\r\n\r\n".encode()
        server.script.append(Reply(200, body, {"Content-Type": "text/event-stream; charset=utf-8"}))
        models = open_models(
            "compatible", {"url": f"{server.root}/v1", "language_model": "chatter", "key_variable": "A_KEY"}
        )
        assert list(models.language_model.stream("x")) == ["one\u2028two\x85three"]
        models.close()


@given(st.data(), st.sampled_from(["", "<think>hm\n</think>\n\n", " <think></think>"]), st.text(max_size=30))
def test_thoughts_are_left_out_however_a_text_is_cut(data, thought, text):
    said = text.lstrip() if thought else text
    if said.lstrip().startswith("<think>"):
        return
    whole = thought + said
    at = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    parts = [whole[a:b] for a, b in zip([0, *at], [*at, len(whole)], strict=True)]
    thoughts = ThoughtFilter()
    assert "".join([*map(thoughts.without, parts), thoughts.rest()]) == said
