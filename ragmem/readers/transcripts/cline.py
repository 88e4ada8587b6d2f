"""The tasks of Cline, and of Roo Code, Kilo Code and other forks: one JSON document of messages each.

Written after the files of Cline 2 to 4 and of Roo Code 3. The messages are those of a model's API, so most of
the user's are the program's: results of tools, reminders, the state of the editor. A person's words are in
tags. The calls of tools are blocks, or XML in the text of older versions, whose results are text as well.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import orjson

from ragmem.domain.sessions.transcript import Act, ActType
from ragmem.patterns import lazy
from ragmem.readers.dates import parse_time
from ragmem.readers.transcripts.cleanup import summary_text, user_text
from ragmem.readers.transcripts.exchange_builder import MAX_NAME, ExchangeBuilder
from ragmem.readers.transcripts.format import REACH, Format, RecordReader, read_document
from ragmem.readers.transcripts.records import mapping, parse, texts_of, word
from ragmem.readers.transcripts.tools import Call, call_of, merge

NAME = "cline"
HISTORY = "api_conversation_history.json"
_SESSION = ".messages.json"
"""The end of the name of a session of Cline 4, which is an object with the messages."""

_FORKS = {"rooveterinaryinc.roo-cline": "roo-code", "kilocode.kilo-code": "kilo-code"}
"""Folder of an extension -> the name of the assistant."""

_ENVIRONMENT, _ENVIRONMENT_END = "<environment_details>", "</environment_details>"
_FOLDER = lazy(
    r"^# Current Work(?:ing|space) Directory \(([^\n]{1,1000})\)(?: Files)?$"
    r"|^\[TASK RESUMPTION\][^\n]{0,400} working directory is now '([^'\n]{1,1000})'"
    r"|^[\d. ]{0,4}Working Directory: ([^\n]{1,1000})$",
    re.MULTILINE,
)
_MODEL = lazy(rf"^<model>([^<\n]{{1,{MAX_NAME}}})</model>$", re.MULTILINE)
_TASK_TIME = lazy(r"(?<!\d)1\d{12}(?!\d)|\b([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-")
"""The milliseconds in a task's name: as such, or at the beginning of a UUID of version 7."""

_ISO_TIME = lazy(r"# Current Time\s[^\n]{0,50}?(\d{4}-\d\d-\d\dT[\d:.]{8,12}Z)")
_LOCAL_TIME = lazy(
    r"# Current Time\n(\d{1,4})\D{1,3}(\d{1,2})\D{1,3}(\d{1,4})(?P<mark>\D{1,12})"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)[:.](?P<second>\d\d)(?P<after>[^(\n]{0,12})\([^)\n]{0,60}?"
    r"UTC(?P<sign>[+-])(?P<hours>\d{1,2}(?:\.\d{1,2})?)(?::(?P<minutes>\d\d))?"
)
_MORNING = lazy(r"a\.?\s?m|上午|午前|오전", re.IGNORECASE)
_AFTERNOON = lazy(r"p\.?\s?m|下午|午後|오후", re.IGNORECASE)
_WORDS = lazy(r"<(task|feedback|answer|user_message|user_input)(?: mode=\"\w{1,20}\")?>")
_MENTION = lazy(r" \(see below for [a-z ]{1,40}\)")
_RESUMED = ("[TASK RESUMPTION]", "New instructions for task", "New message to respond to")
_RESULT, _RESULT_END = lazy(r"\[([a-z][a-z0-9_]*)[ \]]"), "] Result:"
_SKIPPED = lazy(r"(?:Skipping t|T)ool \[([a-z0-9_]+)")
_REVERTED = "Tool [] was interrupted"
_TOLD = ("The user ", "Command is still running", '{"status":')
"""How a result begins in which a person's words may be: of a refusal, an approval, a running command."""

