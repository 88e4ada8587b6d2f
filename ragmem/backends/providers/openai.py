"""OpenAI: embeddings and chat completions, a protocol that most servers speak.

Shapes: platform.openai.com/docs/api-reference (embeddings, chat, models). Limits: 2,048 texts and 300,000
tokens a request, 8,192 tokens a text.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from ragmem.backends.providers.models import ProviderModels
from ragmem.backends.providers.provider import ChatRequest, Completion, KnownModel, Part, Provider, Request
from ragmem.backends.providers.schemas import add_schema_to_prompt, strict_schema
from ragmem.backends.providers.vectors import order_by_index
from ragmem.ports import Role


class OpenAIEmbeddings:
    """POST /embeddings."""

    def __init__(self, *, texts: int = 256, tokens: int = 200_000, compact: bool = True) -> None:
        """Set the limits of a request; `compact` asks for base64, a third of the bytes."""
        self.texts_per_request = texts
        self.tokens_per_request = tokens
        self._compact = compact

    def request(
        self, model: str, texts: Sequence[str], *, role: Role, dimensions: int, refused: frozenset[str]
    ) -> Request:
        """Return the request; this protocol does not distinguish questions from texts."""
        del role
        body: dict[str, Any] = {"model": model, "input": list(texts)}
        optional = []
        if self._compact and "base64" not in refused:
            body["encoding_format"] = "base64"
            optional.append("base64")
        if dimensions and "dimensions" not in refused:
            body["dimensions"] = dimensions
            optional.append("dimensions")
        return Request("/embeddings", body, optional)

    def rows(self, answer: Any, count: int) -> Sequence[Any]:
        """Return the vectors in the order of their `index`."""
        return order_by_index(answer["data"], count)

    def tokens(self, answer: Any) -> int | None:
        """Return the tokens of the texts."""
        usage = answer.get("usage") or {}
        return usage.get("prompt_tokens", usage.get("total_tokens"))


class OpenAIChat:
    """POST /chat/completions."""

    def __init__(self, *, tokens_field: str = "max_completion_tokens") -> None:
        """Set the field for the limit that is tried first; a server that refuses it gets the other one."""
        self._fields = (
            tokens_field,
            "max_tokens" if tokens_field == "max_completion_tokens" else "max_completion_tokens",
        )

    def request(self, chat: ChatRequest, *, refused: frozenset[str]) -> Request:
        """Return the request: a strict schema, else any JSON with the schema in words, else words alone."""
        field = next((name for name in self._fields if name not in refused), self._fields[0])
        body: dict[str, Any] = {"model": chat.model, field: chat.max_tokens}
        optional = [field]
        if "temperature" not in refused:
            body["temperature"] = 0
            optional.append("temperature")
        system = chat.system
        if chat.schema is not None:
            mode, body_format = _response_format(chat.schema, refused)
            if body_format:
                body["response_format"] = body_format
            if mode:
                optional.append(mode)
            if mode != "schema":
                system = add_schema_to_prompt(system, chat.schema)
        body["messages"] = [
            *([{"role": "system", "content": system}] if system else []),
            {"role": "user", "content": _content(chat)},
        ]
        return Request("/chat/completions", body, optional)

    def read(self, answer: Any) -> Completion:
        """Return the first choice."""
        choice = answer["choices"][0]
        message = choice["message"]
        ending = choice.get("finish_reason")
        refusal = message.get("refusal") or ("content filter" if ending == "content_filter" else "")
        return Completion(
            _text(message), cut=ending == "length", refusal=" ".join(str(refusal).split())[:200]
        )

    def stream_request(self, request: Request, *, refused: frozenset[str]) -> Request:
        """Return the request with `stream`, and a last event with the usage where the server has that."""
        body, optional = {**request.body, "stream": True}, [*request.optional]
        if "stream_options" not in refused:
            body["stream_options"] = {"include_usage": True}
            optional.append("stream_options")
        return Request(request.path, body, optional)

    def read_event(self, event: Any) -> Part:
        """Return the first choice of an event; the last ones have none."""
        counted = self.tokens(event) or (None, None)
        if not event.get("choices"):
            return Part(tokens_in=counted[0], tokens_out=counted[1])
        choice = event["choices"][0]
        delta = choice.get("delta") or {}
        ending = choice.get("finish_reason")
        refusal = delta.get("refusal") or ("content filter" if ending == "content_filter" else "")
        return Part(_text(delta), ending == "length", str(refusal), bool(ending), *counted)

    def tokens(self, answer: Any) -> tuple[int, int] | None:
        """Return the counts in `usage`, or None."""
        usage = answer.get("usage") or {}
        if "prompt_tokens" not in usage:
            return None
        return usage["prompt_tokens"], usage.get("completion_tokens", 0)


def _text(message: Any) -> str:
    """Return the content of a message, which may be a list of parts; those that are thoughts have no text."""
    content = message.get("content") or ""
    return "".join(part.get("text") or "" for part in content) if isinstance(content, list) else content


def _content(chat: ChatRequest) -> str | list[dict[str, Any]]:
    """Return the prompt; with a picture, both as parts, which text-only servers refuse."""
    if chat.image is None:
        return chat.prompt
    url = f"data:{chat.image.media_type};base64,{chat.image.base64}"
    return [{"type": "text", "text": chat.prompt}, {"type": "image_url", "image_url": {"url": url}}]


def _response_format(schema: Mapping[str, Any], refused: frozenset[str]) -> tuple[str, dict[str, Any]]:
    if "schema" not in refused:
        wanted = {"name": "answer", "strict": True, "schema": strict_schema(schema)}
        return "schema", {"type": "json_schema", "json_schema": wanted}
    return ("", {}) if "json" in refused else ("json", {"type": "json_object"})


def model_names(answer: Any) -> list[str]:
    """Return the ids of GET /models."""
    return [model["id"] for model in answer["data"]]


def other_addresses(url: str) -> list[str]:
    """Return corrections of a base URL that lacks its /v1 or goes on after it."""
    parts = urlsplit(url)
    root, steps = f"{parts.scheme}://{parts.netloc}", parts.path.split("/")
    found = [f"{root}{'/'.join(steps[: steps.index('v1') + 1])}"] if "v1" in steps else []
    found += [f"{url}/v1", f"{root}/v1", f"{root}/api/v1"]
    return [address for address in dict.fromkeys(found) if address != url]


PROVIDER = Provider(
    name="openai",
    url="https://api.openai.com/v1",
    key_variables=("OPENAI_API_KEY",),
    embeddings=OpenAIEmbeddings(),
    chat=OpenAIChat(),
    model="text-embedding-3-small",
    known_models={
        "text-embedding-3-small": KnownModel(1536, 8191),
        "text-embedding-3-large": KnownModel(3072, 8191),
        "text-embedding-ada-002": KnownModel(1536, 8191),
    },
    model_names=model_names,
    other_addresses=other_addresses,
)

open_models = partial(ProviderModels, PROVIDER)
