"""Python, read by its own parser; statements that it cannot parse are left out."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ragmem.domain.code.code import ParsedFile
from ragmem.domain.python.code import parse_python
from ragmem.errors import SourceError
from ragmem.readers.code.parsing import grammar_module

if TYPE_CHECKING:  # the parser is loaded when a file is read
    from tree_sitter import Node

_MOST_LEFT_OUT = 40
"""Maximum number of statements to leave out; a file with more of them is of another Python version."""
_MOST_CHARACTERS = 2_000_000
"""Characters that are parsed for one file in all attempts."""


def read_python(path: str, text: str) -> ParsedFile:
    """Return the definitions of a file; `problem` names the lines that were left out."""
    try:
        return parse_python(path, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return _skip_errors(path, text.replace("\0", " "), error)


def _skip_errors(path: str, text: str, error: Exception) -> ParsedFile:
    lines = text.split("\n")
    left_out: list[int] = []
    for _ in range(min(_MOST_LEFT_OUT, 1 + _MOST_CHARACTERS // (len(text) + 1))):
        at = getattr(error, "lineno", None)
        if not isinstance(error, SyntaxError) or not at:
            break
        try:
            first, last = _find_statement(lines, min(at, len(lines)) - 1)
        except SourceError as missing:
            problem = f"{_describe_error(error)}; to leave out that statement alone {missing}"
            return replace(parse_python(path, ""), problem=f"{problem}, then ingest --code --rebuild")
        if first in left_out:
            break
        left_out.append(first)
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        lines[first : last + 1] = [f"{indent}pass", *[""] * (last - first)]
        try:
            parsed = parse_python(path, "\n".join(lines))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as further:
            error = further
        else:
            shown = ", ".join(str(line + 1) for line in sorted(left_out)[:5])
            return replace(parsed, problem=f"left out what this Python cannot read, from line {shown}")
    return replace(parse_python(path, ""), problem=_describe_error(error))


def _describe_error(error: Exception) -> str:
    return f"Python cannot read it: {getattr(error, 'msg', None) or error}"


def _find_statement(lines: list[str], line: int) -> tuple[int, int]:
    """Return the first and last line (from 0) of the innermost statement around one.

    Raises SourceError without the extra `code`.
    """
    grammar = grammar_module("tree_sitter_python")
    from tree_sitter import Language, Parser  # noqa: PLC0415 - only files that fail need it

    source = "\n".join(lines).encode("utf-8", "replace")
    column = len(lines[line]) - len(lines[line].lstrip())
    node: Node | None = Parser(Language(grammar.language())).parse(source).root_node
    found = (line, line)
    while node is not None:
        if _is_statement(node):
            found = (node.start_point.row, node.end_point.row - (0 if node.end_point.column else 1))
        node = next(
            (
                child
                for child in node.named_children
                if (child.start_point.row, child.start_point.column) <= (line, column)
                and child.end_point.row >= line
                and (child.end_point.row > line or child.end_point.column > column)
            ),
            None,
        )
    return min(found[0], line), max(found[1], line)


def _is_statement(node: "Node") -> bool:
    return node.type.endswith(("_statement", "_definition")) or node.type == "ERROR"
