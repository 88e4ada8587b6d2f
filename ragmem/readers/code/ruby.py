"""Ruby."""

import re
from collections.abc import Iterator

from ragmem.domain.code.code import SymbolKind
from ragmem.readers.code.syntax import Import, Syntax, path_namespace, read_query

_LOADING = re.compile(r"""(require|require_relative|load)\s*\(?\s*["']([^"'#]+)["']""")
_TEST_FILE = re.compile(r"_(?:spec|test)\.rb$|(?:^|/)test_\w+\.rb$|(?:^|/)(?:spec|test)/")


def _imports(text: str) -> Iterator[Import]:
    if found := _LOADING.match(text):
        relative = found[1] == "require_relative" and not found[2].startswith(".")
        yield Import(f"./{found[2]}" if relative else found[2], "", "")


def _is_test(name: str, kind: SymbolKind, _around: str) -> bool:
    return kind is SymbolKind.METHOD and name.startswith("test_")


RUBY = Syntax(
    "tree_sitter_ruby",
    read_query("ruby"),
    namespace=path_namespace,
    is_test_file=_TEST_FILE.search,
    separator="::",
    member_separator="#",
    is_test=_is_test,
    imports=_imports,
    selves=frozenset({"self"}),
    constructors=frozenset({"new"}),
)
