"""Find mentions of code in a text: names and paths as they are written.

A bare name counts only if it is marked as code (`run`, run(), plan.run) or if no word has its form
(parse_config, parseConfig): texts are full of words that are also names of functions.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ragmem.domain.text.known_names import KNOWN_NAMES
from ragmem.heap import word_cache

MAX_LINE = 10_000
"""Maximum characters of a line; a longer one is data."""

SHORTEST = 2
"""Shortest name in letters that can be a mention; `x` and `i` are too short."""

# Possessive, because a part of a name is not a name. `plan(s)` is a plural; a test follows `test_a.py::`.
_NAME = re.compile(
    r"(?:(?<![\w$.:#/\\@-])|(?<=\w::))"
    r"(?P<name>[^\W\d][\w$]*+(?:(?:\.|::|\#|->|\\(?=[A-Z]))[^\W\d][\w$]*+)*+)(?P<call>\((?!s\)))?+(?![/\\])"
)
# A file has an extension; a folder may precede it, but not the scheme of an address.
_PATH = re.compile(
    r"(?<![\w.~/\\@+-])(?P<path>(?:~[/\\]|[A-Za-z]:[/\\]|[/\\])?(?:[\w.@+-]++[/\\])*"
    r"[\w@+-][\w.@+-]*\.[A-Za-z][\w+]{0,7})(?![\w/\\]|\.\w)"
)
_IN_BACKTICKS = re.compile(r"`([^`]+)`")
_ONE_NAME = re.compile(r"[^\W\d][\w$]*")
_MARKS = "`.:#>\\"
"""Marks before a name that is marked as code."""

_SEPARATOR = re.compile(r"::|#|->|\\")
_HUMP = re.compile(r"[^\W_A-Z][A-Z]|[A-Z]{2}[^\W\dA-Z_]")


@dataclass(frozen=True, slots=True)
class Mention:
    """A dotted name or a path with slashes, on a line of a text, counted from 1.

    `is_word`: only backticks mark it, and those also mark ordinary words.
    """

    text: str
    line: int
    is_path: bool = False
    is_word: bool = False

    @property
    def last(self) -> str:
        """The last part of the name."""
        return self.text.rpartition("/" if self.is_path else ".")[2]


def mentions(text: str) -> Iterator[Mention]:
    """Yield the mentions in a text, line by line."""
    for number, line in enumerate(text.split("\n"), start=1):
        yield from line_mentions(line, number)


def candidate_lines(text: str, name: str) -> set[int]:
    """Return the lines, from 1, that may mention a name: a superset of those of `line_mentions`.

    This is much faster than reading a text in which few lines have the name.
    """
    found: set[int] = set()
    always = "." in name or is_distinctive(name)
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        before, behind = text[start - 1 : start], text[end : end + 1]
        if (always or behind == "(" or (before and before in _MARKS)) and not _is_letter(before, behind):
            found.add(text.count("\n", 0, start) + 1)
        start = text.find(name, end)
    return found


def _is_letter(before: str, behind: str) -> bool:
    return before.isalnum() or before == "_" or behind.isalnum() or behind == "_"


def line_mentions(line: str, number: int) -> Iterator[Mention]:
    """Yield the mentions in a line; one that may be a path or a dotted name is yielded as both."""
    if len(line) > MAX_LINE:
        return
    if "." in line:
        for found in _PATH.finditer(line):
            yield Mention(found["path"].replace("\\", "/").removeprefix("./"), number, is_path=True)
    marked = (
        {span for span in _IN_BACKTICKS.findall(line) if _ONE_NAME.fullmatch(span)} if "`" in line else ()
    )
    for found in _NAME.finditer(line):
        name = found["name"]
        if name.isalpha() and name.islower() and not found["call"] and name not in marked:
            continue  # Fast path: most words
        quoted = name in marked and line[found.start() - 1 : found.start()] == "`"
        name = _SEPARATOR.sub(".", name)
        if len(name.rpartition(".")[2]) < SHORTEST:
            continue
        if found["call"] or "." in name or is_distinctive(name):
            yield Mention(name, number)
        elif quoted:
            yield Mention(name, number, is_word=True)


@word_cache(8192)
def is_distinctive(name: str) -> bool:
    """Return whether the form of a name shows that it is code: `parse_config`, `parseConfig`, `HTTPServer`.

    Known names such as `GitHub` have this form, but are words.
    """
    if name.lower() in KNOWN_NAMES:
        return False
    return "_" in name.strip("_") or _HUMP.search(name) is not None
