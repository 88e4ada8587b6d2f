"""Claude Code's records: a message takes several lines, and results of tools are messages of the user."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragmem.readers.transcripts.cleanup import (
    INTERRUPTED,
    notified_reports,
    summary_text,
    team_messages,
    user_text,
)
from ragmem.readers.transcripts.exchange_builder import ExchangeBuilder
from ragmem.readers.transcripts.format import REACH, Format
from ragmem.readers.transcripts.records import texts_of, word
from ragmem.readers.transcripts.tools import call_of

LEFT_OUT = frozenset(
    "progress file-history-snapshot file-history-delta queue-operation last-prompt summary system"
    " permission-mode mode attachment ai-title custom-title agent-name agent-setting agent-color tag task-"
    " summary worktree-state bridge-session frame-link started result relocated atis-latch content-"
    " replacement speculation-accept attribution-snapshot saved_hook_context".split()
)
"""Types of records without questions or work."""

_SKIPPED = LEFT_OUT - {"attachment"}
_TYPE = re.compile(rb'"type":"([a-z-]{1,40})"')

_SESSION_FIELDS = (("cwd", "cwd"), ("branch", "gitBranch"), ("agent", "agentId"), ("entry", "entrypoint"))

COMPACTED, NOTIFICATION = "compact summary", "task notification"
"""Reasons to leave a record out whose text is kept in another way."""

LEAD = "team-lead"
"""The member of a team whose words are the questions of the others."""

TEXT = ("text",)
_FOR_NOBODY = frozenset(("No response requested.", "(no content)"))


class Claude:
    """Reads the records of a Claude Code session; those of subagents only with `sidechains`."""

    def __init__(self, builder: ExchangeBuilder, path: Path, *, sidechains: bool) -> None:
        self._builder = builder
        self._sidechains = sidechains
        self._subagent = path.stem.removeprefix("agent-") if "subagents" in path.parts else ""
        if not builder.session:
            builder.session = path.parent.parent.name if self._subagent else path.stem
        if self._subagent:
            builder.agent = self._subagent

    def passes_over(self, line: bytes) -> bool:
        """Return whether the beginning of a line shows that it need not be parsed; it is counted then."""
        # Before the first value with braces, only the record's own names are unescaped.
        flat = line[: line.find(b"{", 1)]
        if not self._sidechains and b'"isSidechain":true' in flat:
            self._builder.left_out["side chain"] += 1
            return True
        found = _TYPE.search(flat)
        if found is None or (sort := found[1].decode()) not in _SKIPPED:
            return False
        self._builder.left_out[sort] += 1
        return True

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next record of the file."""
        builder = self._builder
        sort = word(record, "type")
        if sort == "pr-link":
            builder.link(word(record, "prUrl"))
        elif sort == "attachment":
            self._take_attachment(record)
        elif sort not in {"user", "assistant"}:
            builder.skip(sort, known=sort in LEFT_OUT)
        elif reason := self._left_out(record):
            builder.left_out[reason] += 1
            if reason == COMPACTED and not record.get("isSidechain"):
                builder.summarize(summary_text(_text_of(record)))
            elif reason == NOTIFICATION:
                self._take_reports(_text_of(record), record)
        else:
            message = record.get("message")
            if not isinstance(message, dict):
                builder.problems["message without content"] += 1
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
            return COMPACTED
        if record.get("isApiErrorMessage"):
            return "error of the service"
        origin = record.get("origin")
        is_notification = isinstance(origin, dict) and origin.get("kind") == "task-notification"
        return NOTIFICATION if is_notification else ""

    def _take_reports(self, text: str, record: Mapping[str, Any]) -> None:
        for task, report in notified_reports(text):
            self._builder.report(report, task, message=str(record.get("uuid", "")))

    def _user(self, record: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        builder = self._builder
        content = message.get("content")
        if isinstance(content, list):
            for block in content:
                if isinstance(block, dict) and block.get("type") == "tool_result":
                    name = str(block.get("tool_use_id", ""))
                    builder.result(name, result_text(block), failed=bool(block.get("is_error")))
        text = texts_of(content, TEXT)
        self._take_reports(text, record)
        if INTERRUPTED in text[:200]:
            builder.interrupt()
        if asked := (user_text(text) or self._team_task(text, record)) if text else "":
            builder.ask(asked, key=str(record.get("uuid", "")), at=record.get("timestamp"))
        self._read_session(record)
        builder.touch(record.get("timestamp"))

    def _team_task(self, text: str, record: Mapping[str, Any]) -> str:
        """Return the task of a member of a team; none for the lead, who gets reports instead."""
        messages = team_messages(text)
        member = word(record, "agentName")
        if not messages or member in {"", LEAD}:
            for sender, said in messages:
                self._builder.report(said, sender, message=str(record.get("uuid", "")))
            return ""
        self._builder.agent = member
        return "\n\n".join(said for sender, said in messages if sender in {LEAD, member} and said)

    def _assistant(self, record: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        builder = self._builder
        self._read_session(record)
        # The lines of one message share its id, so only the id of the line shows a repetition.
        own = str(record.get("uuid") or message.get("id") or "")
        if own and builder.is_repeated(own):
            return
        model = message.get("model")
        if isinstance(model, str) and not model.startswith("<"):
            builder.model = model
        builder.touch(record.get("timestamp"))
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in content if isinstance(content, list) else ():
            sort = word(block, "type") if isinstance(block, dict) else None
            if sort == "text" and isinstance(block.get("text"), str) and block["text"] not in _FOR_NOBODY:
                builder.say(block["text"], message=own)
            elif sort == "tool_use":
                call = call_of(str(block.get("name", "")), block.get("input"), builder.redactor)
                builder.call(call, str(block.get("id", "")), message=own)

    def _take_attachment(self, record: Mapping[str, Any]) -> None:
        attachment = record.get("attachment")
        said = ""
        if isinstance(attachment, dict) and attachment.get("type") == "queued_command":
            prompt = texts_of(attachment.get("prompt"), TEXT)
            self._take_reports(prompt, record)
            said = user_text(prompt)
        if said and not self._left_out(record):
            self._builder.add(said, message=str(record.get("uuid", "")))
        else:
            self._builder.left_out["attachment"] += 1

    def _read_session(self, record: Mapping[str, Any]) -> None:
        builder = self._builder
        for name, key in _SESSION_FIELDS:
            if value := word(record, key):
                setattr(builder, name, value)
        if (session := word(record, "sessionId")) and not self._subagent:
            builder.session = session


def _text_of(record: Mapping[str, Any]) -> str:
    message = record.get("message")
    return texts_of(message.get("content"), TEXT) if isinstance(message, dict) else ""


def result_text(block: Mapping[str, Any]) -> str:
    """Return the text of a tool's result; empty for pictures."""
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
    """Return whether a record is of Qwen Code, which puts Gemini's messages into Claude Code's records."""
    message = record.get("message")
    return "systemPayload" in record or (isinstance(message, dict) and "parts" in message)


def _is_torn(head: bytes) -> bool:
    flat = head[:REACH]
    return all(name in flat for name in (b'"parentUuid":', b'"sessionId":', b'"message":{')) and (
        b'"parts":' not in flat
    )


FORMAT = Format(Claude, _is_record, _may_be_record, _is_foreign, _is_torn)
