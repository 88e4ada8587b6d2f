"""The texts of a memory for the extraction of entities: without secrets and private parts."""

from collections.abc import Sequence
from dataclasses import replace

from ragmem.domain.model import Chunk, Memory
from ragmem.domain.secrets.redaction import Redactor, Secret, cover

_BETWEEN = " > "


def redact_chunks(memory: Memory, chunks: Sequence[Chunk], redactor: Redactor) -> tuple[Chunk, ...]:
    """Return a memory's chunks with each secret replaced, even if it spans several of them.

    A heading within a secret is removed from the headings of a chunk.
    """
    whole = memory.indexed_text
    secrets = redactor.find(whole)
    return tuple(_redact_chunk(whole, chunk, secrets) for chunk in chunks) if secrets else tuple(chunks)


def _redact_chunk(whole: str, chunk: Chunk, secrets: Sequence[Secret]) -> Chunk:
    headings = [
        heading
        for heading in chunk.heading.split(_BETWEEN)
        if not any(heading in whole[secret.start : secret.end] for secret in secrets)
    ]
    text = cover(whole, secrets, chunk.start, chunk.end)
    return replace(chunk, text=text, heading=_BETWEEN.join(headings))
