"""Cursor's records: messages of a role, in blocks as Claude's, without times and without names."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragmem.readers.files import ReadError, Reason
from ragmem.readers.slugs import resolve_slug
from ragmem.readers.transcripts.building import MAX_NAME, ExchangeBuilder
from ragmem.readers.transcripts.cleaning import user_text
from ragmem.readers.transcripts.format import Format
from ragmem.readers.transcripts.records import texts_of, word
from ragmem.readers.transcripts.tools import call_of

LEFT_OUT = frozenset("turn_ended turn_started status metadata".split())

_NAME = re.compile(r"[A-Za-z0-9_-]{1,200}")
_QUERY = re.compile(r"<user_query>(.*?)(?:</user_query>|\Z)", re.DOTALL)
_TEXT = ("text",)
_CALLS = frozenset("tool_use tool_call tool-call".split())
_RESULTS = frozenset("tool_result tool-result".split())


class Cursor:
    """Takes the records of a Cursor session; those of a subagent only when they are asked for.

    Raises ReadError for a file whose name is no id of a session: ids come from outside and lead to paths.
    """

    def __init__(self, building: ExchangeBuilder, path: Path, *, sidechains: bool) -> None:
        if not _NAME.fullmatch(path.stem):
            raise ReadError(path, Reason.NAME, "its name is no id of a session")
        self._building = building
        self._left_out = "subagents" in path.parts and not sidechains
        building.session = building.session or path.stem
        if "subagents" in path.parts:
            building.agent = path.stem
            building.session = path.parent.parent.name
        building.cwd = building.cwd or _folder_of(path)

    def passes_over(self, _line: bytes) -> bool:
        """Tell that every line is looked at: few of them hold nothing."""
        return False

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next record of the file."""
        building = self._building
        role, message = word(record, "role"), record.get("message")
        if role not in {"user", "assistant"} or not isinstance(message, dict):
            sort = word(record, "type") or role
            if sort in LEFT_OUT:
                building.left_out[sort] += 1
            else:
                building.unknown(sort)
            return
        if self._left_out:
            building.left_out["side chain"] += 1
            return
        content = message.get("content")
        if isinstance(model := record.get("model"), str) and model:
            building.model = model
        if role == "user":
            self._user(content)
        else:
            self._assistant(content)
        building.touch(record.get("timestamp"))

    def _user(self, content: Any) -> None:
        building = self._building
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and word(block, "type") in _RESULTS:
                said = texts_of(block.get("content"), _TEXT)
                building.result(str(block.get("tool_use_id", "")), said, failed=bool(block.get("is_error")))
        text = texts_of(content, _TEXT)
        # What stands around the question is context that the editor adds.
        asked = "\n\n".join(found.strip() for found in _QUERY.findall(text)) or text
        building.ask(user_text(asked))

    def _assistant(self, content: Any) -> None:
        building = self._building
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in content if isinstance(content, list) else ():
            sort = word(block, "type") if isinstance(block, dict) else None
            if sort == "text" and isinstance(block.get("text"), str):
                building.say(block["text"])
            elif sort in _CALLS:
                given = block.get("input", block.get("arguments"))
                building.call(
                    call_of(str(block.get("name", "")), given, building.redactor), str(block.get("id", ""))
                )
            elif sort not in {"thinking", "reasoning", "redacted_thinking", "image"}:
                building.problems[f'unknown block "{str(sort)[:MAX_NAME]}"'] += 1


def _folder_of(path: Path) -> str:
    """Return the folder that Cursor's name for a project stands for; empty where it is not there."""
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