_FEEDBACK = lazy(r'\{"status":"\w{1,20}","feedback":("(?:[^"\\\x00-\x1f]|\\["\\/bfnrt])*")')
_FAILED = lazy(
    r"The (?:tool execution failed|user denied)|Missing value|(?:Failed|Unable) to |<?error|Access to "
    r"|(?:Skipping t|T)ool \S|\{\"status\":\"(?:denied|error)\"",
    re.IGNORECASE,
)
_STATUS = lazy(
    r"\ACommand (?:executed|failed)[^\n]{0,100}?(?:exit code (?P<code>-?\d+)[^\n]{0,100})?(?:\nOutput:|\n|\Z)"
)
_SPEECH = {
    "attempt_completion": "result",
    "plan_mode_respond": "response",
    "plan_mode_response": "response",
    "act_mode_respond": "response",
    "ask_followup_question": "question",
    "ask_question": "question",
}
"""The tools with which the assistant speaks -> the parameter with its words."""

_TURNS = frozenset(("attempt_completion", "plan_mode_respond", "plan_mode_response", "condense"))
"""The tools that end a turn: a person's answer to them is a question."""

_QUESTION = "ask_followup_question"
_SUMMARIES = frozenset(("condense", "summarize_task"))
_XML_CALL = lazy(
    r"^[ \t]*<(?P<name>execute_command|read_file|write_to_file|replace_in_file|apply_diff|insert_content"
    r"|search_and_replace|edit_file|search_files|list_files|list_code_definition_names|codebase_search"
    r"|web_fetch|browser_action|use_mcp_tool|access_mcp_resource|ask_followup_question|attempt_completion"
    r"|plan_mode_respon(?:d|se)|switch_mode|new_task|fetch_instructions|update_todo_list|condense"
    r"|summarize_task)>\s*(?=<)",
    re.MULTILINE,
)
_PARAMETERS = (
    "action path command question options follow_up result response message context todos task_progress"
    " tool_name arguments regex query url"
).split()
_XML_FILE = lazy(r"<file>\s*<path>([^<\n]{1,1000})</path>")
_OPTION = lazy(r"<suggest[^<>]{0,100}>([^<]{1,2000})</suggest>")
_THOUGHTS = lazy(r"<thinking>.*?(?:</thinking>|\Z)", re.DOTALL)
_INTERRUPTED = lazy(r"\[Response interrupted by (user)?[^\]\n]{0,200}\]")
_FENCE = lazy(r"\A\s*```[ \t]*$|^```\w{0,20}\s*\Z", re.MULTILINE)
"""The end of a block of code at the beginning, or the beginning of one at the end."""

_ITEM = lazy(r"^[ \t]*(?:[-*][ \t]*)?\[[ xX-]\][ \t]*(\S[^\n]{0,300})", re.MULTILINE)
_LISTS = {"files": "path", "paths": "path", "commands": "command", "queries": "query"}


