"""Codex's records: events for the user and items for the model, mostly with the same content."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from ragmem.domain.secrets.redaction import Redactor
from ragmem.readers.transcripts.cleanup import summary_text, user_text
from ragmem.readers.transcripts.exchange_builder import ExchangeBuilder
from ragmem.readers.transcripts.format import REACH, Format
from ragmem.readers.transcripts.records import texts_of, word
from ragmem.readers.transcripts.tools import Call, call_of, script

LEFT_OUT = frozenset(
    "task_started task_complete token_count agent_reasoning agent_reasoning_raw_content exec_command_begin"
    " agent_reasoning_section_break exec_command_end exec_command_output_delta patch_apply_begin"
    " patch_apply_end mcp_tool_call_begin mcp_tool_call_end web_search_begin web_search_end"
    " thread_name_updated thread_settings_applied thread_goal_updated context_compacted entered_review_mode"
    " guardian_assessment image_generation_end sub_agent_activity collab_agent_spawn_end collab_waiting_end"
    " collab_close_end collab_agent_interaction_end view_image_tool_call dynamic_tool_call_request"
    " dynamic_tool_call_response error warning stream_error undo_completed background_event turn_diff"
    " plan_update session_configured thread_rolled_back turn.completed item_started reasoning"
    " tool_search_call tool_search_output image_generation_call ghost_snapshot compaction"
    " compaction_summary context_compaction agent_message world_state compacted turn_context session_meta"
    " inter_agent_communication_metadata token_usage_record".split()
)
"""Types of events and items without questions or work, or with copies of them."""

_TEXT = ("input_text", "output_text", "text", "Text")
_BARE = frozenset("message function_call function_call_output reasoning local_shell_call".split())
_SKIPPED = LEFT_OUT - {"agent_message"}
_PAYLOAD = re.compile(rb'"type":"(event_msg|response_item)","payload":\{"type":"(\w{1,60})"')
_LINE_REACH = 300
_SCRIPTS = re.compile(r"(?:^|\.)exec$")


class Codex:
    """Reads the records of a Codex session; those of a subagent only with `sidechains`."""

    def __init__(self, builder: ExchangeBuilder, path: Path, *, sidechains: bool) -> None:
        self._builder = builder
        self._sidechains = sidechains
        self._path = path

    def passes_over(self, line: bytes) -> bool:
        """Return whether the beginning of a line shows that it need not be parsed; it is counted then."""
        found = _PAYLOAD.search(line, 0, _LINE_REACH)
        if found is None or (sort := found[2].decode()) not in _SKIPPED:
            return False
        self._builder.left_out[sort] += 1
        return True

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next record of the file."""
        builder = self._builder
        sort, payload = word(record, "type"), record.get("payload")
        if sort in _BARE and payload is None:
            # Files from before September 2025 have the items alone.
            sort, payload = "response_item", record
        if not isinstance(payload, dict):
            name = "first line of an old file" if "instructions" in record and "id" in record else sort
            builder.skip(name, known=name != sort)
            return
        if sort == "session_meta":
            self._start_session(payload)
        elif builder.flags.get("side") and not self._sidechains:
            builder.left_out["side chain"] += 1
        elif sort == "turn_context":
            self._read_session(payload)
        elif sort == "event_msg":
            self._event(payload, record.get("timestamp"))
        elif sort == "response_item":
            self._item(payload, record.get("timestamp") or payload.get("timestamp"))
        else:
            if sort == "compacted":
                # The summary is readable in some versions only; in others it is encrypted.
                builder.summarize(summary_text(word(payload, "message")))
            builder.skip(sort, known=sort in LEFT_OUT)

    def _start_session(self, payload: Mapping[str, Any]) -> None:
        builder = self._builder
        if builder.session:
            # A fork repeats the beginning of its original session after its own.
            builder.left_out["session_meta"] += 1
            return
        source = payload.get("source")
        builder.session = str(payload.get("id") or payload.get("session_id") or self._path.stem)
        if isinstance(source, dict) and "subagent" in source:
            builder.flags["side"] = True
            builder.agent = builder.session
            builder.session = str(payload.get("parent_thread_id") or builder.session)
        self._read_session(payload)
        git = payload.get("git")
        if isinstance(git, dict) and isinstance(git.get("branch"), str):
            builder.branch = git["branch"]

    def _read_session(self, payload: Mapping[str, Any]) -> None:
        for name in ("cwd", "model"):
            if value := word(payload, name):
                setattr(self._builder, name, value)

    def _event(self, payload: Mapping[str, Any], at: object) -> None:
        builder = self._builder
        sort = word(payload, "type")
        item = payload.get("item")
        if sort == "item_completed" and isinstance(item, dict):
            sort = {"UserMessage": "user_message", "AgentMessage": "agent_message"}.get(
                word(item, "type"), "item_started"
            )
            said: Any = texts_of(item.get("content"), _TEXT)
        else:
            said = payload.get("message")
        if sort == "user_message" and isinstance(said, str):
            builder.flags["events"] = True
            builder.ask(user_text(said), at=at)
        elif sort == "agent_message" and isinstance(said, str):
            builder.say(said)
        elif sort == "turn_aborted":
            builder.interrupt()
        elif sort == "exited_review_mode":
            builder.say(_review(payload.get("review_output")))
        else:
            builder.skip(sort, known=sort in LEFT_OUT)
        builder.touch(at)

    def _item(self, payload: Mapping[str, Any], at: object) -> None:
        builder = self._builder
        sort = word(payload, "type")
        name = str(payload.get("call_id") or payload.get("id") or "")
        if sort == "message":
            self._message(payload, at)
        elif sort in {"function_call", "custom_tool_call", "local_shell_call", "tool_call"}:
            builder.call(_call(payload, builder.redactor), name)
        elif sort in {"function_call_output", "custom_tool_call_output", "local_shell_call_output"}:
            builder.result(name, _output(payload.get("output")))
        elif sort == "web_search_call":
            action = payload.get("action")
            given = action if isinstance(action, dict) else {}
            builder.call(call_of("fetch" if given.get("url") else "search", given, builder.redactor))
        else:
            builder.skip(sort, known=sort in LEFT_OUT)
            return
        builder.touch(at)

    def _message(self, payload: Mapping[str, Any], at: object) -> None:
        builder = self._builder
        role = word(payload, "role")
        said = texts_of(payload.get("content"), _TEXT)
        if role == "assistant":
            builder.say(said)
        elif role == "user" and not builder.flags.get("events"):
            builder.ask(user_text(said), at=at)
        else:
            builder.left_out["message for the model"] += 1


