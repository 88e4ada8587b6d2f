"""Anthropic: messages (a language model; there are no embeddings).

Shapes: docs.claude.com/en/api/messages. JSON comes as the input of a tool that the model has to call, else by
`output_config`, which newer models have, else by asking for it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from ragmem.backends.providers.models import ProviderModels
from ragmem.backends.providers.openai import model_names
from ragmem.backends.providers.provider import Ask, Completion, Part, Provider, Request
from ragmem.backends.providers.schemas import in_words, strict

_TOOL = "answer"
_CUT = {"max_tokens", "model_context_window_exceeded"}


class _Messages:
    """POST /v1/messages."""

    def request(self, ask: Ask, *, refused: frozenset[str]) -> Request:
        """Return the request."""
        body: dict[str, Any] = {
            "model": ask.model,
            "max_tokens": ask.max_tokens,
            "messages": [{"role": "user", "content": _content(ask)}],
        }
        optional, system = [], ask.system
        if "temperature" not in refused:
            body["temperature"] = 0
            optional.append("temperature")
        if ask.schema is not None and "tool" not in refused:
            body["tools"] = [
                {"name": _TOOL, "description": "Give the answer.", "input_schema": dict(ask.schema)}
            ]
            body["tool_choice"] = {"type": "tool", "name": _TOOL}
            optional.append("tool")
        elif ask.schema is not None and "schema" not in refused:
            body["output_config"] = {"format": {"type": "json_schema", "schema": strict(ask.schema)}}
            optional.append("schema")
        elif ask.schema is not None:
            system = in_words(system, ask.schema)
        if system:
            body["system"] = system
        return Request("/v1/messages", body, optional)

    def read(self, answer: Any) -> Completion:
        """Return the tool's input where there is one, else the text."""
        ending = answer["stop_reason"]
        text, cut = "", ending in _CUT
        for part in answer["content"]:
            if part["type"] == "tool_use":
                # Of an input that was cut there may be nothing left, which is no answer.
                given = part["input"] or not cut
                return Completion(orjson.dumps(part["input"]).decode() if given else "", cut=cut)
            if part["type"] == "text":
                text += part["text"]
        return Completion(text, cut=cut, refusal="refusal" if ending == "refusal" else "")

    def in_parts(self, request: Request, *, refused: frozenset[str]) -> Request:
        """Return the request with `stream`."""
        del refused
        return replace(request, body={**request.body, "stream": True})

    def part(self, event: Any) -> Part:
        """Return the text of an event, or what the first and the last one say of the answer."""
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
                )
            case _:
                return Part()

    def tokens(self, answer: Any) -> tuple[int, int] | None:
        """Return what `usage` says."""
        return _prompt_tokens(answer["usage"]), answer["usage"]["output_tokens"]


def _content(ask: Ask) -> str | list[dict[str, Any]]:
    if ask.image is None:
        return ask.prompt
    source = {"type": "base64", "media_type": ask.image.media_type, "data": ask.image.base64}
    # Its documentation wants pictures before the question about them.
    return [{"type": "image", "source": source}, {"type": "text", "text": ask.prompt}]


def _prompt_tokens(usage: Any) -> int:
    """Return the tokens of the prompt; those from a cache are some of them."""
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


def open_models(options: Mapping[str, Any]) -> ProviderModels:
    """Return Anthropic's language model; raises ConfigError for an option of another type."""
    return ProviderModels(PROVIDER, options)
