"""Read the definitions of a file line by line, for languages without a grammar here.

A line defines a name where it begins with modifiers, a keyword such as `class` or `fun`, and the name, or has
the form of a function of a shell, of Haskell's signatures, or of a method behind its visibility.
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath

from ragmem.domain.code.code import ParsedFile, Symbol, SymbolKind
from ragmem.readers.code.comments import Comment, doc_before, join_comments, purpose

_TYPES = (
    "class|interface|struct|enum|trait|object|protocol|record|union|module|defmodule|defprotocol|contract|actor"
    "|extension|newtype|data|type|typealias|message|service|mixin|resource|table|view"
)
_FUNCTIONS = "defp?|defmacrop?|defdelegate|defn-?|func|function|fn|fun|sub|proc|procedure|macro|val|let"
_MODIFIER = (
    r"(?:pub(?:\([\w ]+\))?|public|private|protected|internal|fileprivate|open|final|abstract|static|override"
    r"|sealed|data|case|enum|inline|suspend|operator|infix|tailrec|implicit|lazy|local|export|extern|async|const"
    r"|indirect|mutating|convenience|required|readonly|virtual|value|annotation|inner|create|CREATE|replace|or"
    r"|OR|REPLACE|default|given|transparent|factory|external|expect|actual)\s+"
)
_NAME = r"(?P<name>[A-Za-z_]\w*(?:(?:\.|::|\\|:)[A-Za-z_]\w*)*[!?]?)"
_KEYWORD = re.compile(
    rf"(?P<indent>[ \t]*)\(?(?:@\w+(?:\([^)]*\))?\s+)*(?:{_MODIFIER})*"
    rf"(?P<keyword>{_TYPES}|{_FUNCTIONS}|{_TYPES.upper()}|PROCEDURE|FUNCTION)\s+"
    rf"(?:IF NOT EXISTS\s+)?(?:<[^>]*>\s*)?[\"`]?"
    rf"{_NAME}(?![\w\"']*\s*[=!]=)"
)
_FORMS = (
    re.compile(r"(?P<indent>)(?P<name>[A-Za-z_][\w.:-]*)\s*\(\)\s*(?:\{|$)"),
    re.compile(r"(?P<indent>)(?P<name>[a-z_][\w']*)\s*::\s"),
    re.compile(
        r"(?P<indent>[ \t]*)(?:pub\s+)?(?:const|var)\s+(?P<name>[A-Za-z_]\w*)\s*=\s*"
        r"(?:struct|enum|union|packed|extern|opaque|error)\b"
    ),
    re.compile(r"(?P<indent>[ \t]*)(?:local\s+)?(?P<name>[A-Za-z_][\w.:]*)\s*=\s*function\b"),
    re.compile(
        r"(?P<indent>[ \t]*)(?:(?:public|private|protected|internal|open|static|final|abstract|override)\s+)+"
        r"(?:[\w<>\[\],.? ]+\s)?(?P<name>[A-Za-z_]\w*)\s*\("
    ),
)
_SEPARATOR = re.compile(r"\.|::|\\|:")
_COMMENT = re.compile(r"[ \t]*(?://|/\*|\*|#(?!\[|include|define)|--|;;|%|\")")
_OPENING = re.compile(r"[ \t]*(?:/\*|\{-)")
_CLOSING = re.compile(r"[ \t]*(?:[})\]]|end\b|fi\b|done\b)")
_NO_NAME = frozenset("for of in is if the a an to from with where return function class case do new".split())
_IN_TESTS = re.compile(r"(?:^|/)(?:tests?|spec|__tests__)/|(?:Tests?|Spec|_test|_spec|\.test)\.\w+$|\.bats$")

MOST_DEFINITIONS = 5_000
LONGEST_LINE = 400
"""Characters; a longer line is data."""


def read_lines(path: str, text: str, language: str) -> ParsedFile:
    """Return the definitions of a file, without its references; the module is the path."""
    lines = text.split("\n")
    comments = join_comments(_comments(lines))
    ends = {comment.last: comment for comment in comments}
    is_test = _IN_TESTS.search(path) is not None
    symbols = []
    for number, indent, name, kind in islice(_definitions(lines, ends), MOST_DEFINITIONS):
        doc = doc_before(number, ends, lines)
        last = _end(lines, number, indent)
        symbols.append(Symbol(f"{path}::{name}", name, kind, number + 1, last, doc=doc, is_test=is_test))
    commented = {line for one in comments for line in range(one.first, one.last + 1)}
    first_code = next((n for n, line in enumerate(lines) if line.strip() and n not in commented), 0)
    said = purpose(comments, first_code, symbols[0].line - 1 if symbols else -1)
    own = Symbol(path, PurePosixPath(path).name, SymbolKind.MODULE, 1, len(lines), doc=said, is_test=is_test)
    return ParsedFile(path, language, path, said, (own, *symbols))


def _comments(lines: list[str]) -> Iterator[Comment]:
    inside = -1
    for number, line in enumerate(lines):
        if inside >= 0:
            if "*/" in line or "-}" in line:
                yield Comment(inside, number, "\n".join(lines[inside : number + 1]))
                inside = -1
        elif _OPENING.match(line):
            if "*/" in line or "-}" in line:
                yield Comment(number, number, line)
            else:
                inside = number
        elif _COMMENT.match(line):
            yield Comment(number, number, line)


def _definitions(lines: list[str], ends: dict[int, Comment]) -> Iterator[tuple[int, int, str, SymbolKind]]:
    commented = {line for one in ends.values() for line in range(one.first, one.last + 1)}
    for number, line in enumerate(lines):
        if number in commented or len(line) > LONGEST_LINE or not line.strip():
            continue
        found = _KEYWORD.match(line) or next((one for form in _FORMS if (one := form.match(line))), None)
        if found is None:
            continue
        name = _SEPARATOR.split(found["name"])[-1]
        if name and name.lower() not in _NO_NAME:
            keyword = found.groupdict().get("keyword") or ""
            is_type = re.fullmatch(_TYPES, keyword.lower()) is not None
            kind = SymbolKind.CLASS if is_type else SymbolKind.FUNCTION
            yield number, len(found["indent"].expandtabs(4)), name, kind


def _end(lines: list[str], start: int, indent: int) -> int:
    """Return the last line (from 1) of a definition, by the indentation of what follows."""
    last = start
    for number in range(start + 1, len(lines)):
        line = lines[number].expandtabs(4)
        if not line.strip() or (last == start and line.lstrip().startswith("{")):
            continue
        if len(line) - len(line.lstrip()) <= indent:
            return number + 1 if _CLOSING.match(line) else last + 1
        last = number
    return last + 1
