"""Ollama: its own protocol, which cuts long texts itself and takes a schema for any model.

Shapes: github.com/ollama/ollama, docs/api.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragmem.backends.providers.models import ProviderModels
from ragmem.backends.providers.provider import Ask, Completion, Known, Part, Provider, Request
from ragmem.backends.providers.vectors import estimate_tokens
from ragmem.ports import Role

LEAST_CONTEXT = 8192
"""Ollama reads 4,096 tokens of prompt and completion unless told, and drops the rest without a word."""

_TOKENS_PER_IMAGE = 2_048
"""What a picture takes of the context: some hundreds in most models, the most in those that tile it."""


class _Embeddings:
    """POST /api/embed."""

    texts_per_request = 32
    tokens_per_request = 32_000

    def request(
        self, model: str, texts: Sequence[str], *, role: Role, dimensions: int, refused: frozenset[str]
    ) -> Request:
        """Return the request; this protocol does not tell questions from texts."""
        del role
        body: dict[str, Any] = {"model": model, "input": list(texts), "truncate": True}
        if not dimensions or "dimensions" in refused:
            return Request("/api/embed", body)
        return Request("/api/embed", {**body, "dimensions": dimensions}, ("dimensions",))

    def rows(self, answer: Any, count: int) -> Sequence[Any]:
        """Return the vectors, which are in the order of the texts."""
        del count
        rows: Sequence[Any] = answer["embeddings"]
        return rows

    def tokens(self, answer: Any) -> int | None:
        """Return the tokens of the texts."""
        return answer.get("prompt_eval_count") or None


class _Chat:
    """POST /api/chat."""

    def request(self, ask: Ask, *, refused: frozenset[str]) -> Request:
        """Return the request, with a context that holds the prompt."""
        del refused
        wanted = estimate_tokens(ask.prompt) + estimate_tokens(ask.system) + ask.max_tokens
        wanted += _TOKENS_PER_IMAGE if ask.image else 0
        context = LEAST_CONTEXT
        # In doublings, because Ollama loads the model anew for each other size.
        while context < wanted:
            context *= 2
        body: dict[str, Any] = {
            "model": ask.model,
            "messages": [
                *([{"role": "system", "content": ask.system}] if ask.system else []),
                {"role": "user", "content": ask.prompt, **_images(ask)},
            ],
            "stream": False,
            "options": {"temperature": 0, "num_predict": ask.max_tokens, "num_ctx": context},
        }
        if ask.schema is not None:
            body["format"] = dict(ask.schema)
        return Request("/api/chat", body)

    def read(self, answer: Any) -> Completion:
        """Return the message."""
        return Completion(answer["message"]["content"], cut=answer.get("done_reason") == "length")

    def in_parts(self, request: Request, *, refused: frozenset[str]) -> Request:
        """Return the request with `stream`."""
        del refused
        return replace(request, body={**request.body, "stream": True})

    def part(self, event: Any) -> Part:
        """Return a piece of the message; the last event has the counts."""
        counted = (self.tokens(event) or (None, None)) if event.get("done") else (None, None)
        return Part(
            (event.get("message") or {}).get("content") or "",
            event.get("done_reason") == "length",
            "",
            *counted,
        )

    def tokens(self, answer: Any) -> tuple[int, int] | None:
        """Return what was evaluated; a prompt that the server remembers counts as nothing."""
        return answer.get("prompt_eval_count", 0), answer["eval_count"]


def _images(ask: Ask) -> dict[str, list[str]]:
    return {} if ask.image is None else {"images": [ask.image.base64]}


def model_names(answer: Any) -> list[str]:
    """Return the names of GET /api/tags."""
    return [model["name"] for model in answer["models"]]


def root(url: str) -> str:
    """Return the address without the /v1 or /api that other clients want."""
    return url.removesuffix("/v1").removesuffix("/api")


PROVIDER = Provider(
    name="ollama",
    url="http://127.0.0.1:11434",
    key_variables=("OLLAMA_API_KEY",),
    needs_key=False,
    embeddings=_Embeddings(),
    chat=_Chat(),
    # The server cuts texts to the window itself; these are for the length of the vectors.
    known={
        "nomic-embed-text": Known(768, 8192),
        "mxbai-embed-large": Known(1024, 512),
        "all-minilm": Known(384, 512),
        "bge-m3": Known(1024, 8192),
        "embeddinggemma": Known(768, 2048),
        "qwen3-embedding:0.6b": Known(1024, 32_768),
        "qwen3-embedding:4b": Known(2560, 32_768),
        "qwen3-embedding:8b": Known(4096, 32_768),
    },
    start=lambda _: "`ollama serve`",
    pull="ollama pull",
    models_path="/api/tags",
    model_names=model_names,
    root=root,
)


def open_models(options: Mapping[str, Any]) -> ProviderModels:
    """Return the models of an Ollama server; raises ConfigError for an option of another type."""
    return ProviderModels(PROVIDER, options)