def _call(payload: Mapping[str, Any], redactor: Redactor) -> Call:
    name = str(payload.get("name") or "")
    function, action = payload.get("function"), payload.get("action")
    if not name and isinstance(function, dict):
        name = str(function.get("name", ""))
    given: Any = payload.get("arguments", payload.get("input"))
    if isinstance(action, dict):
        name, given = name or "shell", action
    if isinstance(given, str) and given.lstrip()[:1] == "{":
        try:
            given = orjson.loads(given)
        except orjson.JSONDecodeError:
            given = {}
    if _SCRIPTS.search(name):
        source = given.get("source") or given.get("code") if isinstance(given, dict) else given
        if isinstance(source, str):
            return script(source, redactor)
    return call_of(name, given, redactor)


def _output(output: Any) -> str:
    """Return the text of a result, which is plain, in blocks, or the output in a document."""
    if isinstance(output, dict):
        output = output.get("content") or output.get("output") or output.get("text") or ""
    if isinstance(output, str) and output.startswith('{"output"'):
        try:
            document = orjson.loads(output)
        except orjson.JSONDecodeError:
            return output
        known = document.get("metadata")
        code = known.get("exit_code") if isinstance(known, dict) else None
        return f"Exit code: {code}\n{document['output']}" if code is not None else str(document["output"])
    return texts_of(output, _TEXT)


def _review(review: Any) -> str:
    """Return the findings of a review as text."""
    if not isinstance(review, dict):
        return ""
    found = review.get("findings")
    findings = [
        f"- {item.get('title', '')}: {item.get('body', '')}"
        for item in (found if isinstance(found, list) else ())
        if isinstance(item, dict)
    ]
    return "\n".join((str(review.get("overall_explanation") or ""), *findings)).strip()


_TYPES = frozenset(("session_meta", "turn_context", "event_msg", "response_item", "compacted"))
_BARE_TEXT = frozenset(("input_text", "output_text"))


def _is_record(record: dict[str, Any]) -> bool:
    sort = word(record, "type")
    if sort in _TYPES and isinstance(record.get("payload"), dict):
        return True
    # Files from before September 2025 have the payloads alone.
    content = record.get("content")
    first = content[0] if isinstance(content, list) and content else None
    return sort == "message" and isinstance(first, dict) and word(first, "type") in _BARE_TEXT


def _is_torn(head: bytes) -> bool:
    flat = head[:REACH]
    return b'"payload":' in flat and any(b'"type":"%b"' % name.encode() in flat for name in _TYPES)


FORMAT = Format(Codex, _is_record, is_torn=_is_torn)
