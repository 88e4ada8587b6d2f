"""Code as a graph: files, the symbols that they define, and how these refer to each other.

- symbol: a module, class, interface, function, method or constant that a file defines.
- qualified: a symbol's name within its repository, `package.module.Class.method`; unique per project except
for
  repeated definitions in a file.
- facts: the data of a file from which its references are linked; JSON from its parser.
- edge: a reference of one symbol to another, which may be outside of the repository.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from ragmem.frozen import dataclass


class SymbolKind(StrEnum):
    """The kind of a symbol."""

    MODULE = "module"
    CLASS = "class"
    INTERFACE = "interface"
    FUNCTION = "function"
    METHOD = "method"
    CONSTANT = "constant"


class EdgeKind(StrEnum):
    """The kind of a reference between symbols."""

    # Edges are hashed by the ten thousand, and an enumeration hashes in Python.
    __hash__ = str.__hash__

    CALLS = "calls"
    IMPORTS = "imports"
    INHERITS = "inherits"
    TESTS = "tests"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition on the lines `line` to `end_line`, counted from 1; `doc` is its author's description."""

    qualified: str
    name: str
    kind: SymbolKind
    line: int
    end_line: int
    doc: str = ""
    is_test: bool = False


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """One parsed file: `path` is relative to the repository, with slashes; `purpose` is its description.

    The first symbol is the module. `problem` describes a parse error; the rest may then be incomplete.
    `words` is what `domain.code.words` packs of the text.
    """

    path: str
    language: str
    module: str
    purpose: str
    symbols: tuple[Symbol, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    words: bytes = b""


@dataclass(frozen=True, slots=True)
class Edge:
    """A reference from the symbol `source` to `target` on a line of the source's file.

    Both are qualified names. `internal`: the repository defines the target. Otherwise the target is a public
    name, such as `os.path.join`.
    """

    path: str
    source: str
    target: str
    kind: EdgeKind
    line: int
    internal: bool = True
