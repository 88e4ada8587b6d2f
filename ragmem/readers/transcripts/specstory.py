"""SpecStory's sessions: Markdown files with a header before each message, for any assistant.

Written after the files of versions 1 and 2.1 of its format. Version 1 is a title, `_**User**_` and
`_**Assistant**_` with rules between them, and `Tool use: **name**` lines. Version 2 adds the session and the
assistant in a comment, times and models in the headers, and `<tool-use>` around each call.
"""

import os
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from itertools import count
from pathlib import Path
from typing import Any

from ragmem.assistants import load_assistants
from ragmem.frozen import dataclass
from ragmem.readers.dates import parse_time
from ragmem.readers.files import ReadError, Reason
from ragmem.readers.transcripts.cleanup import INTERRUPTED, summary_text, user_text
from ragmem.readers.transcripts.exchange_builder import MAX_NAME, ExchangeBuilder
from ragmem.readers.transcripts.format import Format, RecordReader
from ragmem.readers.transcripts.tools import call_of

NAME = "specstory"
FOLDER = ".specstory"

MAX_DOCUMENT = 64 << 20
"""Maximum bytes of a file, which must fit in memory."""

_HEAD = 400
"""Bytes at the beginning in which SpecStory names itself."""

_MAX_HEAD = 4096
_FIRST_LINES = 40
"""Bytes and lines at the beginning in which the session is named."""

_LONGEST = 4000
"""Characters of a line that are searched."""

_MOST_PARTS = 12
"""Maximum folders of a path that are tried as a place in the repository."""

