"""Ollama: its own protocol, which cuts long texts itself and takes a schema for any model.

Shapes: github.com/ollama/ollama, docs/api.md.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ragmem.backends.providers.models import ProviderModels
from ragmem.backends.providers.provider import ChatRequest, Completion, KnownModel, Part, Provider, Request
from ragmem.backends.providers.vectors import estimate_tokens
from ragmem.ports import Role

LEAST_CONTEXT = 8192
"""By default Ollama reads 4,096 tokens of prompt and completion, and silently drops the rest."""

_TOKENS_PER_IMAGE = 2_048
"""Tokens of a picture: some hundreds in most models, up to this many in those that tile it."""


class _Embeddings:
    """POST /api/embed."""

    texts_per_request = 32
    tokens_per_request = 32_000

    def request(
        self, model: str, texts: Sequence[str], *, role: Role, dimensions: int, refused: frozenset[str]
    ) -> Request:
        """Return the request; this protocol does not distinguish questions from texts."""
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

    def request(self, chat: ChatRequest, *, refused: frozenset[str]) -> Request:
        """Return the request, with a context that holds the prompt."""
        del refused
        wanted = estimate_tokens(chat.prompt) + estimate_tokens(chat.system) + chat.max_tokens
        wanted += _TOKENS_PER_IMAGE if chat.image else 0
        context = LEAST_CONTEXT
        # Doubled, because Ollama reloads the model for each new size.
        while context < wanted:
            context *= 2
        body: dict[str, Any] = {
            "model": chat.model,
            "messages": [
                *([{"role": "system", "content": chat.system}] if chat.system else []),
                {"role": "user", "content": chat.prompt, **_images(chat)},
            ],
            "stream": False,
            "options": {"temperature": 0, "num_predict": chat.max_tokens, "num_ctx": context},
        }
        if chat.schema is not None:
            body["format"] = dict(chat.schema)
        return Request("/api/chat", body)

    def read(self, answer: Any) -> Completion:
        """Return the message."""
        return Completion(answer["message"]["content"] or "", cut=answer.get("done_reason") == "length")

    def stream_request(self, request: Request, *, refused: frozenset[str]) -> Request:
        """Return the request with `stream`."""
        del refused
        return replace(request, body={**request.body, "stream": True})

    def read_event(self, event: Any) -> Part:
        """Return a piece of the message; the last event has the counts."""
        counted = (self.tokens(event) or (None, None)) if event.get("done") else (None, None)
        return Part(
            (event.get("message") or {}).get("content") or "",
            event.get("done_reason") == "length",
            "",
            bool(event.get("done")),
            *counted,
        )

    def tokens(self, answer: Any) -> tuple[int, int] | None:
        """Return the evaluated tokens; a prompt in the server's cache counts as 0."""
        return answer.get("prompt_eval_count", 0), answer["eval_count"]


def _images(chat: ChatRequest) -> dict[str, list[str]]:
    return {} if chat.image is None else {"images": [chat.image.base64]}


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
    known_models={
        "nomic-embed-text": KnownModel(768, 8192),
        "mxbai-embed-large": KnownModel(1024, 512),
        "all-minilm": KnownModel(384, 512),
        "bge-m3": KnownModel(1024, 8192),
        "embeddinggemma": KnownModel(768, 2048),
        "qwen3-embedding:0.6b": KnownModel(1024, 32_768),
        "qwen3-embedding:4b": KnownModel(2560, 32_768),
        "qwen3-embedding:8b": KnownModel(4096, 32_768),
    },
    start=lambda _: "`ollama serve`",
    pull="ollama pull",
    models_path="/api/tags",
    model_names=model_names,
    root=root,
)

open_models = partial(ProviderModels, PROVIDER)
