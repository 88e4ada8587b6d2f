"""Parse Python source, safely with several threads."""

import ast
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# Each further failure needs a garbage collection in another thread at the same moment.
_TRIES = 16


def module_tree(text: str) -> ast.Module:
    """Return the tree of a module; raises the errors of `ast.parse` (SyntaxError, ValueError, ...)."""
    return _parse_twice(lambda: ast.parse(text))


def expression_tree(text: str) -> ast.expr:
    """Return the tree of one expression; raises the errors of `ast.parse`."""
    return _parse_twice(lambda: ast.parse(text, mode="eval").body)


def _parse_twice(parse: Callable[[], T]) -> T:
    """Parse again if another thread disturbed the parser.

    CPython before 3.11.8 and 3.12.2 counts the depth of all threads' trees in one place: a garbage collection
    that lets another thread parse makes one of the two fail with a SystemError although its text is sound
    (github.com/python/cpython/issues/106905).
    """
    for _ in range(_TRIES - 1):
        try:
            return parse()
        except SystemError:
            continue
    return parse()
