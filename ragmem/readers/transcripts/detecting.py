"""Whose transcript a file is, by its content first and by its place second."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from ragmem.readers.transcripts.records import parse, word

ASSISTANTS = ("claude", "codex", "gemini", "cursor")

_REACH = 2000
"""Characters of a torn line that are looked at: a record's own names stand before its text."""

MOST_RECORDS = 200
"""Records of a beginning that are looked at: some transcripts begin with dozens that tell nothing."""

_CODEX = frozenset(("session_meta", "turn_context", "event_msg", "response_item", "compacted"))
_CODEX_TEXT = frozenset(("input_text", "output_text"))
_CLAUDE = frozenset(("user", "assistant", "system"))
_CLAUDE_ONLY = frozenset(
    ("file-history-snapshot", "queue-operation", "last-prompt", "permission-mode", "summary")
)
_CURSOR = re.compile(rb'\{"role":"(?:user|assistant)","message":\{"content":')
_GEMINI = frozenset(("user", "gemini", "info", "error", "warning"))


def assistant_of(path: Path, head: bytes) -> str | None:
    """Return whose transcript a file is that begins with these bytes; None where it is none of the four.

    The content decides; the place decides only between those that a short or unusual beginning leaves open.
    """
    records = _records(head)
    found = next(filter(None, map(_named_by, records)), None)
    if found is not None:
        return None if found == "claude" and any(map(_is_like_claude, records)) else found
    if not records and head.lstrip()[:1] == b"{":
        return _torn(head.lstrip())
    return _by_place(path) if any(_may_be(record) for record in records) else None


def _records(head: bytes) -> list[dict[str, Any]]:
    """Return the records of a beginning; the last line may be torn and is left out then."""
    found = []
    for line in head.split(b"\n", MOST_RECORDS)[:MOST_RECORDS]:
        try:
            record = parse(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(record, dict):
            found.append(record)
    return found


def _named_by(record: dict[str, Any]) -> str | None:
    """Return whose a record is that says so itself."""
    return next((assistant for assistant, fits in _SIGNS if fits(record)), None)


def _is_codex(record: dict[str, Any]) -> bool:
    if word(record, "type") in _CODEX and isinstance(record.get("payload"), dict):
        return True
    # Files from before September 2025 have the payloads alone.
    content = record.get("content")
    first = content[0] if isinstance(content, list) and content else None
    return (
        word(record, "type") == "message" and isinstance(first, dict) and word(first, "type") in _CODEX_TEXT
    )


def _is_claude(record: dict[str, Any]) -> bool:
    sort = word(record, "type")
    if "uuid" in record and ("sessionId" in record or "session_id" in record):
        return "parentUuid" in record or (sort in _CLAUDE and isinstance(record.get("message"), dict))
    return sort == "file-history-snapshot" and "snapshot" in record


def _is_like_claude(record: dict[str, Any]) -> bool:
    """Tell whether a record is of Qwen Code, which writes Gemini's messages into Claude Code's records."""
    message = record.get("message")
    return "systemPayload" in record or (isinstance(message, dict) and "parts" in message)


def _is_gemini(record: dict[str, Any]) -> bool:
    sort = word(record, "type")
    if "sessionId" in record and (sort == "session_metadata" or "projectHash" in record):
        return True
    return sort == "gemini" and "id" in record and ("content" in record or "toolCalls" in record)


def _is_cursor(record: dict[str, Any]) -> bool:
    message = record.get("message")
    spoken = word(record, "role") in {"user", "assistant"} and "type" not in record and "uuid" not in record
    return spoken and isinstance(message, dict) and "content" in message


_SIGNS: tuple[tuple[str, Callable[[dict[str, Any]], bool]], ...] = (
    ("codex", _is_codex),
    ("claude", _is_claude),
    ("gemini", _is_gemini),
    ("cursor", _is_cursor),
)


def _may_be(record: dict[str, Any]) -> bool:
    """Tell whether a record alone does not say whose it is, but may be of one of the four."""
    sort = word(record, "type")
    return (
        sort in _CLAUDE_ONLY
        or (sort in _CLAUDE and isinstance(record.get("message"), dict) and "data" not in record)
        or (sort in _GEMINI and "content" in record and "id" in record)
    )


def _torn(head: bytes) -> str | None:
    """Return whose transcript begins with a line that is longer than the beginning, or is a document."""
    if b'"projectHash"' in head and b'"messages"' in head and b'"sessionId"' in head:
        return "gemini"
    flat = head[:_REACH]
    if b'"payload":' in flat and any(b'"type":"%b"' % name.encode() in flat for name in _CODEX):
        return "codex"
    if b'"parentUuid":' in flat and b'"sessionId":' in flat and b'"message":{' in flat:
        return None if b'"parts":' in flat else "claude"
    return "cursor" if _CURSOR.match(flat) else None


def _by_place(path: Path) -> str | None:
    parts = path.parts
    if ".claude" in parts or "projects" in parts:
        return "cursor" if "agent-transcripts" in parts else "claude"
    if ".codex" in parts:
        return "codex"
    if ".gemini" in parts:
        return "gemini"
    return "cursor" if "agent-transcripts" in parts else None
