"""What goes between the process that asks for a document and the one that reads it."""

import base64
import json
from dataclasses import asdict
from typing import Any

from ragmem.domain.secrets.redaction import Redactor
from ragmem.readers.documents.model import Converted, Limits, Part, Picture, RefusedError

LENGTH_BYTES = 8
PICTURES_BYTES = 32_000_000
"""Of all pictures of a document together; what is beyond is not described."""
PICTURES = 200

_ESCAPED = 6  # bytes of a character in JSON of ASCII; two such for one beyond the basic plane
_FRAME_BYTES = 4_000_000  # for the names around them


def most_bytes(limits: Limits) -> int:
    """Return how long an answer under these limits can be; the reader of a longer one stops."""
    return limits.characters * _ESCAPED * 2 + PICTURES_BYTES * 4 // 3 + _FRAME_BYTES


def frame(value: dict[str, Any]) -> bytes:
    """Return a message with its length in front."""
    body = json.dumps(value, separators=(",", ":")).encode("ascii")
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def request(
    path: str, limits: Limits, *, seconds: float, memory_mb: int, pictures: bool, redactor: Redactor
) -> bytes:
    """Return the message that asks for one document; `pictures` only where somebody will look at them."""
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


def answer(converted: Converted, *, peak_kb: int) -> bytes:
    """Return the message that a document was read."""
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
            "peak_kb": peak_kb,
        }
    )


def refusal(problem: str, hint: str, *, peak_kb: int) -> bytes:
    """Return the message that a document was not read."""
    return frame({"refused": problem, "hint": hint, "peak_kb": peak_kb})


def restore(message: dict[str, Any]) -> Converted:
    """Return the document of a message; raises RefusedError where it is a refusal.

    Raises AttributeError, KeyError, TypeError or ValueError for what the reading process cannot have meant:
    a document may have taken it over.
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
        )
        for one in message["parts"]
    )
    return Converted(
        parts,
        _text(message["title"]),
        _text(message["event_time"]),
        {_text(name): _text(value) for name, value in message["metadata"].items()},
        tuple(_text(one) for one in message["warnings"]),
        tuple(_text(one) for one in message["unread"]),
    )


def _text(value: object) -> str:
    """Return what is a text that every database takes; raises ValueError for any other value."""
    if not isinstance(value, str):
        raise ValueError(f"not a text: {type(value).__name__}")  # noqa: TRY004 - one kind of error for all
    value.encode()
    return value
