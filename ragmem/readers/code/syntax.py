"""What a language tells the reader of code: a query of its grammar, and the little that a query cannot say.

Names of captures, all found by their place in the file:

- `class`, `interface`, `function`, `method`, `constant`, `module`, `test`: a definition, with its `name`;
  `owner` is the type that it belongs to where it does not stand inside it, `static` marks what belongs to
  the class itself, `storage` is what C says of it.
- `namespace` (with `name`): what is defined inside takes its name; `package` (with `name`): so does the file.
- `implementation` (with `owner`): what is inside belongs to a type that stands elsewhere.
- `scope`: a function without a name, which has variables of its own.
- `base`: what the definition around it inherits from.
- `call`: a call of `callee`, maybe on a `receiver`; `tokens`: text in which calls are looked for.
- `variable`, `field`: a name that hides others of the file, with a `type` or a `value` that tells one.
- `returns`: the type that the function around it returns.
- `import`: whatever the language's own function reads of it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ragmem.domain.code.code import SymbolKind

if TYPE_CHECKING:  # the parser is loaded when a file is read
    from tree_sitter import Node

    Captures = Mapping[str, Sequence[Node]]


@dataclass(frozen=True, slots=True)
class Import:
    """A name that a file takes from elsewhere.

    `member` is empty where the module itself is named, `*` where all that it has is meant. `exported`: others
    may import it from here in turn.
    """

    module: str
    member: str
    local: str
    exported: bool = False


@dataclass(frozen=True, slots=True)
class Naming:
    """How the symbols of one file are called: the file itself, and what it defines at its top."""

    module: str
    prefix: str


def _no_imports(_captures: "Captures") -> Iterable[Import]:
    return ()


def _no_test(_name: str, _kind: SymbolKind, _around: str) -> bool:
    return False


def _nowhere_local(_name: str, _storage: str) -> bool:
    return False


def _source_text(text: str) -> str:
    return text


def named_by_path(path: str) -> Naming:
    """Return the names of a file that is none in the language: only what it defines has one."""
    return Naming(path, "")


def node_text(node: "Node") -> str:
    """Return the source text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Syntax:
    """One language.

    `package` is the installed grammar, `entry` its function. `naming` makes the names from the path.
    `is_test` judges a definition by its name, its kind and the lines from its attributes to its head;
    `is_local`, by its name and storage, whether other files can see it.
    """

    package: str
    query: str
    naming: Callable[[str], Naming]
    is_test_file: Callable[[str], bool]
    entry: str = "language"
    separator: str = "."
    member_separator: str = "."
    is_test: Callable[[str, SymbolKind, str], bool] = _no_test
    is_local: Callable[[str, str], bool] = _nowhere_local
    prepared: Callable[[str], str] = _source_text
    """Makes a text readable for the grammar; every character stays where it was."""
    imports: Callable[["Captures"], Iterable[Import]] = _no_imports
    selves: frozenset[str] = field(default_factory=lambda: frozenset({"this"}))
    supers: frozenset[str] = field(default_factory=lambda: frozenset({"super"}))
    constructors: frozenset[str] = frozenset()
    """Methods of a class that return one of it."""
    loaders: frozenset[str] = frozenset()
    """Calls, as types are stated, of which the value is a module."""
