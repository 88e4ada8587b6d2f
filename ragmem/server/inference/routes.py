"""The routes of the models: GET /v1/models, POST /v1/embeddings and /v1/chat/completions."""

import base64
import os
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, suppress
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import orjson
from fastapi import APIRouter, Path, Request
from fastapi.responses import Response, StreamingResponse

from ragmem.api.memory import Ragmem
from ragmem.backends.minilm import NAMES as BUNDLED
from ragmem.config.models import LanguageModelSettings, ModelSettings
from ragmem.domain.text.excerpts import CHARACTERS_PER_TOKEN
from ragmem.errors import BackendError, RagmemError
from ragmem.ports import Embedder, LanguageModel
from ragmem.server.http.llm_workers import LlmWorkers
from ragmem.server.http.workers import Workers
from ragmem.server.inference.api_errors import ApiError, ModelsRoute, error_response, error_text, responses
from ragmem.server.inference.chat import ChatPrompt, StopSequences, chat_prompt, completion, usage
from ragmem.server.inference.models import (
    LONGEST_TEXT,
    MOST_TEXTS,
    ChatChoice,
    ChatMessage,
    ChatRequest,
    ChatResponse,
    Embedding,
    EmbeddingRequest,
    EmbeddingResponse,
    EmbeddingUsage,
    Model,
    ModelList,
    ModelName,
)
from ragmem.services.models.local_models import LocalModel, find_local_models
from ragmem.services.models.use import model_label

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEFAULT = "default"
"""An alias of the configured model."""

NONE_CONFIGURED = "no language model is configured: set one in [language_model] of config.toml"

_STREAM = {"content": {"text/event-stream": {"schema": {"type": "string"}}}}


def routes(memory: Ragmem, workers: Workers, llm_workers: LlmWorkers) -> APIRouter:
    """Return the routes of an open memory; language models run in their own threads."""
    router = APIRouter(prefix="/v1", tags=["models"], route_class=ModelsRoute)

    @router.get("/models", responses=responses(), response_model_exclude_none=True)
    async def models() -> ModelList:
        """Return the configured models: the embedder, and the language model if any."""
        return ModelList(data=await workers.run(lambda: models_of(memory)))

    # A path: the names of hubs have slashes.
    @router.get("/models/{model:path}", responses=responses(400, 404), response_model_exclude_none=True)
    async def model_by_name(model: Annotated[ModelName, Path()]) -> Model:
        """Return one model by its id or an alias."""
        return await workers.run(lambda: model_of(memory, model))

    @router.post(
        "/embeddings", responses=responses(400, 404, 413, 429, 503), response_model=EmbeddingResponse
    )
    async def embeddings(request: EmbeddingRequest, http: Request) -> Response:
        """Turn texts into vectors of unit length, in OpenAI's shape."""
        embedder = await workers.run(lambda: embedder_of(memory, request.model))
        found = await embed(embedder, request, workers, gone=http.is_disconnected)
        # Half a million numbers: validating them would take longer than computing them.
        return Response(orjson.dumps(found.model_dump()), media_type="application/json")

    @router.post(
        "/chat/completions",
        responses={200: _STREAM, **responses(400, 404, 413, 429, 503)},
        response_model=ChatResponse,
    )
    async def chat(request: ChatRequest) -> Any:
        """Continue a conversation, in OpenAI's shape; whole, or with `stream` in chunks.

        The answer is the likeliest one. The model gets earlier turns as text. A failure after the first chunk
        is an event {"error": ...}.
        """
        model = await workers.run(lambda: language_model_of(memory, request.model))
        asked = chat_prompt(request)
        if not request.stream:
            return await _whole_answer(model, asked, llm_workers)
        return await _stream_answer(model, request, asked, llm_workers)

    return router


