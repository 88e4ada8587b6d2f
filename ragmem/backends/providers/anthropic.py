"""Anthropic: messages (a language model; there are no embeddings).

Shapes: docs.claude.com/en/api/messages. JSON comes as the input of a tool that the model has to call, else by
`output_config`, which newer models have, else by a sentence in the prompt.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from ragmem.backends.providers.models import ProviderModels
from ragmem.backends.providers.openai import model_names
from ragmem.backends.providers.provider import ChatRequest, Completion, Part, Provider, Request
from ragmem.backends.providers.schemas import add_schema_to_prompt, strict_schema

_TOOL = "answer"
_CUT = {"max_tokens", "model_context_window_exceeded"}


class _Messages:
    """POST /v1/messages."""

    def request(self, chat: ChatRequest, *, refused: frozenset[str]) -> Request:
        """Return the request."""
        body: dict[str, Any] = {
            "model": chat.model,
            "max_tokens": chat.max_tokens,
            "messages": [{"role": "user", "content": _content(chat)}],
        }
        optional, system = [], chat.system
        if "temperature" not in refused:
            body["temperature"] = 0
            optional.append("temperature")
        if chat.schema is not None and "tool" not in refused:
            body["tools"] = [
                {"name": _TOOL, "description": "Give the answer.", "input_schema": dict(chat.schema)}
            ]
            body["tool_choice"] = {"type": "tool", "name": _TOOL}
            optional.append("tool")
        elif chat.schema is not None and "schema" not in refused:
            body["output_config"] = {"format": {"type": "json_schema", "schema": strict_schema(chat.schema)}}
            optional.append("schema")
        elif chat.schema is not None:
            system = add_schema_to_prompt(system, chat.schema)
        if system:
            body["system"] = system
        return Request("/v1/messages", body, optional)

    def read(self, answer: Any) -> Completion:
        """Return the tool's input where there is one, else the text."""
        ending = answer["stop_reason"]
        text, cut = "", ending in _CUT
        for part in answer["content"]:
            if part["type"] == "tool_use":
                # A cut input may be empty, which is not an answer.
                given = part["input"] or not cut
                return Completion(orjson.dumps(part["input"]).decode() if given else "", cut=cut)
            if part["type"] == "text":
                text += part["text"]
        return Completion(text, cut=cut, refusal="refusal" if ending == "refusal" else "")

    def stream_request(self, request: Request, *, refused: frozenset[str]) -> Request:
        """Return the request with `stream`."""
        del refused
        return replace(request, body={**request.body, "stream": True})

    def read_event(self, event: Any) -> Part:
        """Return the text of an event, or the counts and the ending in the first and the last one."""
        match event["type"]:
            case "message_start":
                return Part(tokens_in=_prompt_tokens(event["message"]["usage"]))
            case "content_block_delta":
                return Part(event["delta"].get("text", ""))
            case "message_delta":
                ending = event["delta"].get("stop_reason")
                return Part(
                    cut=ending in _CUT,
                    refusal="refusal" if ending == "refusal" else "",
                    tokens_out=(event.get("usage") or {}).get("output_tokens"),
                    is_last=ending is not None,
                )
            case _:
                return Part()

    def tokens(self, answer: Any) -> tuple[int, int] | None:
        """Return the counts in `usage`."""
        return _prompt_tokens(answer["usage"]), answer["usage"]["output_tokens"]


def _content(chat: ChatRequest) -> str | list[dict[str, Any]]:
    if chat.image is None:
        return chat.prompt
    source = {"type": "base64", "media_type": chat.image.media_type, "data": chat.image.base64}
    # Its documentation wants pictures before the question about them.
    return [{"type": "image", "source": source}, {"type": "text", "text": chat.prompt}]


def _prompt_tokens(usage: Any) -> int:
    """Return the tokens of the prompt, including cached ones."""
    cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
    tokens: int = usage["input_tokens"] + sum(usage.get(name) or 0 for name in cached)
    return tokens


def root(url: str) -> str:
    """Return the address without the /v1 that other providers want."""
    return url.removesuffix("/messages").removesuffix("/v1")


PROVIDER = Provider(
    name="anthropic",
    url="https://api.anthropic.com",
    key_variables=("ANTHROPIC_API_KEY",),
    key_header="x-api-key",
    headers={"anthropic-version": "2023-06-01"},
    chat=_Messages(),
    models_path="/v1/models?limit=1000",
    model_names=model_names,
    root=root,
)

open_models = partial(ProviderModels, PROVIDER)
