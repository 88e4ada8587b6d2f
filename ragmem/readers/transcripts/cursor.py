"""Cursor's records: messages with a role, in blocks like Claude's, without times and ids."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragmem.readers.files import ReadError, Reason
from ragmem.readers.slugs import resolve_slug
from ragmem.readers.transcripts.cleanup import user_text
from ragmem.readers.transcripts.exchange_builder import MAX_NAME, ExchangeBuilder
from ragmem.readers.transcripts.format import Format, RecordReader
from ragmem.readers.transcripts.records import texts_of, word
from ragmem.readers.transcripts.tools import call_of

LEFT_OUT = frozenset("turn_ended turn_started status metadata".split())

_NAME = re.compile(r"[A-Za-z0-9_-]{1,200}")
_QUERY = re.compile(r"<user_query>(.*?)(?:</user_query>|\Z)", re.DOTALL)
_TEXT = ("text",)
_CALLS = frozenset("tool_use tool_call tool-call".split())
_RESULTS = frozenset("tool_result tool-result".split())


class Cursor(RecordReader):
    """Reads the records of a Cursor session; those of a subagent only with `sidechains`.

    Raises ReadError for a file whose name is not the id of a session: ids are untrusted and become paths.
    """

    def __init__(self, builder: ExchangeBuilder, path: Path, *, sidechains: bool) -> None:
        if not _NAME.fullmatch(path.stem):
            raise ReadError(path, Reason.NAME, "its name is not the id of a session")
        self._builder = builder
        self._left_out = "subagents" in path.parts and not sidechains
        builder.session = builder.session or path.stem
        if "subagents" in path.parts:
            builder.agent = path.stem
            builder.session = path.parent.parent.name
        builder.cwd = builder.cwd or _folder_of(path)

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next record of the file."""
        builder = self._builder
        role, message = word(record, "role"), record.get("message")
        if role not in {"user", "assistant"} or not isinstance(message, dict):
            sort = word(record, "type") or role
            builder.skip(sort, known=sort in LEFT_OUT)
            return
        if self._left_out:
            builder.left_out["side chain"] += 1
            return
        content = message.get("content")
        if model := word(record, "model"):
            builder.model = model
        if role == "user":
            self._user(content)
        else:
            self._assistant(content)
        builder.touch(record.get("timestamp"))

    def _user(self, content: Any) -> None:
        builder = self._builder
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and word(block, "type") in _RESULTS:
                said = texts_of(block.get("content"), _TEXT)
                builder.result(str(block.get("tool_use_id", "")), said, failed=bool(block.get("is_error")))
        text = texts_of(content, _TEXT)
        # The text around the question is context that the editor adds.
        asked = "\n\n".join(found.strip() for found in _QUERY.findall(text)) or text
        builder.ask(user_text(asked))

    def _assistant(self, content: Any) -> None:
        builder = self._builder
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in content if isinstance(content, list) else ():
            sort = word(block, "type") if isinstance(block, dict) else None
            if sort == "text" and isinstance(block.get("text"), str):
                builder.say(block["text"])
            elif sort in _CALLS:
                given = block.get("input", block.get("arguments"))
                builder.call(
                    call_of(str(block.get("name", "")), given, builder.redactor), str(block.get("id", ""))
                )
            elif sort not in {"thinking", "reasoning", "redacted_thinking", "image"}:
                builder.problems[f'unknown block "{str(sort)[:MAX_NAME]}"'] += 1


def _folder_of(path: Path) -> str:
    """Return the folder for Cursor's name of a project; empty if it does not exist."""
    parts = path.parts
    if ".cursor" not in parts or "agent-transcripts" not in parts:
        return ""
    home = Path(*parts[: parts.index(".cursor")])
    slug = parts[parts.index("agent-transcripts") - 1]
    folder = resolve_slug(f"-{slug.lstrip('-')}", home)
    return str(folder) if folder else ""


_TORN = re.compile(rb'\{"role":"(?:user|assistant)","message":\{"content":')


def _is_record(record: dict[str, Any]) -> bool:
    message = record.get("message")
    spoken = word(record, "role") in {"user", "assistant"} and "type" not in record and "uuid" not in record
    return spoken and isinstance(message, dict) and "content" in message


def _is_torn(head: bytes) -> bool:
    return _TORN.match(head) is not None


FORMAT = Format(Cursor, _is_record, is_torn=_is_torn)