_HEADER = re.compile(
    r" {0,3}_\*\*(?P<role>User|Agent|Assistant)(?P<side> - sidechain)?(?:: [^()*]{1,80}?)?"
    r"(?: ?\((?P<told>[^*]{1,200})\))?\*\*_\s*"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?\s?(?:Z|[+-]\d\d:?\d\d)?")
_SESSION = re.compile(
    r"<!--\s*(?P<by>[A-Za-z][\w .+-]{0,60}?)?\s*\bSession\s+(?P<id>[\w.-]{4,100})"
    r"(?:\s+\((?P<at>[^)]{1,60})\))?"
)
_TITLE = re.compile(r"# .{0,300}")
_OF_NAME = re.compile(r"(\d{4}-\d\d-\d\d)_(\d\d)-(\d\d)(?:-(\d\d))?(Z|[+-]\d{4})?")
_FENCE = re.compile(r"(?P<mark>`{3,}|~{3,})(?P<language>[^`]{0,80})")
_TOOL = re.compile(
    r'<tool-use\b(?:[^>"]{0,80}data-tool-type="(?P<type>[^"]{0,60})")?'
    r'(?:[^>"]{0,80}data-tool-name="(?P<name>[^"]{0,120})")?'
)
_BARE_TOOL = re.compile(r"(?:<details>)?\s{0,4}(?:<summary>)?Tool use: \*\*(?P<name>[^*]{1,120})\*\*")
_TOOL_ENDS = frozenset(("</details></tool-use>", "</tool-use>"))
_THOUGHT = re.compile(r"<think>|<details>\s?<summary>Thought Process</summary>")
_DETAILS_END = "</details>"
_THOUGHT_ENDS = ("</think>", "</thinking>")
_RULE = "---"
_CONTINUED = "This session is being continued from a previous conversation"

_SUMMARY = re.compile(r"<summary>(.{0,4000}?)</summary>", re.DOTALL)
_LABEL = re.compile(r"\s*Tool use: \*\*[^*]{1,120}\*\*\s*(?:•\s*)?(?:Run (?:terminal )?command: )?")
_WHOLE_CODE = re.compile(r"\s*`(.+)`\s*", re.DOTALL)
_NAMED_FILE = re.compile(r"\b(?:Read|Edit|Write|Create|Delete) file: (\S[^\n<•]{0,1000})")
_DONE_FILE = re.compile(
    r"\bfile (/?\S[^\n]{0,1000}?) has been (?:updated|created)"
    r"|\bFile created successfully at: ([^\n]{1,1000}?)(?: \(|\n|\Z)"
)
_PATCHED = re.compile(r"^\*\*(Add|Update|Delete): `([^`\n]{1,1000})`", re.MULTILINE)
_INPUT = re.compile(r"^- (?P<name>\w{1,60}): `(?P<value>[^\n]{1,4000})`\s*$", re.MULTILINE)
_ITEM = re.compile(r"^\s*- \[[^\]\n]{0,4}\] (\S[^\n]{0,1000})", re.MULTILINE)
_MARKS = re.compile(r"^[^\w`\"'(\[]+")
_PATTERN = re.compile(r"(?i:pattern:?) `([^`\n]{1,1000})`|Grep for \"([^\"\n]{1,1000})\"")
_SHELL = re.compile(r"\[\w+ -\w+ (.*)\]", re.DOTALL)
_ANSWER = re.compile(r"\*\*Answer:\*\*\s*(.+)", re.DOTALL)
_FAILED = re.compile(r"<tool_use_error>|The user doesn't want to (?:proceed with|take) this")
_BY_TYPE: Mapping[str, str] = {"shell": "Bash", "read": "Read", "search": "Grep", "grep": "Grep"}
"""Names of tools that say the same as SpecStory's type of a call."""


@dataclass(frozen=True, slots=True)
class _Message:
    """A message: its role, what its header tells, and its lines."""

    is_user: bool
    is_side: bool
    model: str
    at: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _ToolUse:
    """The call of a tool, by SpecStory's type of it and its name, with the Markdown inside."""

    type: str
    name: str
    body: str


class SpecStory(RecordReader):
    """Reads a file of SpecStory; messages of subagents only with `sidechains`."""

    def __init__(self, builder: ExchangeBuilder, path: Path, *, sidechains: bool) -> None:
        self._builder = builder
        self._path = path
        self._sidechains = sidechains
        self._root = root_of(path)
        self._foreign = ""
        """The folder of the repository on the machine where the session was held, once it is known."""
        self._numbers = count()
        builder.cwd = str(self._root) if self._root else ""
        builder.session = path.stem

    def take(self, record: Mapping[str, Any]) -> None:
        """Skip a record: this format has none."""
        self._builder.skip(str(record.get("type", "")), known=False)

    def take_text(self, text: str) -> Iterator[None]:
        """Read the messages of a file one by one; yield after each."""
        builder = self._builder
        lines = text.split("\n")
        at = self._read_head(lines)
        for message in _messages(lines):
            if message.is_side and not self._sidechains:
                builder.left_out["side chain"] += 1
            elif message.is_user:
                self._user(message, at)
            else:
                self._assistant(message, at)
            yield

    def _read_head(self, lines: Sequence[str]) -> str:
        """Read session and assistant, and return the time of the session; empty if it is unknown."""
        builder = self._builder
        builder.assistant = NAME
        titled = ""
        for line in lines[:_FIRST_LINES]:
            if _HEADER.fullmatch(line):
                break
            if _TITLE.match(line) and not titled:
                titled = _time_in(line[:_LONGEST])
            elif found := _SESSION.match(line):
                builder.session = found["id"]
                builder.assistant = _assistant_of(found["by"] or "")
                titled = _time_in(found["at"] or "") or titled
        if titled or not (named := _OF_NAME.match(self._path.name)):
            return titled
        day, hour, minute, second, zone = named.groups()
        return f"{day}T{hour}:{minute}:{second or '00'}{zone or 'Z'}"

    def _user(self, message: _Message, session_at: str) -> None:
        builder = self._builder
        text = "\n".join(message.lines).strip()
        if INTERRUPTED in text[:200]:
            builder.interrupt()
        if text.startswith(_CONTINUED):
            builder.summarize(summary_text(text))
        elif asked := user_text(text):
            builder.ask(asked, at=message.at or session_at or None)

    def _assistant(self, message: _Message, session_at: str) -> None:
        builder = self._builder
        if message.model and not message.model.startswith("<"):
            builder.model = message.model
        builder.touch(message.at or session_at or None)
        for part in _parts(message.lines):
            if isinstance(part, str):
                builder.say(part)
            else:
                self._call(part)

    def _call(self, used: _ToolUse) -> None:
        builder = self._builder
        name, given, result = _described(used)
        for key in ("file_path", "path"):
            if key in given:
                given[key] = self._local(given[key])
        identifier = f"{used.name}/{next(self._numbers)}"
        builder.call(call_of(name, given, builder.redactor), identifier)
        if result:
            failed = "**Error:**" in used.body or _FAILED.search(result[:_LONGEST]) is not None
            builder.result(identifier, result, failed=failed)

    def _local(self, path: str) -> str:
        """Return a path of another machine as one of this repository, if the file is in it."""
        path = path.strip().removeprefix("./")
        root = self._root
        if root is None or not path.startswith("/") or Path(path).is_relative_to(root):
            return path
        if self._foreign and path.startswith(self._foreign):
            return str(root / path.removeprefix(self._foreign))
        parts = Path(path).parts
        for first in range(1, min(len(parts), _MOST_PARTS)):
            inner = "/".join(parts[first:])
            if ".." not in parts and os.path.lexists(root / inner):
                self._foreign = path.removesuffix(inner)
                return str(root / inner)
        return path


def _messages(lines: Sequence[str]) -> Iterator[_Message]:
    """Yield the messages of a file; a header in a call, in a thought or quoted in a fence begins none."""
    blocks = _Blocks(lines)
    header: re.Match[str] | None = None
    begin, fence, number = 0, "", 0
    while number < len(lines):
        line = lines[number]
        if end := blocks.end_of(number):
            number = end
            continue
        if found := _HEADER.fullmatch(line):
            # An unclosed fence must not swallow the rest: a time or a rule tells the header from a quotation.
            is_real = not fence or _TIME.search(found["told"] or "") or _follows_rule(lines, number)
            if is_real:
                if header is not None:
                    yield _message(header, lines[begin:number])
                header, begin, fence = found, number + 1, ""
        elif marked := _FENCE.match(line):
            mark = marked["mark"]
            if not fence:
                fence = mark
            elif mark.startswith(fence) and not marked["language"].strip():
                fence = ""
        number += 1
    if header is not None:
        yield _message(header, lines[begin:])


def _message(header: re.Match[str], lines: Sequence[str]) -> _Message:
    told = header["told"] or ""
    kept = list(lines)
    while kept and kept[-1].strip() in {"", _RULE}:
        kept.pop()
    model = _TIME.sub("", told).removeprefix("model:").removeprefix("model ").partition(", mode")[0].strip()
    side = bool(header["side"]) or "sidechain" in told
    return _Message(header["role"] == "User", side, model[:MAX_NAME], _time_in(told), tuple(kept))


def _follows_rule(lines: Sequence[str], number: int) -> bool:
    before = [line.strip() for line in lines[max(0, number - 2) : number]]
    return before[-2:] == [_RULE, ""] or before[-1:] == [_RULE]


def _time_in(text: str) -> str:
    found = _TIME.search(text)
    return found[0] if found and parse_time(found[0]) else ""


class _Blocks:
    """The blocks of calls and thoughts in lines; one that never ends is none."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        ends = [line.rstrip() for line in lines]
        self._tools = [at for at, line in enumerate(ends) if line in _TOOL_ENDS]
        self._thoughts = [at for at, line in enumerate(ends) if line.endswith(_THOUGHT_ENDS)]
        self._details = [at for at, line in enumerate(ends) if line.endswith(_DETAILS_END)]
        self._begins = [
            at
            for at, line in enumerate(lines)
            if line.startswith(("Tool use: **", "<think>", "<details>")) and _follows_rule(lines, at)
        ]
        self._fences: dict[str, list[int]] = {}
        for at, line in enumerate(ends):
            if line and not line.strip(line[0]) and _FENCE.match(line):
                self._fences.setdefault(line, []).append(at)

    def end_of(self, number: int) -> int:
        """Return the line after the block that begins in a line; 0 if none does."""
        line = self._lines[number]
        if line.startswith("<tool-use"):
            if line.rstrip().endswith("</tool-use>"):
                return number + 1
            return self._next(self._tools, number)
        if line.startswith(("<think>", "<details>")):
            ends = self._thoughts if line.startswith("<think>") else self._details
            if _THOUGHT.match(line) or _BARE_TOOL.match(line):
                return self._next(ends, number)
        return 0

    def end_of_bare_call(self, number: int) -> int:
        """Return the line of the rule that ends a call of version 1, which has no other end."""
        following = bisect_left(self._begins, number + 1)
        last = self._begins[following] if following < len(self._begins) else len(self._lines)
        at = number + 1
        while at < last and self._lines[at].rstrip() != _RULE:
            marked = _FENCE.match(self._lines[at])
            closed = self._next(self._fences.get(marked["mark"], ()), at + 1) if marked else 0
            # A fence that is open where the next part begins is none.
            at = closed if 0 < closed <= last else at + 1
        return at

    @staticmethod
    def _next(ends: Sequence[int], number: int) -> int:
        place = bisect_left(ends, number)
        return ends[place] + 1 if place < len(ends) else 0


def _parts(lines: Sequence[str]) -> Iterator[str | _ToolUse]:
    """Yield the texts and calls of an assistant's message in order, without its thoughts."""
    blocks = _Blocks(lines)
    held: list[str] = []
    number, fence = 0, ""
    while number < len(lines):
        line = lines[number]
        end = blocks.end_of(number)
        bare = None if fence else _BARE_TOOL.match(line)
        if end or bare:
            yield from _said(held)
            held = []
            if not end:
                end = blocks.end_of_bare_call(number)
            if not _THOUGHT.match(line):
                tool = _TOOL.match(line)
                body = "\n".join(lines[number:end])
                name = (tool["name"] if tool else bare["name"] if bare else None) or ""
                yield _ToolUse((tool["type"] if tool else None) or "", unescape(name), body)
            number = end
            continue
        if marked := _FENCE.match(line):
            fence = "" if fence and marked["mark"].startswith(fence) else fence or marked["mark"]
        if line.strip() == _RULE and not fence:
            yield from _said(held)
            held = []
        else:
            held.append(line)
        number += 1
    yield from _said(held)


def _said(lines: Sequence[str]) -> Iterator[str]:
    text = "\n".join(line for line in lines if not line.startswith("<!-- message-id:")).strip()
    if text:
        yield text


def _described(used: _ToolUse) -> tuple[str, dict[str, Any], str]:
    """Return the name of a tool, its arguments and its result, from the Markdown of its call."""
    summary = _SUMMARY.search(used.body[: 2 * _LONGEST])
    detail = _LABEL.sub(
        "", unescape(summary[1] if summary else used.body[:_LONGEST].partition("\n")[0]), count=1
    )
    body = used.body[summary.end() :] if summary else used.body.partition("\n")[2]
    prose, fences = _split_fences(body)
    inputs = {found["name"]: found["value"] for found in _INPUT.finditer(prose)}
    first = next(filter(None, (line.strip() for line in prose.split("\n"))), "")
    code = next(
        (found[1] for line in (detail, *prose.split("\n")) if (found := _WHOLE_CODE.fullmatch(line))), ""
    )
    given: dict[str, Any] = dict(inputs)
    if patched := _PATCHED.findall(body):
        given["input"] = "\n".join(f"*** {deed} File: {path}" for deed, path in patched)
    named = _NAMED_FILE.search(f"{detail}\n{prose}") or _DONE_FILE.search(
        f"{body[:_LONGEST]}\n{body[-_LONGEST:]}"
    )
    path = next(filter(None, named.groups()), "") if named else code or given.get("file_path", "")
    if path:
        given["file_path"] = unescape(path)
    pattern = _PATTERN.search(f"{detail}\n{prose}")
    told = next(filter(None, pattern.groups()), "") if pattern else code
    if told and "pattern" not in given:
        given["pattern"] = told
    command = detail if used.type == "shell" and detail and not code else code
    if not command and fences and fences[0][0] in {"bash", "sh", "shell", "zsh", "console"}:
        command = fences.pop(0)[1]
    if command or "command" in given:
        given["command"] = _SHELL.sub(r"\1", str(given.get("command") or command).strip("`"))
    if items := _ITEM.findall(prose):
        given["todos"] = [{"content": _MARKS.sub("", item).strip()} for item in items]
    answer = _ANSWER.search(body)
    described = detail.strip("` ") if detail and not code else first
    if described and not described.startswith(("**", "- ")) and "description" not in given:
        given["description"] = described
    result = (
        answer[1].strip().removesuffix(_DETAILS_END).strip() if answer else fences[-1][1] if fences else ""
    )
    return _BY_TYPE.get(used.type, used.name or used.type), given, result


def _split_fences(body: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the text outside of fences, and each fence's language and content."""
    prose: list[str] = []
    fences: list[tuple[str, list[str]]] = []
    fence = ""
    for line in body.split("\n"):
        marked = _FENCE.match(line)
        if marked and not fence:
            fence = marked["mark"]
            fences.append((marked["language"].strip().partition(":")[0].lower(), []))
        elif marked and marked["mark"].startswith(fence) and not marked["language"].strip():
            fence = ""
        elif fence:
            fences[-1][1].append(line)
        else:
            prose.append(line[:_LONGEST])
    return "\n".join(prose), [(language, "\n".join(lines)) for language, lines in fences]


def _assistant_of(told: str) -> str:
    """Return the name of an assistant in memories, by the name that SpecStory has for it."""
    plain = told.lower()
    known = (one.session_name for one in load_assistants() if one.session_name)
    found = next((name for name in known if name in plain), "")
    return found or re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MAX_NAME] or NAME


def root_of(path: Path) -> Path | None:
    """Return the folder that holds SpecStory's own folder; None for a file elsewhere."""
    return next((one.parent for one in path.parents if one.name == FOLDER), None)


def _read_document(reader: SpecStory, path: Path) -> Iterator[None]:
    if path.stat().st_size > MAX_DOCUMENT:
        raise ReadError(path, Reason.HUGE, f"a session of more than {MAX_DOCUMENT >> 20} MB cannot be read")
    text = path.read_bytes()[: MAX_DOCUMENT + 1].decode("utf-8-sig", "replace")
    return reader.take_text(text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", ""))


def session_of(path: Path) -> str:
    """Return the id of the session in a file of SpecStory; empty for another file, or where it has none."""
    if FOLDER not in path.parts:
        return ""
    try:
        with path.open("rb") as file:
            head = file.read(_MAX_HEAD).decode("utf-8", "replace")
    except OSError:
        return ""
    return next((found["id"] for line in head.splitlines() if (found := _SESSION.match(line))), "")


def is_document(path: Path, head: bytes) -> bool:
    """Tell whether a file that begins with these bytes is a session in this format."""
    begin = head[:_HEAD].lstrip(b"\xef\xbb\xbf \t\r\n")
    if begin.startswith(b"<!--") and b"SpecStory" in begin.partition(b"-->")[0]:
        return True
    if path.suffix != ".md" or FOLDER not in path.parts:
        return False
    return any(map(_HEADER.fullmatch, head.decode("utf-8", "replace").splitlines()))


def _is_record(_record: dict[str, Any]) -> bool:
    return False


FORMAT = Format(SpecStory, _is_record, is_document=is_document, read_document=_read_document)
