"""Comments about code: the sentence before a definition, and the purpose of a file."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

LONGEST = 300
"""Maximum characters of a sentence."""

_FEWEST_SPACES = 2
"""A leading comment of one or two words is the heading of a section, unless it is a sentence."""

_OPENING = re.compile(r"^\s*(?:/\*[*!]?|//[/!]?|#+!?|\*(?!/)|--+)[ \t]?")
_CLOSING = re.compile(r"\s*\*+/\s*$")
_MARKUP = re.compile(r"</?(?:summary|para|remarks|p|code|c|b|i|em|tt)\s*/?>|<see\s+cref=\"([^\"]+)\"\s*/>")
_INLINE_TAG = re.compile(r"\{@\w+\s+([^}]*)\}")
_TAG = re.compile(r"^\s*[@\\](?:brief|file|fileoverview|overview|description|desc|module|summary)\b\s*")
_OTHER_TAG = re.compile(r"^\s*(?:[@\\][a-zA-Z]|<(?:param|returns|exception|typeparam|inheritdoc)\b|#\s)")
_SENTENCE = re.compile(r"(.+?[.!?])(?:\s|$)", re.DOTALL)
_NO_END = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|resp|approx)\.)$", re.IGNORECASE)
_LEGAL = re.compile(
    r"copyright|\blicen[cs]ed?\b|spdx-|all rights reserved|\(c\)\s+(?:19|20)\d\d|without warranty",
    re.IGNORECASE,
)
_INSTRUCTION = re.compile(
    r"^\W*(?:eslint|jshint|jslint|global|prettier|ts-|@ts-|tslint|istanbul|frozen_string_literal|encoding:|-\*-|"
    r"rubocop|go:|\+build|nolint|clang-format|vim:|region|pragma|resharper|sourcemappingurl|use strict|@flow|"
    r"<reference|usr/bin|!)",
    re.IGNORECASE,
)
_PASSED = re.compile(r"\s*(?:@|#\[|\[|template\b)|\s*$")
"""Lines between a comment and what it describes: decorators, attributes, template heads."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on its own lines, `first` to `last` (from 0)."""

    first: int
    last: int
    text: str


def join_comments(comments: Iterable[Comment]) -> list[Comment]:
    """Return comments in order; `//` or `#` comments on successive lines become one."""
    together: list[Comment] = []
    for comment in sorted(comments, key=lambda item: item.first):
        before = together[-1] if together else None
        block = comment.text.startswith("/*")
        if before and before.last + 1 == comment.first and not block and not before.text.startswith("/*"):
            together[-1] = Comment(before.first, comment.last, before.text + "\n" + comment.text)
        else:
            together.append(comment)
    return together


def first_sentence(comment: str) -> str:
    """Return the first sentence of a comment, without marks and tags; empty without one."""
    lines: list[str] = []
    for line in comment.splitlines():
        bare = _CLOSING.sub("", _OPENING.sub("", line))
        bare = _INLINE_TAG.sub(r"\1", _MARKUP.sub(r"\1", bare)).strip()
        told = _TAG.sub("", bare)
        if _OTHER_TAG.match(told) or (not told and lines):
            break
        if told and re.search(r"\w", told) and not _INSTRUCTION.match(told):
            lines.append(told)
    text = " ".join(lines)
    end = 0
    for found in _SENTENCE.finditer(text):
        end = found.end(1)
        if not _NO_END.search(found[1]):
            break
    return (text[:end] or text)[:LONGEST].strip()


def is_legal(comment: str) -> bool:
    """Return whether a comment is a licence or a copyright notice."""
    return bool(_LEGAL.search(comment))


def doc_before(line: int, ends: Mapping[int, Comment], lines: list[str]) -> str:
    """Return the first sentence of the comment above a line (from 0); attributes between are skipped."""
    above = line - 1
    while above >= 0 and above not in ends and _PASSED.match(lines[above]) and lines[above].strip():
        above -= 1
    comment = ends.get(above)
    return first_sentence(comment.text) if comment and not is_legal(comment.text) else ""


def purpose(comments: list[Comment], first_code: int, described: int) -> str:
    """Return the first sentence of a file's leading comment.

    It is above `first_code`, the line of the first statement, and not directly above `described`, that of the
    first definition (from 0). Licences, instructions to tools and the comment of that definition are skipped.
    """
    for comment in comments:
        if comment.first > first_code:
            return ""
        if is_legal(comment.text) or comment.last + 1 == described:
            continue
        said = first_sentence(comment.text)
        if said.count(" ") >= _FEWEST_SPACES or (" " in said and said.endswith(".")):
            return said
    return ""
