"""The response to a question: the context, the prompt for a model, or its answer; and its lines of JSON."""

import json
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Match
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import BackendError, RagmemError, UsageError
from ragmem.server.http import answers, handlers
from ragmem.server.http.llm_workers import LlmWorkers
from ragmem.server.http.models import QueryRequest, QueryResponse, Reference
from ragmem.services.retrieval.answerer import Answerer, AnswerRequest, prompt_of

NDJSON = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class PreparedResponse:
    """The content of a response: its text or, with an `answerer`, the request to that."""

    text: str
    references: list[Reference] | None
    notes: list[str]
    wanted: AnswerRequest
    answerer: Answerer | None = None

    def parts(self) -> Iterator[str]:
        """Yield the response in parts; raises BackendError if the model fails, also after some parts."""
        if self.answerer is not None:
            yield from self.answerer.stream(self.wanted)
        else:
            yield from paragraphs(self.text)


def prepare(memory: Ragmem, request: QueryRequest) -> PreparedResponse:
    """Retrieve the answer to a request, and prepare the prompt for a language model.

    If nothing was found no model is asked, because it would invent an answer. Raises UsageError for a bypass
    without a model, and the errors of `handlers.ask`.
    """
    if request.mode == "bypass":
        return _bypass(memory, request)
    routed = handlers.ask(memory, request)
    answer = routed.answer
    block, matches = answers.context_block(answer, request, redactor=memory.redactor)
    listed = answers.references(
        matches, content=bool(request.include_chunk_content), redactor=memory.redactor
    )
    facts = [f"{fact.name.strip()}: {fact.value}" for fact in routed.shown_facts]
    notes = [*answer.notes, *facts]
    text = block or "\n".join(facts) or answers.nothing_found(request)
    answerer = None
    if block and not (request.only_need_context or request.only_need_prompt):
        answerer = _answerer(memory, notes)
    # Only a prompt names the sources, and the search for secrets in their titles takes time.
    asked = request.only_need_prompt or answerer is not None
    wanted = _answer_request(
        request, block, _sources(matches, listed, redactor=memory.redactor) if asked else ()
    )
    if request.only_need_prompt:
        text = prompt_of(wanted)
    return PreparedResponse(text, listed if request.include_references else None, notes, wanted, answerer)


def respond(prepared: PreparedResponse, request: QueryRequest) -> QueryResponse:
    """Answer POST /query, without the response time; blocks while a language model answers.

    If the model fails, the context is the response and a note says why; a bypass raises BackendError.
    """
    text, generated = prepared.text, False
    if prepared.answerer is not None:
        try:
            text, generated = prepared.answerer.answer(prepared.wanted), True
        except BackendError as error:
            if request.mode == "bypass":
                raise
            prepared.notes.append(f"not answered by the language model: {error.full_message}")
    found = QueryResponse(response=text, response_time=0.0, notes=prepared.notes)
    found.llm_generated = generated
    if request.mode != "bypass":
        found.references = prepared.references
    return found


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a text, with the blank lines between them."""
    first, *others = text.split("\n\n")
    yield first
    yield from (f"\n\n{other}" for other in others)


def _bypass(memory: Ragmem, request: QueryRequest) -> PreparedResponse:
    wanted = _answer_request(request, "", ())
    if request.only_need_prompt or request.only_need_context:
        return PreparedResponse(prompt_of(wanted) if request.only_need_prompt else "", [], [], wanted)
    answerer = memory.answers.answerer()
    if answerer is None:
        raise UsageError(
            'the mode "bypass" needs a language model, and none is configured',
            hint="configure one in [language_model] of config.toml, or use another mode",
        )
    return PreparedResponse("", [], [], wanted, answerer)


def _answerer(memory: Ragmem, notes: list[str]) -> Answerer | None:
    try:
        return memory.answers.answerer()
    except BackendError as error:
        notes.append(f"not answered by the language model: {error.full_message}")
        return None


def _sources(matches: Sequence[Match], listed: Sequence[Reference], redactor: Redactor) -> list[str]:
    """Return a line for each match: its title without secrets, its date and its source."""
    return [
        f"{redactor.redact(match.memory.title)[0]}, {match.memory.event_time:%Y-%m-%d}: {reference.file_path}"
        for match, reference in zip(matches, listed, strict=True)
    ]


def _answer_request(request: QueryRequest, block: str, sources: list[str] | tuple[str, ...]) -> AnswerRequest:
    return AnswerRequest(
        question=request.query,
        context=block,
        sources=sources,
        history=[(one.role, one.content) for one in request.conversation_history or ()],
        wishes=request.user_prompt or "",
        form=request.response_type or "",
    )


def line(**values: Any) -> str:
    """Return one line of JSON."""
    return json.dumps(values, ensure_ascii=False) + "\n"


async def lines_of(
    prepared: PreparedResponse, request: QueryRequest, llm_workers: LlmWorkers, *, begun: float
) -> AsyncIterator[str]:
    """Yield the lines of a response; an error after the first line is a line as well."""
    references = (
        None
        if prepared.references is None
        else [one.model_dump(exclude_none=True) for one in prepared.references]
    )
    generated = prepared.answerer is not None
    if request.include_progress:
        yield line(progress="generating_response" if generated else "retrieving_chunks")
    shown = {} if references is None else {"references": references}
    whole: list[str] = []
    if request.stream is not False and shown:
        yield line(**shown)
    try:
        async for part in parts_of(prepared, llm_workers):
            if request.stream is False:
                whole.append(part)
            else:
                yield line(response=part)
        if request.stream is False:
            yield line(response="".join(whole), llm_generated=generated, **shown)
        elif not generated:
            yield line(llm_generated=False)
    except RagmemError as error:
        yield line(error=error.full_message)
    if request.include_progress:
        yield line(response_time=round(time.perf_counter() - begun, 3))


async def parts_of(prepared: PreparedResponse, llm_workers: LlmWorkers) -> AsyncIterator[str]:
    """Yield the parts of a response; a language model runs in a thread until the client leaves."""
    if prepared.answerer is None:
        for part in prepared.parts():
            yield part
        return
    async with aclosing(llm_workers.parts(prepared.parts)) as parts:
        async for part in parts:
            if part:
                yield part
