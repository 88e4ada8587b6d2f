"""LightRAG's emulation of Ollama, so that chat programs for Ollama can ask the memory."""

import re
import time
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import ValidationError

from ragmem.api.memory import Ragmem
from ragmem.domain.text.excerpts import estimate_tokens
from ragmem.errors import RagmemError, UsageError
from ragmem.server.http.failure_models import EVERYWHERE
from ragmem.server.http.llm_workers import LlmWorkers
from ragmem.server.http.models import Message, ModeName, QueryRequest
from ragmem.server.http.workers import Workers
from ragmem.server.lightrag import responses
from ragmem.server.lightrag.ollama_models import (
    MADE_AT,
    MODEL,
    ChatRequest,
    ChatResponse,
    GenerateRequest,
    GenerateResponse,
    RunningResponse,
    TagsResponse,
    VersionResponse,
)
from ragmem.server.lightrag.responses import NDJSON, line, parts_of

_PREFIX = re.compile(
    r"/(?P<mode>local|global|hybrid|naive|mix|bypass|ragmem)?(?P<context>context)?"
    r"(?:\[(?P<wishes>[^\]\n]*)\])?(?:\s+|$)"
)
"""How a message chooses its mode: `/naive why ...`, `/context ...`, `/mix[as a list] ...`."""

_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "One JSON document, or with `stream` one per line.",
        "content": {NDJSON: {"schema": {"type": "string"}}},
    }
}


def routes(memory: Ragmem, workers: Workers, llm_workers: LlmWorkers) -> APIRouter:
    """Return the routes; language models run in `llm_workers`, other blocking work in the workers."""
    router = APIRouter(prefix="/api", tags=["ollama"], responses=EVERYWHERE)

    @router.get("/version")
    async def version() -> VersionResponse:
        """Return the emulated version of Ollama."""
        return VersionResponse()

    @router.get("/tags")
    async def tags() -> TagsResponse:
        """Return the one model: this memory."""
        return TagsResponse()

    @router.get("/ps")
    async def processes() -> RunningResponse:
        """Return the one model, which is always loaded."""
        return RunningResponse()

    @router.post("/chat", response_model=ChatResponse, responses=_STREAM)
    async def chat(request: ChatRequest) -> ChatResponse | StreamingResponse:
        """Answer the last message of a conversation as /query does.

        It may begin with a mode (`/local`, `/global`, `/hybrid`, `/naive`, `/mix`, `/bypass`, `/ragmem`),
        with `/context` or `/naivecontext` for only the context, and with instructions in brackets.
        """
        begun = time.monotonic_ns()
        asked = question_of(request)
        prepared = await workers.ask(lambda: responses.prepare(memory, asked))
        if request.stream:
            return StreamingResponse(_lines(prepared, llm_workers, begun, asked.query), media_type=NDJSON)
        text = "".join([part async for part in parts_of(prepared, llm_workers)])
        message = Message(role="assistant", content=text)
        return ChatResponse.model_validate({"message": message, **_timings(begun, asked.query, text)})

    @router.post("/generate", response_model=GenerateResponse, responses=_STREAM)
    async def generate(request: GenerateRequest) -> GenerateResponse | StreamingResponse:
        """Ask only the language model; 400 if none is configured."""
        begun = time.monotonic_ns()
        asked = QueryRequest(query=request.prompt, mode="bypass", user_prompt=request.system)
        prepared = await workers.ask(lambda: responses.prepare(memory, asked))
        if request.stream:
            return StreamingResponse(
                _lines(prepared, llm_workers, begun, request.prompt, chat=False), media_type=NDJSON
            )
        text = "".join([part async for part in parts_of(prepared, llm_workers)])
        return GenerateResponse.model_validate({"response": text, **_timings(begun, request.prompt, text)})

    return router


def question_of(request: ChatRequest) -> QueryRequest:
    """Return the question in the last message; raises UsageError if it has none."""
    *history, last = request.messages
    text, mode, context, wishes = last.content, "mix", False, request.system
    if (found := _PREFIX.match(text)) and (found["mode"] or found["context"] or found["wishes"]):
        mode, context = found["mode"] or "mix", bool(found["context"])
        wishes = found["wishes"] or wishes
        text = text[found.end() :]
    chosen: ModeName = mode  # type: ignore[assignment]  # the pattern names no other
    try:
        return QueryRequest(
            query=text,
            mode=chosen,
            only_need_context=context,
            user_prompt=wishes or None,
            conversation_history=history or None,
        )
    except ValidationError as error:
        said = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise UsageError(
            f"the last message is not a question: {said}", hint="put the question in its text"
        ) from error


async def _lines(
    prepared: responses.PreparedResponse,
    llm_workers: LlmWorkers,
    begun: int,
    asked: str,
    *,
    chat: bool = True,
) -> AsyncIterator[str]:
    def one(text: str, **more: Any) -> str:
        said: dict[str, Any] = (
            {"message": {"role": "assistant", "content": text}} if chat else {"response": text}
        )
        return line(model=MODEL, created_at=MADE_AT, **said, **more)

    whole: list[str] = []
    try:
        async for part in parts_of(prepared, llm_workers):
            whole.append(part)
            yield one(part, done=False)
    except RagmemError as error:
        yield one(f"\n\nError: {error.full_message}", error=error.full_message, done=False)
    yield one("", done=True, done_reason="stop", **_timings(begun, asked, "".join(whole)))


def _timings(begun: int, asked: str, answered: str) -> dict[str, int]:
    return {
        "total_duration": time.monotonic_ns() - begun,
        "prompt_eval_count": estimate_tokens(asked),
        "eval_count": estimate_tokens(answered),
    }
