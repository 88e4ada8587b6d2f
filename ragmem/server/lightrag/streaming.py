"""Stream a response as lines of JSON."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from ragmem.errors import RagmemError
from ragmem.server.http.llm_workers import LlmWorkers
from ragmem.server.http.models import QueryRequest
from ragmem.server.lightrag.responses import PreparedResponse

NDJSON = "application/x-ndjson"


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
