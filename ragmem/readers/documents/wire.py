"""The messages between the process that requests a document and the one that reads it."""

import base64
import json
from dataclasses import asdict
from typing import Any

from ragmem.domain.secrets.redaction import Redactor
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, Picture, RefusedError

LENGTH_BYTES = 8
OCR_BEGINS = bytes(LENGTH_BYTES)
"""The frame without a body that comes before each picture whose text is read, which takes longer."""

PAGE_ENDS = b"\xff" * LENGTH_BYTES
"""What stands for a frame after each page of a long document."""

PICTURES_BYTES = 32_000_000
"""Maximum bytes of all pictures of a document together; further ones are not described."""
PICTURES = 200

_ESCAPED = 6  # bytes of a character in ASCII JSON; twice as many beyond the basic plane
_FRAME_BYTES = 4_000_000  # for the other fields


def most_bytes(limits: Limits) -> int:
    """Return the maximum length of an answer under these limits."""
    return limits.characters * _ESCAPED * 2 + PICTURES_BYTES * 4 // 3 + _FRAME_BYTES


def frame(value: dict[str, Any]) -> bytes:
    """Return a message with its length as a prefix."""
    body = json.dumps(value, separators=(",", ":")).encode("ascii")
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def request(
    path: str, limits: Limits, *, seconds: float, memory_mb: int, pictures: bool, redactor: Redactor
) -> bytes:
    """Return the message that requests one document, with its pictures if a model describes them."""
    return frame(
        {
            "path": path,
            "limits": asdict(limits) | {"seconds": seconds},
            "seconds": seconds,
            "memory_mb": memory_mb,
            "pictures": pictures,
            "redactor": asdict(redactor),
        }
    )


def answer(converted: ConvertedDocument, *, peak_kb: int) -> bytes:
    """Return the message with a document."""
    parts = [
        {
            "text": part.text,
            "locator": part.locator,
            "label": part.label,
            "title": part.title,
            "pictures": [
                [one.mark, base64.b64encode(one.data).decode("ascii"), one.media_type]
                for one in part.pictures
            ],
            "event_time": part.event_time,
        }
        for part in converted.parts
    ]
    return frame(
        {
            "parts": parts,
            "title": converted.title,
            "event_time": converted.event_time,
            "metadata": dict(converted.metadata),
            "warnings": list(converted.warnings),
            "unread": list(converted.unread),
            "unseen": converted.unseen,
            "peak_kb": peak_kb,
        }
    )


def refusal(problem: str, hint: str, *, peak_kb: int) -> bytes:
    """Return the message that refuses a document."""
    return frame({"refused": problem, "hint": hint, "peak_kb": peak_kb})


def restore(message: dict[str, Any]) -> ConvertedDocument:
    """Return the document of a message; raises RefusedError for a refusal.

    Raises AttributeError, KeyError, TypeError or ValueError for an invalid message: a document may have taken
    over the reading process.
    """
    if "refused" in message:
        raise RefusedError(_text(message["refused"]), hint=_text(message["hint"]))
    parts = tuple(
        Part(
            _text(one["text"]),
            _text(one["locator"]),
            _text(one["label"]),
            _text(one["title"]),
            tuple(
                Picture(_text(mark), base64.b64decode(data), _text(media))
                for mark, data, media in one["pictures"]
            ),
            _text(one["event_time"]),
        )
        for one in message["parts"]
    )
    return ConvertedDocument(
        parts,
        _text(message["title"]),
        _text(message["event_time"]),
        {_text(name): _text(value) for name, value in message["metadata"].items()},
        tuple(_text(one) for one in message["warnings"]),
        tuple(_text(one) for one in message["unread"]),
        int(message["unseen"]),
    )


def _text(value: object) -> str:
    """Return a text that every database accepts; raises ValueError for any other value."""
    if not isinstance(value, str):
        raise ValueError(f"not a text: {type(value).__name__}")  # noqa: TRY004 - one kind of error for all
    value.encode()
    return value
