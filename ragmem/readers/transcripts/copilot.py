"""Copilot CLI's records: events of one session, each with its own data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragmem.readers.transcripts.cleanup import user_text
from ragmem.readers.transcripts.exchange_builder import ExchangeBuilder
from ragmem.readers.transcripts.format import REACH, Format, RecordReader
from ragmem.readers.transcripts.records import word
from ragmem.readers.transcripts.tools import call_of

_KINDS = ("session.", "assistant.", "hook.", "tool.", "system.", "subagent.", "permission.", "skill.")
"""Beginnings of the types that are known; what is not read of them is left out."""


class Copilot(RecordReader):
    """Reads the events of a Copilot session; those of a subagent only with `sidechains`."""

    def __init__(self, builder: ExchangeBuilder, path: Path, *, sidechains: bool) -> None:
        self._builder = builder
        self._sidechains = sidechains
        builder.session = builder.session or path.parent.name

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next event of the file."""
        builder = self._builder
        sort, data, at = word(record, "type"), record.get("data"), record.get("timestamp")
        if not isinstance(data, dict):
            builder.skip(sort, known=False)
        elif record.get("agentId") and not self._sidechains:
            builder.left_out["side chain"] += 1
        elif sort in {"session.start", "session.resume", "session.context_changed"}:
            self._read_session(data)
        elif sort == "user.message":
            # A message with a source is one of the program: of a skill, or of the agent that started it.
            if word(data, "source") not in {"", "user"}:
                builder.left_out["message of the program"] += 1
                return
            builder.ask(user_text(word(data, "content")), key=word(record, "id"), at=at)
        elif sort == "assistant.message":
            self._answer(data)
            builder.touch(at)
        elif sort == "tool.execution_complete":
            self._result(data)
            builder.touch(at)
        elif sort == "abort":
            builder.interrupt()
        else:
            builder.skip(sort, known=sort.startswith(_KINDS))

    def _read_session(self, data: Mapping[str, Any]) -> None:
        builder = self._builder
        context = data.get("context")
        place = context if isinstance(context, dict) else data
        builder.cwd = word(place, "cwd") or builder.cwd
        builder.branch = word(place, "branch") or builder.branch
        builder.model = word(data, "selectedModel") or builder.model

    def _answer(self, data: Mapping[str, Any]) -> None:
        builder = self._builder
        builder.model = word(data, "model") or builder.model
        if said := word(data, "content"):
            builder.say(said)
        requests = data.get("toolRequests")
        for made in requests if isinstance(requests, list) else ():
            if isinstance(made, dict):
                call = call_of(word(made, "name"), made.get("arguments"), builder.redactor)
                builder.call(call, word(made, "toolCallId"))

    def _result(self, data: Mapping[str, Any]) -> None:
        failed = data.get("success") is False
        told = data.get("error" if failed else "result")
        given = told if isinstance(told, dict) else {}
        said = word(given, "message" if failed else "content")
        shell = data.get("shellExecution")
        code = shell.get("exitCode") if isinstance(shell, dict) else None
        text = f"Exit code: {code}\n{said}" if code else said
        self._builder.result(word(data, "toolCallId"), text, failed=failed)


_TYPES = frozenset(("session.start", "user.message", "assistant.message", "assistant.turn_start"))


def _is_record(record: dict[str, Any]) -> bool:
    return word(record, "type") in _TYPES and isinstance(record.get("data"), dict) and "parentId" in record


def _is_torn(head: bytes) -> bool:
    return head[:REACH].startswith(b'{"type":"session.start","data":{"sessionId":')


FORMAT = Format(Copilot, _is_record, is_torn=_is_torn)
