"""Find the names in a line of shell code: the command, its flags with their values, and its variables."""

import re
from collections.abc import Iterator

from ragmem.domain.entities.entities import Mention, find_mentions
from ragmem.domain.text.blocks import BlockType
from ragmem.domain.text.code_spans import PLAIN_PROGRAMS, classify_code, command_name
from ragmem.domain.text.token_types import CODE_WEIGHT, IDENTIFIER_WEIGHT, classify_token
from ragmem.patterns import lazy

LINE_FACTOR = 0.8
"""A line of an example says less about a text than its prose."""

MAX_COMMAND_WORDS = 4

_PROMPT = lazy(r"(?:\$|>|%|sudo|export|ENV)\s+")
_SET = lazy(r"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)=(?:\"([^\"]*)\"|'([^']*)'|(\S*))(?:\s+|$)")
_ECHO = lazy(r"(?:echo|printf|if|then|else|elif|fi|for|done|do|case|esac)\b")
_VALUED = lazy(r"--[a-z][\w-]*[ =]['\"]?([A-Za-z~.@/][^\s'\"]{2,79})")
_SPECIFIC = lazy(r"\w[/:._*-]")
_EXAMPLE = lazy(r"/?(?:path/to|your|my|foo|some|example|<)")
_MESSAGE = lazy(r"\"[^\"]* [^\"]* [^\"]*\"|'[^']* [^']* [^']*'")


def _blank(message: re.Match[str]) -> str:
    return " " * len(message.group())


def is_comment(line: str) -> bool:
    """Return whether a line of code is a shell comment."""
    return line.startswith("#")


def command_mentions(line: str) -> list[Mention]:
    """Return the names in a shell line, in order: the command first, if there is one.

    A line that only prints or branches has none; a comment is read as prose.
    """
    if is_comment(line):
        return _shift(line)
    if _ECHO.match(line):
        return find_mentions(line, BlockType.FENCE)
    at = 0
    mentions: list[Mention] = []
    if prompt := _PROMPT.match(line):
        at = prompt.end()
    while (assigned := _SET.match(line, at)) is not None:
        mentions.extend(_setting(assigned))
        at = assigned.end()
    words = command_name(line[at:]).split()[:MAX_COMMAND_WORDS]
    while len(words) > 1 and words[-1].startswith("-"):
        words.pop()
    name = " ".join(words)
    if name and line.startswith(name, at) and words[0] not in PLAIN_PROGRAMS:
        mentions.append(_command(name, at))
        at += len(name) if " " in name and mentions[-1].type == "command" else len(name.split()[0])
    rest = find_mentions(_MESSAGE.sub(_blank, line[at:]), BlockType.FENCE)
    mentions.extend(Mention(m.start + at, m.end + at, m.name, m.type, m.weight) for m in rest)
    named = {one.start for one in mentions}
    values = [one for one in _values(line, at) if one.start not in named]
    return sorted([*mentions, *values], key=lambda one: one.start) if values else mentions


def _values(line: str, at: int) -> Iterator[Mention]:
    """Yield the values of flags that are more than a plain word or an example."""
    for found in _VALUED.finditer(line, at):
        value = found.group(1)
        named = classify_code(value) if _SPECIFIC.search(value) and not _EXAMPLE.match(value) else None
        if named is not None:
            name, kind, _ = named
            kind = "project" if line.startswith("--repo", found.start()) and "." not in name else kind
            yield Mention(found.start(1), found.end(1), name, kind, IDENTIFIER_WEIGHT * LINE_FACTOR)


def _shift(line: str) -> list[Mention]:
    """Return the mentions of a comment, with their positions in the line."""
    body = line.lstrip("# ")
    offset = len(line) - len(body)
    found = find_mentions(body, BlockType.PARAGRAPH)
    return [Mention(m.start + offset, m.end + offset, m.name, m.type, m.weight * LINE_FACTOR) for m in found]


def _setting(assigned: re.Match[str]) -> Iterator[Mention]:
    """Yield an assigned variable, and its value if that is a name."""
    yield Mention(
        assigned.start(1), assigned.end(1), assigned.group(1), "config", IDENTIFIER_WEIGHT * LINE_FACTOR
    )
    for group in (2, 3, 4):
        value = assigned.group(group)
        found = classify_token(value) if value else None
        if found is not None:
            name, kind, weight = found
            yield Mention(assigned.start(group), assigned.end(group), name, kind, weight * LINE_FACTOR)


def _command(name: str, at: int) -> Mention:
    """Return the command that begins here: a script by its path, a bare program as a tool."""
    words = name.split()
    found = classify_token(words[0])
    if found is not None and found[1] == "file":
        return Mention(at, at + len(words[0]), words[0], "file", CODE_WEIGHT * LINE_FACTOR)
    if len(words) == 1 or words[1].startswith("-"):
        return Mention(at, at + len(words[0]), words[0], "tool", IDENTIFIER_WEIGHT * LINE_FACTOR)
    return Mention(at, at + len(name), name, "command", CODE_WEIGHT * LINE_FACTOR)
