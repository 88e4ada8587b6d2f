"""Google Gemini: embeddings by task, and generated content.

Shapes: ai.google.dev/api (models.batchEmbedContents, models.generateContent). Limits: 100 texts a request,
2,048 tokens a text (gemini-embedding-001), longer ones are cut by the server.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ragmem.backends.providers.models import ProviderModels
from ragmem.backends.providers.provider import ChatRequest, Completion, KnownModel, Part, Provider, Request
from ragmem.backends.providers.schemas import add_schema_to_prompt, openapi_subset
from ragmem.ports import Role

_TASKS = {"query": "RETRIEVAL_QUERY", "document": "RETRIEVAL_DOCUMENT"}
# gemini-embedding-2 takes no task; its documentation gives these words instead.
_IN_WORDS = "gemini-embedding-2"
_WORDS = {"query": "task: search result | query: ", "document": "title: none | text: "}


class _Embeddings:
    """POST /models/{model}:batchEmbedContents."""

    texts_per_request = 100
    tokens_per_request = 20_000

    def request(
        self, model: str, texts: Sequence[str], *, role: Role, dimensions: int, refused: frozenset[str]
    ) -> Request:
        """Return the request; shortened vectors are normalised later."""
        del refused
        name = f"models/{model.removeprefix('models/')}"
        worded = model.removeprefix("models/").startswith(_IN_WORDS)
        common: dict[str, Any] = {"model": name} if worded else {"model": name, "taskType": _TASKS[role]}
        if dimensions:
            common["outputDimensionality"] = dimensions
        words = _WORDS[role] if worded else ""
        parts = [{**common, "content": {"parts": [{"text": f"{words}{text}"}]}} for text in texts]
        return Request(f"/{name}:batchEmbedContents", {"requests": parts})

    def rows(self, answer: Any, count: int) -> Sequence[Any]:
        """Return the vectors, which are in the order of the texts."""
        del count
        return [row["values"] for row in answer["embeddings"]]

    def tokens(self, answer: Any) -> int | None:
        """Return the tokens where the model counts them."""
        return (answer.get("usageMetadata") or {}).get("promptTokenCount")


class _Contents:
    """POST /models/{model}:generateContent."""

    def request(self, chat: ChatRequest, *, refused: frozenset[str]) -> Request:
        """Return the request; thinking would use up max_tokens, so it is turned off where possible."""
        generation: dict[str, Any] = {"maxOutputTokens": chat.max_tokens}
        optional, system = [], chat.system
        if "temperature" not in refused:
            generation["temperature"] = 0
            optional.append("temperature")
        if "thinking" not in refused:
            generation["thinkingConfig"] = {"thinkingBudget": 0}
            optional.append("thinking")
        if chat.schema is not None:
            if "json" not in refused:
                generation["responseMimeType"] = "application/json"
            if "schema" not in refused:
                generation["responseSchema"] = openapi_subset(chat.schema)
            else:
                system = add_schema_to_prompt(system, chat.schema)
            optional += [name for name in ("schema", "json") if name not in refused]
        body: dict[str, Any] = {
            "contents": [{"role": "user", "parts": _parts(chat)}],
            "generationConfig": generation,
        }
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        return Request(f"/models/{chat.model.removeprefix('models/')}:generateContent", body, optional)

    def read(self, answer: Any) -> Completion:
        """Return the first candidate, or why there is none."""
        if not answer.get("candidates"):
            reason = (answer.get("promptFeedback") or {})["blockReason"]
            return Completion("", refusal=str(reason).lower())
        candidate = answer["candidates"][0]
        parts = (candidate.get("content") or {}).get("parts") or []
        text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
        ending = candidate.get("finishReason", "STOP")
        cut = ending == "MAX_TOKENS"
        return Completion(text, cut=cut, refusal="" if cut or ending == "STOP" else str(ending).lower())

    def stream_request(self, request: Request, *, refused: frozenset[str]) -> Request:
        """Return the request at the path for streaming."""
        del refused
        path = request.path.replace(":generateContent", ":streamGenerateContent?alt=sse")
        return replace(request, path=path)

    def read_event(self, event: Any) -> Part:
        """Return the part of the first candidate; each event is an answer of its own."""
        if not event.get("candidates") and not event.get("promptFeedback"):
            return Part()
        completion = self.read(event)
        counted = self.tokens(event) if "promptTokenCount" in (event.get("usageMetadata") or {}) else None
        is_last = any("finishReason" in one for one in event.get("candidates") or ())
        counts = counted or (None, None)
        return Part(completion.text, completion.cut, completion.refusal, is_last, *counts)

    def tokens(self, answer: Any) -> tuple[int, int] | None:
        """Return the counts in `usageMetadata`; thoughts are paid for like text."""
        usage = answer["usageMetadata"]
        out = (usage.get("candidatesTokenCount") or 0) + (usage.get("thoughtsTokenCount") or 0)
        return usage["promptTokenCount"], out


def _parts(chat: ChatRequest) -> list[dict[str, Any]]:
    if chat.image is None:
        return [{"text": chat.prompt}]
    return [
        {"inlineData": {"mimeType": chat.image.media_type, "data": chat.image.base64}},
        {"text": chat.prompt},
    ]


def model_names(answer: Any) -> list[str]:
    """Return the names of GET /models."""
    return [model["name"].removeprefix("models/") for model in answer["models"]]


PROVIDER = Provider(
    name="gemini",
    url="https://generativelanguage.googleapis.com/v1beta",
    key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    key_header="x-goog-api-key",
    embeddings=_Embeddings(),
    chat=_Contents(),
    model="gemini-embedding-001",
    known_models={
        "gemini-embedding-001": KnownModel(3072, 2048),
        "gemini-embedding-2": KnownModel(3072, 8192),
        "gemini-embedding-2-preview": KnownModel(3072, 8192),
    },
    models_path="/models?pageSize=1000",
    model_names=model_names,
    other_addresses=lambda url: (f"{url}/v1beta",),
)

open_models = partial(ProviderModels, PROVIDER)
