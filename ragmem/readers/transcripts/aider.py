"""Aider's chat history: one Markdown file for all sessions in a folder.

Written after the files of versions 0.37 to 0.86. A line of the person begins with `#### `, one of the program
with `> `. Both end with two spaces, unlike headings and quotations of an answer. Its edits are blocks in it.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from ragmem.patterns import lazy
from ragmem.readers.transcripts.cleanup import user_text
from ragmem.readers.transcripts.exchange_builder import MAX_NAME, ExchangeBuilder
from ragmem.readers.transcripts.format import Format, TextReader, read_text_document
from ragmem.readers.transcripts.tools import call_of

NAME = "aider"
HISTORY = ".aider.chat.history.md"

_SESSION = lazy(r"# aider chat started at (?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_ASKED, _TOLD, _ENDS = "#### ", "> ", "  "
_BANNER = "> Aider v"
_COMMAND = lazy(r"(?P<name>/[a-z][a-z-]*|!)(?:\s+(?P<rest>.*))?", re.DOTALL)
_CONFIRMATION = lazy(r"[^\n]*\(Y\)es/\(N\)o[^\n]*\]: ?\S*")
_QUESTIONS = frozenset(("/ask", "/code", "/architect", "/context", "/help"))
"""Commands with a question behind them."""

_RUNS = frozenset(("/run", "/test", "/git", "!"))
_THOUGHTS = lazy(
    r"^-{3,}\n► \*\*THINKING\*\*\n.*?^-{3,}\n► \*\*ANSWER\*\*$"
    # The template of some models begins their thoughts.
    r"|\A(?:(?!^<think).)*^</think>[ \t]*$"
    r"|^<(?P<tag>think(?:ing)?(?:-content-\w{1,64})?)>.*?(?:</(?P=tag)>|\Z)",
    re.DOTALL | re.MULTILINE,
)
_THOUGHT_TAG = lazy(r"</?think>")
_FILE = lazy(r"\S*[\w-][./\\][\w-]\S*")
_GAP = lazy(r"\n{3,}")
_FENCE = lazy(r"(?P<mark>`{3,})[^`]{0,80}|<(?P<tag>source|code|pre|codeblock|sourcecode)>\s*")
_FENCE_END = lazy(r"`{3,}|</(?:source|code|pre|codeblock|sourcecode)>")
_SEARCH, _REPLACE = "<<<<<<< SEARCH", ">>>>>>> REPLACE"
_EMPTY = "<blank>"
"""What the program writes for a question without words."""


class Aider(TextReader):
    """Reads the sessions of a chat history; a question of the program and its answer are left out."""

    def __init__(self, builder: ExchangeBuilder, path: Path, *, sidechains: bool) -> None:  # noqa: ARG002 - has none
        self._builder = builder
        self._at = ""
        self._asked: list[str] = []
        self._said: list[str] = []
        self._told: list[str] = []
        self._answers: list[list[str]] = []
        self._sessions = Counter[str]()
        self._calls = 0
        builder.cwd = str(path.parent)

    def take_text(self, text: str) -> Iterator[None]:
        """Read the messages of a file one by one; yield after each."""
        lines = text.split("\n")
        # An editor or a hook may have removed the spaces at all ends.
        ends = _ENDS if any(line.startswith(_ASKED) and line.endswith(_ENDS) for line in lines) else ""
        for line in _without_outputs(lines, ends):
            is_marked = line.endswith(ends)
            if found := _SESSION.fullmatch(line):
                yield from self._close()
                self._begin(found["at"])
                yield
            elif is_marked and f"{line} ".startswith(_ASKED):
                if self._said or self._told:
                    yield from self._close()
                self._asked.append(line[len(_ASKED) :].rstrip())
            elif is_marked and f"{line} ".startswith(_TOLD):
                yield from self._ask()
                self._told.append(line[len(_TOLD) :].rstrip())
            elif line.strip() or self._said or self._asked:
                if self._told and line.strip():
                    yield from self._close()
                yield from self._ask()
                self._said.append(line)
        yield from self._close()

    def _begin(self, at: str) -> None:
        self._at = at
        self._sessions[at] += 1
        again = f".{self._sessions[at]}" if self._sessions[at] > 1 else ""
        self._builder.begin_session(re.sub(r"\D", "", at) + again)

    def _close(self) -> Iterator[None]:
        """Take the question, or the answer with what the program did of it, that was read last."""
        yield from self._ask()
        builder = self._builder
        answer, told = "\n".join(self._said).strip(), self._told
        said = _THOUGHTS.sub("", answer).strip()
        self._said, self._told = [], []
        if said:
            self._answers = [_THOUGHT_TAG.sub("", answer).split(), said.split()]
            edited = {line.removeprefix("Applied edit to ") for line in told if line.startswith("Applied ")}
            builder.say(_without_edits(said.split("\n"), edited))
        for before, line in zip(["", *told], told, strict=False):
            self._program(line, before)
        yield

    def _ask(self) -> Iterator[None]:
        asked, self._asked = "\n".join(self._asked).strip(), []
        found = _COMMAND.fullmatch(asked)
        if found and found["name"] in _RUNS:
            self._call("Bash", {"command": found["rest"] or ""})
        asked = (found["rest"] or "" if found["name"] in _QUESTIONS else "") if found else asked
        # The plan of an architect is handed to the editor as a question, with its thoughts or without.
        is_plan = _THOUGHT_TAG.sub("", asked).split() in self._answers
        if asked not in {"", _EMPTY} and not is_plan and not _CONFIRMATION.fullmatch(asked):
            self._builder.ask(user_text(asked), at=self._at or None)
            yield

    def _program(self, line: str, before: str) -> None:
        builder = self._builder
        word, _, rest = line.partition(" ")
        if line.startswith("Applied edit to "):
            # Paths of Windows have other separators.
            self._call("Edit", {"file_path": line.removeprefix("Applied edit to ").replace("\\", "/")})
        elif word == "Commit" and not before.startswith("Committing "):
            made, _, subject = rest.partition(" ")
            self._call("Bash", {"command": "git commit"}, f"[{NAME} {made}] {subject}")
        elif word == "Running":
            self._call("Bash", {"command": rest})
        elif line.startswith("Removed: "):
            builder.add(f"/undo {line.removeprefix('Removed: ')}")
        elif (key := line.partition(": ")[0]) in {"Model", "Models", "Main model"}:
            builder.model = line.removeprefix(f"{key}: ").partition(" with ")[0][:MAX_NAME]

    def _call(self, name: str, given: Mapping[str, str], result: str = "") -> None:
        self._calls += 1
        self._builder.call(call_of(name, dict(given), self._builder.redactor), f"{name}/{self._calls}")
        self._builder.result(f"{name}/{self._calls}", result)


def _without_outputs(lines: Sequence[str], ends: str) -> Iterator[str]:
    """Yield the lines without the program's texts of several lines; only their last lines have the ends."""
    is_told = is_inside = False
    for line in lines:
        if is_inside and not line.startswith(_ASKED) and not _SESSION.fullmatch(line):
            is_inside = not line.endswith(ends)
            continue
        begins = line.startswith(_TOLD if is_told else _BANNER)
        is_inside = begins and not line.endswith(ends)
        is_told = f"{line} ".startswith(_TOLD)
        if not is_inside:
            yield line