class Cline(RecordReader):
    """Reads the messages of a task; those of a subtask only with `sidechains`."""

    def __init__(self, builder: ExchangeBuilder, path: Path, *, sidechains: bool) -> None:
        self._builder = builder
        self._sidechains = sidechains
        self._number = 0
        self._calls: dict[str, str] = {}
        self._options: set[str] = set()
        self._items: set[str] = set()
        self._is_tagged = True
        self._is_stopped = False
        builder.assistant = next((_FORKS[one] for one in path.parts if one in _FORKS), NAME)
        builder.session = path.parent.name if path.name == HISTORY else path.name.partition(".")[0]
        self._folder = ""
        self._at = _time_in(builder.session)
        self._read_item(path.with_name("history_item.json"))

    def take_document(self, document: Any) -> Iterator[None]:
        """Take the messages of a task one by one; yield after each."""
        builder = self._builder
        if isinstance(document, dict):
            self._is_tagged = False
            builder.session = word(document, "sessionId") or builder.session
            self._read_environment(word(document, "system_prompt"))
            if word(document, "agent") not in {"", "lead"}:
                builder.agent = builder.session
        listed = document.get("messages") if isinstance(document, dict) else document
        for message in listed if isinstance(listed, list) else ():
            if isinstance(message, dict):
                self.take(message)
            yield
        self._stop()

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next message."""
        builder, role, content = self._builder, word(record, "role"), record.get("content")
        self._number += 1
        if builder.agent and not self._sidechains:
            builder.left_out["side chain"] += 1
            return
        said = list(self._without_environment(content))
        self._at = parse_time(record.get("ts")) or self._at
        if record.get("isSummary"):
            builder.summarize(summary_text("\n".join(text for _, text in said)))
        elif role == "user":
            self._ask(said, key=str(record.get("ts") or f"{builder.session}/{self._number}"))
        elif role == "assistant":
            info = mapping(record.get("modelInfo"))
            builder.model = word(info, "modelId") or word(info, "id") or builder.model
            self._answer(content)
        else:
            builder.skip(word(record, "type") or role, known=word(record, "type") == "reasoning")
        builder.touch(self._at)
        # A question that was asked in another folder is closed with its own.
        builder.cwd = self._folder or builder.cwd

    def _read_item(self, path: Path) -> None:
        """Read what Roo Code notes of a task: its folder, and the task that started it."""
        try:
            item = mapping(parse(read_document(path)))
        except (OSError, orjson.JSONDecodeError):
            return
        builder = self._builder
        builder.cwd = word(item, "workspace")
        if parent := word(item, "parentTaskId"):
            builder.session, builder.agent = parent, builder.session

    def _read_environment(self, text: str) -> None:
        builder = self._builder
        if found := _FOLDER.search(text):
            self._folder = next(filter(None, found.groups())).strip()
        if found := _MODEL.search(text):
            builder.model = found[1]
        self._at = _clock(text, self._at) or self._at

    def _without_environment(self, content: Any) -> Iterator[tuple[str, str]]:
        """Yield (id of a call or "", text) of the blocks of a message; pictures have none."""
        for block in content if isinstance(content, list) else [content]:
            part = mapping(block)
            own = word(part, "tool_use_id")
            text = _result_text(part.get("content")) if own else texts_of([block], ("text",)).strip()
            if text.endswith(_ENVIRONMENT_END):
                text, _, environment = text.rpartition(_ENVIRONMENT)
                self._read_environment(environment)
            if own or text.strip():
                yield own, text.strip()

    def _ask(self, blocks: list[tuple[str, str]], *, key: str) -> None:
        """Take the results of tools in a message, and the words of the person."""
        said, tools, is_resumed = [], set[str](), False
        for call, tool, text in _pieces(blocks):
            if call or tool:
                own = call or next(
                    (one for one, name in self._calls.items() if name.endswith(tool)),
                    next(iter(self._calls), ""),
                )
                name = self._calls.pop(own, tool)
                if not _SKIPPED.match(text):
                    tools.add(name)
                self._result(own, text)
                if name in _TURNS or name in _SPEECH or text.startswith(_TOLD):
                    said.append(_words(text) or _feedback(text) or ("" if self._is_tagged else text))
                continue
            if text.startswith(_RESUMED):
                is_resumed = True
                self._read_environment(text)
            said.append(_words(text) or ("" if self._is_tagged else text))
        for own, name in self._calls.items() if is_resumed else ():
            # What had not ended at an interruption was reverted.
            if name not in _SPEECH:
                self._builder.result(own, _REVERTED, failed=True)
        words = [one for one in (user_text(_MENTION.sub("", one)) for one in said) if one]
        # An answer that the assistant suggested does not begin anything new.
        is_typed = _QUESTION in tools and not self._options.issuperset(words)
        asked = "\n\n".join(words)
        if asked and (not tools or is_resumed or is_typed or tools & _TURNS):
            self._stop()
            self._builder.ask(asked, key=key, at=self._at)
        elif asked:
            self._builder.add(asked)

    def _result(self, own: str, text: str) -> None:
        is_failed = _FAILED.match(text) is not None or "<error>" in text[:REACH]
        if status := _STATUS.match(text):
            text = text[status.end() :]
            text = f"Exit code: {status['code']}\n{text}" if status["code"] else text
        self._builder.result(own, text, failed=is_failed)

    def _stop(self) -> None:
        """Record that the person interrupted the assistant, if it did not go on later."""
        if self._is_stopped:
            self._builder.interrupt()
        self._is_stopped = False

    def _answer(self, content: Any) -> None:
        """Take the words and the calls of the assistant."""
        self._calls.clear()
        self._is_stopped = False
        for block in content if isinstance(content, list) else [content]:
            made = mapping(block)
            if word(made, "type") == "tool_use":
                self._call(word(made, "id"), word(made, "name"), mapping(made.get("input")))
            else:
                self._say(texts_of([block], ("text",)))

    def _say(self, text: str) -> None:
        """Take a text with the calls that it holds as XML."""
        builder = self._builder
        text = _THOUGHTS.sub("", text)
        is_cut = _INTERRUPTED.search(text)
        self._is_stopped = self._is_stopped or bool(is_cut and is_cut[1])
        text = _INTERRUPTED.sub("", text)
        at = 0
        for found in _XML_CALL.finditer(text):
            if found.start() < at:
                continue
            builder.say(_FENCE.sub("", text[at : found.start()]))
            name, end = found["name"], text.find(f"</{found['name']}>", found.end())
            body = text[found.end() : end if end >= 0 else len(text)]
            at = end + len(name) + len("</>") if end >= 0 else len(text)
            if end < 0 and is_cut and name not in _SPEECH:
                continue
            given = _parameters(body)
            if paths := _XML_FILE.findall(body):
                given["paths"] = paths
            self._call("", name, given)
        builder.say(_FENCE.sub("", text[at:]) if at else text)

    def _call(self, own: str, tool: str, given: Mapping[str, Any]) -> None:
        builder = self._builder
        own = own or f"{self._number}/{len(self._calls)}"
        self._calls[own] = tool
        told = word(given, "task_progress") or word(given, "todos")
        items = [item.rstrip(" ✓✅") for item in _ITEM.findall(told)]
        # The list is sent again with many calls.
        todos = [{"content": item} for item in dict.fromkeys(items) if item not in self._items]
        self._items.update(items)
        builder.call(call_of("todowrite", {"todos": todos}, builder.redactor))
        if tool in _SPEECH:
            options = _options(given)
            self._options = set(options)
            said = "\n".join((word(given, _SPEECH[tool]).strip(), *(f"- {one}" for one in options)))
            # As a call, because what was not executed was not said either.
            builder.call(Call((Act(ActType.SAID, said),) if said else ()), own)
        elif tool in _SUMMARIES:
            builder.summarize(word(given, "context"))
        elif tool != "update_todo_list":
            calls = [call_of(name, arguments, builder.redactor) for name, arguments in _each(tool, given)]
            builder.call(merge(calls), own)


def _parameters(body: str) -> dict[str, Any]:
    """Return the parameters of a call as XML, in linear time; the first of each name counts."""
    given: dict[str, Any] = {}
    for name in _PARAMETERS:
        begin = body.find(f"<{name}>")
        end = body.find(f"</{name}>", begin) if begin >= 0 else -1
        if end >= 0:
            value = body[begin + len(name) + len("<>") : end].strip()
            # Some models escape what they write into XML.
            given[name] = unescape(value) if name == "command" else value
    return given


def _each(tool: str, given: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (tool, arguments) for each of the things that a call names."""
    if tool == "use_mcp_tool":
        yield word(given, "tool_name"), dict(mapping(_parsed(given.get("arguments"))))
        return
    more = [
        {one: mapping(value).get(one) or value}
        for many, one in _LISTS.items()
        if isinstance(values := given.get(many), list)
        for value in values
    ]
    more += [{"prompt": value} for name, value in given.items() if name.startswith("prompt_")]
    for found in more or [dict(given)]:
        path = found.get("path") or found.get("absolutePath")
        # Paths of Windows have other separators than the working folder.
        yield tool, found | ({"path": path.strip().replace("\\", "/")} if isinstance(path, str) else {})


