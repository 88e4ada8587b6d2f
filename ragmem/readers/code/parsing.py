"""Parse a text by the grammar of its language, and find the matches of the language's query."""

import functools
import importlib
import itertools
import time
from dataclasses import dataclass
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

from ragmem.errors import SourceError
from ragmem.readers.code.syntax import Syntax

if TYPE_CHECKING:  # the parser is loaded when a file is read
    from tree_sitter import Language, Node, Parser, Query, Tree

    Captures = dict[str, list[Node]]

EXTRA = "pip install 'ragmem[code]'"
"""Installs tree-sitter and its grammars, which every language but Python needs."""

LONGEST_SECONDS = 5.0
"""CPU time; the largest files that people write take a fifth of this."""
_PIECE = 4_096
"""Bytes that the parser takes at once; no text of one piece is slow."""
_STEPS = 16
"""Steps of the parser between two looks at the clock, which is slow; it takes 10,000 a second or more."""
_ERRORS = "(ERROR) @error (MISSING) @error"
_MOST_MATCHES = 128
"""Matches that the query keeps open at once; its time grows with their square."""


class SlowFileError(Exception):
    """A file takes too long to parse; no file that a person writes does."""


@dataclass(frozen=True, slots=True)
class ParseResult:
    """The matches of the query in a text, as captures by name.

    `first_code` is the line (from 0) of the first statement; `tree` keeps the nodes alive.
    """

    tree: "Tree"
    matches: "list[Captures]"
    first_code: int
    problem: str


def has_parser() -> bool:
    """Return whether tree-sitter is installed."""
    return find_spec("tree_sitter") is not None


def grammar_module(package: str) -> ModuleType:
    """Import a grammar; raises SourceError where it or tree-sitter is not installed."""
    try:
        importlib.import_module("tree_sitter")
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise SourceError(f"it needs {error.name}, which is not installed: {EXTRA}") from error


@functools.lru_cache(maxsize=16)
def _load_grammar(package: str, entry: str, query: str) -> "tuple[Language, Query]":
    module = grammar_module(package)
    from tree_sitter import Language, Query  # noqa: PLC0415 - a question must not pay for it

    language = Language(getattr(module, entry)())
    return language, Query(language, query + _ERRORS)


def parse_code(source: bytes, syntax: Syntax) -> ParseResult:
    """Parse a text; `problem` names the lines that do not follow the grammar.

    Raises SlowFileError for a text that takes longer than LONGEST_SECONDS, SourceError without the extra
    `code`.
    """
    grammar, query = _load_grammar(syntax.package, syntax.entry, syntax.query)
    from tree_sitter import Parser, QueryCursor  # noqa: PLC0415 - a question must not pay for it

    tree = _parse(Parser(grammar), source)
    cursor = QueryCursor(query, match_limit=_MOST_MATCHES)
    matches = [found for _, found in cursor.matches(tree.root_node)]
    problem = _first_error(matches) if tree.root_node.has_error else ""
    first_code = next(
        (
            node.start_point.row
            for node in tree.root_node.named_children
            if "comment" not in node.type and node.type != "php_tag"
        ),
        0,
    )
    return ParseResult(tree, matches, first_code, problem)


def _parse(parser: "Parser", source: bytes) -> "Tree":
    """Return the tree of a text; raises SlowFileError for one that takes the parser too long.

    Only a parser that reads its text piece by piece can be stopped. (py-tree-sitter before 0.26.1 crashes.)
    """
    if len(source) < _PIECE:
        return parser.parse(source)
    until = time.thread_time() + LONGEST_SECONDS
    steps = itertools.count(1)
    try:
        return parser.parse(
            lambda offset, _: source[offset : offset + _PIECE],
            progress_callback=lambda *_: not next(steps) % _STEPS and time.thread_time() > until,
        )
    except ValueError:
        parser.reset()
        raise SlowFileError from None


def _first_error(matches: "list[Captures]") -> str:
    lines = {node.start_point.row + 1 for captures in matches for node in captures.get("error", ())}
    more = f", and {len(lines) - 1} more" if len(lines) > 1 else ""
    return f"line {min(lines, default=1)} does not follow the grammar{more}"
