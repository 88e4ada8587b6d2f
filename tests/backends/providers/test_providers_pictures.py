"""A picture beside a prompt, as each provider's protocol wants it."""

import base64

import pytest
from provider_protocols import KEY, Reply
from provider_servers import serving

from ragmem.backends import open_models
from ragmem.errors import BackendError
from ragmem.ports import Sees

PICTURE = b"\x89PNG\r\n\x1a\nnot looked at here"
ENCODED = base64.b64encode(PICTURE).decode()
TOLD = "A crane over a quay."

ANSWERS = {
    "compatible": {"choices": [{"message": {"content": TOLD}, "finish_reason": "stop"}], "usage": {}},
    "openai": {"choices": [{"message": {"content": TOLD}, "finish_reason": "stop"}], "usage": {}},
    "ollama": {"message": {"content": TOLD}, "done_reason": "stop", "eval_count": 6},
    "anthropic": {
        "content": [{"type": "text", "text": TOLD}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1_500, "output_tokens": 6},
    },
    "gemini": {
        "candidates": [{"content": {"parts": [{"text": TOLD}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 300, "candidatesTokenCount": 6},
    },
}


def content_of(backend, body):
    """Return what a request has of the prompt and its picture."""
    if backend == "gemini":
        return body["contents"][0]["parts"]
    return body["messages"][-1]["content"] if backend != "ollama" else body["messages"][-1]


WANTED = {
    "compatible": [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{ENCODED}"}},
    ],
    "openai": [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{ENCODED}"}},
    ],
    "ollama": {"role": "user", "content": "What is this?", "images": [ENCODED]},
    "anthropic": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ENCODED}},
        {"type": "text", "text": "What is this?"},
    ],
    "gemini": [
        {"inlineData": {"mimeType": "image/png", "data": ENCODED}},
        {"text": "What is this?"},
    ],
}


@pytest.fixture(params=sorted(ANSWERS))
def backend(request):
    return request.param


@pytest.fixture
def asked(backend, monkeypatch):
    """Return a function that has a picture described, by a server with these replies, and that server."""
    monkeypatch.setenv("SEEING_KEY", KEY)
    opened = []
    with serving(None) as server:

        def ask(*replies):
            server.script.extend(replies)
            options = {
                "language_model": "eyes",
                "url": server.root,
                "key_variable": "SEEING_KEY",
                "retries": 0,
            }
            models = open_models(backend, options)
            opened.append(models)
            assert isinstance(models.language_model, Sees)
            return models.language_model.describe("What is this?", image=PICTURE, media_type="image/png")

        yield ask, server
        for models in opened:
            models.close()


def test_a_picture_goes_with_the_prompt_in_the_shape_of_the_protocol(backend, asked):
    ask, server = asked

    assert ask(Reply(200, ANSWERS[backend])) == TOLD
    assert content_of(backend, server.posts[-1].body) == WANTED[backend]


def test_a_model_without_eyes_is_an_error_of_one_line(backend, asked):
    ask, _ = asked
    said = {"error": {"message": "this model does not support image input"}}

    with pytest.raises(BackendError) as error:
        ask(*(Reply(422, said) for _ in range(6)))

    assert "does not support image input" in str(error.value)
    assert ENCODED not in str(error.value)