def _without_edits(lines: Sequence[str], edited: Collection[str]) -> str:
    """Return an answer without the blocks that change files, and the lines that name their files."""
    ends: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if _FENCE_END.fullmatch(line.rstrip()) or line.startswith(_REPLACE):
            ends.setdefault(_REPLACE if line.startswith(_REPLACE) else line.rstrip(), []).append(number)
    kept: list[str] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        begun = _FENCE.fullmatch(line)
        mark = (begun["mark"] or f"</{begun['tag']}>") if begun else _REPLACE if line == _SEARCH else ""
        places = ends.get(mark, [])
        at = bisect_right(places, number)
        if at == len(places):
            kept.append(line)
            number += 1
            continue
        block = lines[number : places[at] + 1]
        number = places[at] + 1
        name = _path(kept[-1]) if kept else ""
        # A block or a diff may name its file itself.
        names = {name, *(_path(one.removeprefix("+++ ")) for one in block[1:3])}
        if _SEARCH not in block and names.isdisjoint(edited):
            kept += block
        elif name in edited or _FILE.fullmatch(name):
            kept.pop()
    return _GAP.sub("\n\n", "\n".join(kept))


def _path(line: str) -> str:
    return line.strip().strip("`*#: ")


def root_of(path: Path) -> Path | None:
    """Return the folder of a chat history; None for another file."""
    return path.parent if path.name == HISTORY else None


def is_document(_path: Path, head: bytes) -> bool:
    """Return whether a file that begins with these bytes is a chat history."""
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    return _SESSION.fullmatch(first.decode("utf-8", "replace")) is not None


FORMAT = Format(Aider, is_document=is_document, read_document=read_text_document)
