"""Claude Code's records: a message in several lines, results of tools as a person's, much that is neither."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragmem.readers.transcripts.building import ExchangeBuilder
from ragmem.readers.transcripts.cleaning import INTERRUPTED, user_text
from ragmem.readers.transcripts.format import REACH, Format
from ragmem.readers.transcripts.records import texts_of, word
from ragmem.readers.transcripts.tools import call_of

LEFT_OUT = frozenset(
    "progress file-history-snapshot file-history-delta queue-operation last-prompt summary system"
    " permission-mode mode attachment ai-title custom-title agent-name agent-setting agent-color tag task-"
    " summary worktree-state bridge-session frame-link started result relocated atis-latch content-"
    " replacement speculation-accept attribution-snapshot saved_hook_context".split()
)
"""Types of records that hold nothing of what was asked and done."""

_PASSED_OVER = LEFT_OUT - {"attachment"}
_TYPE = re.compile(rb'"type":"([a-z-]{1,40})"')

_HEADS = (("cwd", "cwd"), ("branch", "gitBranch"), ("agent", "agentId"), ("entry", "entrypoint"))

TEXT = ("text",)
_FOR_NOBODY = frozenset(("No response requested.", "(no content)"))


class Claude:
    """Takes the records of a Claude Code session; those of subagents only when they are asked for."""

    def __init__(self, building: ExchangeBuilder, path: Path, *, sidechains: bool) -> None:
        self._building = building
        self._sidechains = sidechains
        self._subagent = path.stem.removeprefix("agent-") if "subagents" in path.parts else ""
        if not building.session:
            building.session = path.parent.parent.name if self._subagent else path.stem
        if self._subagent:
            building.agent = self._subagent

    def passes_over(self, line: bytes) -> bool:
        """Tell by a line's beginning that it holds nothing; it is counted then, and need not be parsed."""
        # In what stands before the first value that has braces, only the record's own names are unescaped.
        flat = line[: line.find(b"{", 1)]
        if not self._sidechains and b'"isSidechain":true' in flat:
            self._building.left_out["side chain"] += 1
            return True
        found = _TYPE.search(flat)
        if found is None or (sort := found[1].decode()) not in _PASSED_OVER:
            return False
        self._building.left_out[sort] += 1
        return True

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next record of the file."""
        building = self._building
        sort = word(record, "type")
        if sort == "pr-link":
            building.link(word(record, "prUrl"))
        elif sort == "attachment":
            self._take_attachment(record)
        elif sort not in {"user", "assistant"}:
            if sort in LEFT_OUT:
                building.left_out[sort] += 1
            else:
                building.unknown(sort)
        elif reason := self._left_out(record):
            building.left_out[reason] += 1
        else:
            message = record.get("message")
            if not isinstance(message, dict):
                building.problems["message without content"] += 1
            elif sort == "user":
                self._user(record, message)
            else:
                self._assistant(record, message)

    def _left_out(self, record: Mapping[str, Any]) -> str:
        if (record.get("isSidechain") or self._subagent) and not self._sidechains:
            return "side chain"
        if record.get("isMeta") and not record.get("toolUseResult"):
            return "meta"
        if record.get("isCompactSummary") or record.get("isVisibleInTranscriptOnly"):
            return "compact summary"
        if record.get("isApiErrorMessage"):
            return "error of the service"
        origin = record.get("origin")
        return (
            "task notification"
            if isinstance(origin, dict) and origin.get("kind") == "task-notification"
            else ""
        )

    def _user(self, record: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        building = self._building
        content = message.get("content")
        if isinstance(content, list):
            for block in content:
                if isinstance(block, dict) and block.get("type") == "tool_result":
                    name = str(block.get("tool_use_id", ""))
                    building.result(name, result_text(block), failed=bool(block.get("is_error")))
        text = texts_of(content, TEXT)
        if INTERRUPTED in text[:200]:
            building.interrupt()
        if asked := user_text(text) if text else "":
            building.ask(asked, key=str(record.get("uuid", "")), at=record.get("timestamp"))
        self._heads(record)
        building.touch(record.get("timestamp"))

    def _assistant(self, record: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        building = self._building
        self._heads(record)
        # The lines of one message share its id, so that only the line's own tells that it comes again.
        own = str(record.get("uuid") or message.get("id") or "")
        if own and building.again(own):
            return
        model = message.get("model")
        if isinstance(model, str) and not model.startswith("<"):
            building.model = model
        building.touch(record.get("timestamp"))
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in content if isinstance(content, list) else ():
            sort = word(block, "type") if isinstance(block, dict) else None
            if sort == "text" and isinstance(block.get("text"), str) and block["text"] not in _FOR_NOBODY:
                building.say(block["text"], message=own)
            elif sort == "tool_use":
                call = call_of(str(block.get("name", "")), block.get("input"), building.redactor)
                building.call(call, str(block.get("id", "")), message=own)

    def _take_attachment(self, record: Mapping[str, Any]) -> None:
        attachment = record.get("attachment")
        said = ""
        if isinstance(attachment, dict) and attachment.get("type") == "queued_command":
            said = user_text(texts_of(attachment.get("prompt"), TEXT))
        if said and not self._left_out(record):
            self._building.add(said, message=str(record.get("uuid", "")))
        else:
            self._building.left_out["attachment"] += 1

    def _heads(self, record: Mapping[str, Any]) -> None:
        building = self._building
        for name, key in _HEADS:
            value = record.get(key)
            if isinstance(value, str) and value:
                setattr(building, name, value)
        session = record.get("sessionId")
        if isinstance(session, str) and session and not self._subagent:
            building.session = session


def result_text(block: Mapping[str, Any]) -> str:
    """Return the text of a tool's result; pictures have none."""
    content = block.get("content")
    return content if isinstance(content, str) else texts_of(content, TEXT)


_TYPES = frozenset(("user", "assistant", "system"))
_OWN_TYPES = frozenset(
    ("file-history-snapshot", "queue-operation", "last-prompt", "permission-mode", "summary")
)


def _is_record(record: dict[str, Any]) -> bool:
    sort = word(record, "type")
    if "uuid" in record and ("sessionId" in record or "session_id" in record):
        return "parentUuid" in record or (sort in _TYPES and isinstance(record.get("message"), dict))
    return sort == "file-history-snapshot" and "snapshot" in record


def _may_be_record(record: dict[str, Any]) -> bool:
    sort = word(record, "type")
    is_message = isinstance(record.get("message"), dict) and "data" not in record
    return sort in _OWN_TYPES or (sort in _TYPES and is_message)


def _is_foreign(record: dict[str, Any]) -> bool:
    """Tell whether a record is of Qwen Code, which writes Gemini's messages into Claude Code's records."""
    message = record.get("message")
    return "systemPayload" in record or (isinstance(message, dict) and "parts" in message)


def _is_torn(head: bytes) -> bool:
    flat = head[:REACH]
    return all(name in flat for name in (b'"parentUuid":', b'"sessionId":', b'"message":{')) and (
        b'"parts":' not in flat
    )


FORMAT = Format(Claude, _is_record, _may_be_record, _is_foreign, _is_torn)
