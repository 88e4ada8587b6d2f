"""The description of a language for the reader of code: a query of its grammar, and what a query cannot say.

Names of captures, all found by their position in the file:

- `class`, `interface`, `function`, `method`, `constant`, `module`, `test`: a definition, with its `name`.
  `owner` is its type where the definition is outside of that, `static` marks members of the class itself,
  `storage` is the storage class of C, `extended` the type to which Kotlin adds a function.
- `namespace` (with `name`): a prefix of the definitions inside; `package` (with `name`): of the whole file.
- `implementation` (with `owner`): the definitions inside belong to a type that is defined elsewhere.
- `scope`: a function without a name, which has its own variables.
- `base`: a base of the definition around it.
- `call`: a call of `callee`, maybe on a `receiver`; `tokens`: text that is searched for calls.
- `passed`: `callee` is not called but given away; it counts if it is a function.
- `variable`, `field`: a name that hides others of the file, with a `type`, or a `value` that implies one.
- `returns`: the return type of the function around it.
- `mention`: a type that is named, in a language whose files see each other without an import.
- `import`: an import, whose text the language's own function parses.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ragmem.domain.code.code import SymbolKind

QUERIES = Path(__file__).with_name("queries")
"""Queries of tree-sitter, with the names of captures above."""


def read_query(name: str) -> str:
    """Return the query of a language, or the part of one that several languages share."""
    return (QUERIES / f"{name}.scm").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Import:
    """A name that a file imports.

    `member` is empty for the module itself, `*` for all its members. `exported` names can be imported from
    this file in turn.
    """

    module: str
    member: str
    local: str
    exported: bool = False


@dataclass(frozen=True, slots=True)
class Namespace:
    """The qualified name of a file's module, and the prefix of its top-level symbols."""

    module: str
    prefix: str


def path_namespace(path: str) -> Namespace:
    """Return the namespace of a file that is not a module of its language: its symbols have no prefix."""
    return Namespace(path, "")


def marked_test(mark: str, *kinds: SymbolKind) -> Callable[[str, SymbolKind, str], bool]:
    """Return a function for `is_test`: definitions of these kinds with a mark, a pattern, are tests."""
    search = re.compile(mark).search
    return lambda _name, kind, around: kind in kinds and search(around) is not None


@dataclass(frozen=True, slots=True, eq=False)
class Syntax:
    """One language, which is equal to itself alone, so that it is hashed fast.

    `package` is the installed grammar, `entry` its function. `namespace` derives the names from the path, and
    `imports` parses the text of an import. `is_test` judges a definition by its name, its kind and the lines
    from its attributes to its head; `is_local` tells by name and storage whether only its own file sees it.
    """

    package: str
    query: str
    namespace: Callable[[str], Namespace]
    is_test_file: Callable[[str], object]
    imports: Callable[[str], Iterable[Import]]
    entry: str = "language"
    separator: str = "."
    member_separator: str = "."
    member_kinds: tuple[SymbolKind, ...] = (SymbolKind.METHOD,)
    """What `member_separator` joins to its class."""
    is_test: Callable[[str, SymbolKind, str], bool] = lambda *_: False
    is_local: Callable[[str, str], bool] = lambda *_: False
    preprocess: Callable[[str], str] = lambda text: text
    """Makes a text readable for the grammar, without moving any character."""
    selves: frozenset[str] = field(default_factory=lambda: frozenset({"this"}))
    supers: frozenset[str] = field(default_factory=lambda: frozenset({"super"}))
    constructors: frozenset[str] = frozenset()
    """Methods of a class that return an instance of it."""
    loaders: frozenset[str] = frozenset()
    """Calls that return a module, in the form of a type."""
    loads: re.Pattern[str] | None = None
    """Such a call with the name of the module, and the members of it that follow."""