def _pieces(blocks: list[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield (id of a call, tool, text) of each result, and ("", "", text) of each other text.

    In older versions the result of a tool follows its name as a block of its own.
    """
    waits = ""
    for call, text in blocks:
        tool, body = "", text
        if found := _SKIPPED.match(text):
            tool = found[1]
        elif (found := _RESULT.match(text)) and (end := text.find(_RESULT_END)) >= 0:
            tool, body = found[1], text[end + len(_RESULT_END) :].strip()
        if waits and (call or tool):
            yield "", waits, ""
        elif waits:
            tool = waits
        waits = "" if call or body else tool
        if not waits:
            yield call, tool, body
    if waits:
        yield "", waits, ""


def _result_text(content: Any) -> str:
    """Return the text of a result: of blocks, or in Cline 4 of queries."""
    told = _parsed(content) if isinstance(content, str) and content.startswith('{"query"') else content
    queries = [mapping(one) for one in (told if isinstance(told, list) else [told])]
    if any("query" in one for one in queries):
        return "\n".join(word(one, "error") or word(one, "result") for one in queries)
    return texts_of(content, ("text",))


def _parsed(value: Any) -> Any:
    """Return the value of a text with JSON, None for another text, and any other value as it is."""
    try:
        return parse(value.encode("utf-8", "replace")) if isinstance(value, str) else value
    except orjson.JSONDecodeError:
        return None


def _options(given: Mapping[str, Any]) -> list[str]:
    """Return the answers that a question suggests."""
    told = given.get("follow_up") or given.get("options")
    listed = (_OPTION.findall(told) if isinstance(told, str) else ()) or _parsed(told)
    found = listed if isinstance(listed, list) else ()
    return [
        text.strip() for one in found if (text := one if isinstance(one, str) else word(mapping(one), "text"))
    ]


def _words(text: str) -> str:
    """Return the words of a person, which are in a tag; empty without one."""
    found = _WORDS.search(text)
    return text[found.end() :].partition(f"</{found[1]}>")[0].strip() if found else ""


def _feedback(text: str) -> str:
    """Return the words of a person in a result of Roo Code, which begins with an object."""
    found = _FEEDBACK.match(text)
    return str(parse(found[1].encode())) if found else ""


def _time_in(name: str) -> datetime | None:
    """Return the time in the name of a task; None without one."""
    if not (found := _TASK_TIME.search(name)):
        return None
    return parse_time(int(found[1] + found[2], 16) if found[1] else int(found[0]))


def _clock(text: str, near: datetime | None) -> datetime | None:
    """Return the time in a description of the environment; None without one.

    It is written as the person's language does. Of the orders of day and month, the one counts that is next
    to the time before.
    """
    if found := _ISO_TIME.search(text):
        return parse_time(found[1])
    if not (found := _LOCAL_TIME.search(text)):
        return None
    first, second, last = (int(found[number]) for number in (1, 2, 3))
    hour, mark = int(found["hour"]), found["mark"] + found["after"]
    if _AFTERNOON.search(mark):
        hour = hour % 12 + 12
    elif _MORNING.search(mark):
        hour %= 12
    ahead = timedelta(hours=float(found["hours"]), minutes=int(found["minutes"] or 0))
    times = []
    for year, month, day in ((first, second, last), (last, first, second), (last, second, first)):
        try:
            local = datetime(year, month, day, hour, int(found["minute"]), int(found["second"]), tzinfo=UTC)
            times.append(local + ahead if found["sign"] == "-" else local - ahead)
        except (ValueError, OverflowError):
            continue
    return min(times, key=lambda one: abs(one - (near or one)), default=None)


def _is_document(path: Path, head: bytes) -> bool:
    # Many programs keep arrays of such messages: only the name tells.
    begin = head[:REACH].lstrip(b"\xef\xbb\xbf \t\r\n")
    if path.name == HISTORY:
        return begin.startswith(b"[")
    return (
        path.name.endswith(_SESSION) and begin[:1] == b"{" and b'"sessionId"' in begin and b'"agent"' in begin
    )


def _read_document(reader: Cline, path: Path) -> Iterator[None] | None:
    try:
        document = parse(read_document(path))
    except orjson.JSONDecodeError:
        return None
    return reader.take_document(document)


FORMAT = Format(Cline, is_document=_is_document, read_document=_read_document)
