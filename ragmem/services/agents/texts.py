"""Validate the texts of agents: valid characters, limited length, no secrets."""

from collections.abc import Mapping
from typing import Any

import orjson

from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import UsageError

MOST_SHORT = 4_096
"""Maximum characters of a task, a path or a reason."""

MOST_KEY = 128
"""Maximum characters of the key that identifies a repeated message."""

MOST_STATUS = 64
"""Maximum characters of a status."""

MOST_TEXT = 64 * 1024
"""Maximum characters of a message, and maximum bytes of its data as JSON."""


def clean_text(text: str, name: str, most: int, redactor: Redactor) -> str:
    """Return a text for storage; raises UsageError if it is too long or not valid text."""
    if len(text) > most:
        raise UsageError(
            f"the {name} has {len(text):,} characters", hint=f"up to {most:,}; pass a file by its path"
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the {name} is not text: {error.reason}", hint="send it as UTF-8") from error
    return text if redactor.stored else redactor.redact(text)[0]


def clean_data(data: Mapping[str, Any] | None, redactor: Redactor) -> Mapping[str, Any]:
    """Return data as JSON for storage; raises UsageError if it is too large or not JSON."""
    if not data:
        return {}
    try:
        size = len(orjson.dumps(data))
    except orjson.JSONEncodeError as error:
        raise UsageError(
            f"the data is not a JSON object: {str(error).lower()}", hint="texts, numbers, lists and objects"
        ) from error
    if size > MOST_TEXT:
        raise UsageError(f"the data has {size:,} bytes as JSON", hint=f"up to {MOST_TEXT:,}")
    document: Mapping[str, Any] = data if redactor.stored else redactor.redact_document(data)
    return document