async def _whole_answer(model: LanguageModel, asked: ChatPrompt, llm_workers: LlmWorkers) -> ChatResponse:
    text = await llm_workers.run(lambda: "".join(completion(model, asked, whole=True)))
    stops = StopSequences(asked.stops)
    text = stops.before(text) + stops.rest()
    return ChatResponse(
        id=_identifier(),
        created=int(time.time()),
        model=model.model_id,
        choices=[ChatChoice(message=ChatMessage(content=text), finish_reason="stop")],
        usage=usage(asked, text),
    )


async def _stream_answer(
    model: LanguageModel, request: ChatRequest, asked: ChatPrompt, llm_workers: LlmWorkers
) -> StreamingResponse:
    parts = llm_workers.parts(lambda: completion(model, asked, whole=False))
    # A failure before the first part is answered with its own status.
    first = await anext(parts, None)
    events = _events(model, request, asked, first, parts)
    return StreamingResponse(events, media_type="text/event-stream")


async def _events(
    model: LanguageModel,
    request: ChatRequest,
    asked: ChatPrompt,
    first: str | None,
    parts: AsyncGenerator[str, None],
) -> AsyncIterator[bytes]:
    base = {
        "id": _identifier(),
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": model.model_id,
    }

    def chunk(delta: dict[str, str], ending: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": ending, "logprobs": None}
        return _event({**base, "choices": [choice]})

    stops, said = StopSequences(asked.stops), ""
    async with aclosing(parts):
        yield chunk({"role": "assistant", "content": ""})
        try:
            part = first
            while part is not None and not stops.reached:
                if text := stops.before(part):
                    said += text
                    yield chunk({"content": text})
                part = None if stops.reached else await anext(parts, None)
            if text := stops.rest():
                said += text
                yield chunk({"content": text})
        except RagmemError as error:
            yield b"data: " + bytes(error_response(503, error_text(error)).body) + b"\n\n"
            return
    yield chunk({}, "stop")
    if request.stream_options is not None and request.stream_options.include_usage:
        yield _event({**base, "choices": [], "usage": usage(asked, said).model_dump()})
    yield b"data: [DONE]\n\n"


def _event(content: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(content) + b"\n\n"


def _identifier() -> str:
    return f"chatcmpl-{secrets.token_hex(12)}"


_BATCH_SIZE = 32
"""Texts that are embedded before another request gets its turn."""


def _texts_of(request: EmbeddingRequest) -> list[str]:
    """Return the texts; raises ApiError for tokens and invalid texts."""
    given = [request.input] if isinstance(request.input, str) else request.input
    texts = [text for text in given if isinstance(text, str)]
    if len(texts) < len(given):
        raise ApiError(400, "tokens are not accepted: send text", param="input")
    if not 0 < len(texts) <= MOST_TEXTS:
        raise ApiError(400, f"there are {len(texts):,} texts; send 1 to {MOST_TEXTS:,}", param="input")
    if not all(texts):
        raise ApiError(400, "a text is empty", param="input")
    if any(len(text) > LONGEST_TEXT for text in texts):
        raise ApiError(
            400,
            f"a text has more than {LONGEST_TEXT:,} characters",
            param="input",
            code="context_length_exceeded",
        )
    # Half a surrogate pair is not a character; a tokenizer would raise an error.
    return [text.encode("utf-8", "replace").decode() for text in texts]


async def embed(
    embedder: Embedder, request: EmbeddingRequest, workers: Workers, *, gone: Callable[[], Awaitable[bool]]
) -> EmbeddingResponse:
    """Return the vectors; only the first ones if `gone` says that the client has left."""
    texts = _texts_of(request)
    if request.dimensions is not None:
        length = await workers.run(lambda: embedder.dimensions)
        if request.dimensions != length:
            raise ApiError(
                400, f'vectors of "{embedder.model_id}" have {length} dimensions', param="dimensions"
            )
    found: list[Embedding] = []
    for begin in range(0, len(texts), _BATCH_SIZE):
        part = texts[begin : begin + _BATCH_SIZE]
        rows = await workers.ask(lambda part=part: embedder.embed(part, role=request.input_type))  # type: ignore[misc]
        found += [
            Embedding(index=begin + place, embedding=_encode(row, request.encoding_format))
            for place, row in enumerate(rows)
        ]
        if await gone():
            break
    tokens = sum(-(-len(text) // CHARACTERS_PER_TOKEN) for text in texts)
    return EmbeddingResponse(
        data=found,
        model=embedder.model_id,
        usage=EmbeddingUsage(prompt_tokens=tokens, total_tokens=tokens),
    )


def _encode(row: "NDArray[np.float32]", form: str) -> list[float] | str:
    if form == "base64":
        return base64.b64encode(np.ascontiguousarray(row, dtype="<f4").tobytes()).decode("ascii")
    numbers: list[float] = row.tolist()
    return numbers


def models_of(memory: Ragmem) -> list[Model]:
    """Return the configured models that are available; the routes of the others report the problem."""
    models: list[Model] = []
    for one in (_embedding, _chat):
        with suppress(BackendError):
            models += one(memory)
    return models


def model_of(memory: Ragmem, name: str) -> Model:
    """Return the model of an id or alias, the embedder first; raises ApiError for an unknown one."""
    for model in models_of(memory):
        if name == model.id or name in model.aliases:
            return model
    raise _unknown_model(memory, name)


def embedder_of(memory: Ragmem, name: str) -> Embedder:
    """Return the configured embedder; raises ApiError for another name, BackendError where it fails."""
    # During a change of the model the store still has vectors of the former one, which will go.
    embedder = memory.models.wanted.embedder
    _check_name(memory, name, embedder.model_id, memory.settings.models)
    return embedder


def language_model_of(memory: Ragmem, name: str) -> LanguageModel:
    """Return the configured language model; errors as in `embedder_of`, ApiError if there is none."""
    model = memory.answers.model
    if model is None:
        # Not a 503: clients would retry for ever.
        raise ApiError(404, NONE_CONFIGURED, param="model", code="model_not_found")
    _check_name(memory, name, model.model_id, memory.settings.language_model)
    return model


def _embedding(memory: Ragmem) -> Iterator[Model]:
    embedder = memory.models.wanted.embedder
    settings = memory.settings.models
    yield Model(
        id=embedder.model_id,
        owned_by=settings.backend,
        kind="embedding",
        dimensions=embedder.dimensions,
        aliases=_aliases(memory, embedder.model_id, settings),
    )


def _chat(memory: Ragmem) -> Iterator[Model]:
    model = memory.answers.model
    settings = memory.settings.language_model
    if model is not None:
        yield Model(
            id=model.model_id,
            owned_by=settings.backend or "given",
            kind="chat",
            aliases=_aliases(memory, model.model_id, settings),
        )


def _aliases(memory: Ragmem, model_id: str, chosen: ModelSettings | LanguageModelSettings) -> list[str]:
    """Return the other names of a model: from the configuration, and from `models list`."""
    names = [DEFAULT, chosen.model, model_label(chosen) if chosen.backend else ""]
    if model_id in BUNDLED:
        names += sorted(BUNDLED)
    elif chosen.model.startswith(("/", "~", ".")):
        folder = FilePath(chosen.model).expanduser()
        names += [one.name for one in _local_models(memory) if one.folder == folder]
    return [name for name in dict.fromkeys(names) if name and name != model_id]


def _local_models(memory: Ragmem) -> list[LocalModel]:
    return find_local_models(memory.settings.places.data, os.environ, home=memory.home)


def _check_name(
    memory: Ragmem, name: str, model_id: str, chosen: ModelSettings | LanguageModelSettings
) -> None:
    if name not in {model_id, *_aliases(memory, model_id, chosen)}:
        raise _unknown_model(memory, name)


def _unknown_model(memory: Ragmem, name: str) -> ApiError:
    shown = name if len(name) <= 80 else f"{name[:79]}…"
    message = f'there is no model "{shown}"; GET /v1/models lists all'
    if name in BUNDLED or any(one.name == name for one in _local_models(memory)):
        message = f'the model "{shown}" is not configured; GET /v1/models lists the configured ones'
    return ApiError(404, message, param="model", code="model_not_found")
