"""Embed texts in batches, so that questions get their turn in between."""

import base64
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import numpy as np

from ragmem.domain.text.excerpts import CHARACTERS_PER_TOKEN
from ragmem.ports import Embedder
from ragmem.server.http.workers import Workers
from ragmem.server.inference.api_errors import ApiError
from ragmem.server.inference.models import (
    LONGEST_TEXT,
    MOST_TEXTS,
    Embedding,
    EmbeddingRequest,
    EmbeddingResponse,
    EmbeddingUsage,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

BATCH_SIZE = 32
"""Texts that are embedded before another request gets its turn."""


def texts_of(request: EmbeddingRequest) -> list[str]:
    """Return the texts; raises ApiError for tokens and invalid texts."""
    given = [request.input] if isinstance(request.input, str) else request.input
    texts = [text for text in given if isinstance(text, str)]
    if len(texts) < len(given):
        raise ApiError(400, "tokens are refused: send text, which the model cuts into its own", param="input")
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
    """Return the vectors; only the first ones if `gone` tells that the client has left."""
    texts = texts_of(request)
    if request.dimensions is not None:
        length = await workers.run(lambda: embedder.dimensions)
        if request.dimensions != length:
            raise ApiError(
                400, f'vectors of "{embedder.model_id}" have {length} dimensions', param="dimensions"
            )
    found: list[Embedding] = []
    for begin in range(0, len(texts), BATCH_SIZE):
        part = texts[begin : begin + BATCH_SIZE]
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
