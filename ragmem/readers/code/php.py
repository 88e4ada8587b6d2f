"""PHP."""

import re
from collections.abc import Iterator

from ragmem.domain.code.code import SymbolKind
from ragmem.readers.code.syntax import Import, Syntax, marked_test, path_namespace, read_query

_USE = re.compile(r"use\s+(?:(?:function|const)\s+)?([^{;]*)(?:\{([^}]*)\})?")
_ITEM = re.compile(r"\s*(?:(?:function|const)\s+)?\\?([\w\\]+)(?:\s+as\s+(\w+))?", re.IGNORECASE)
_LOADED = re.compile(r"""(?:require|include)(?:_once)?\b.*["']/?([^"'$]+\.php)["']""", re.DOTALL)
_TEST_FILE = re.compile(r"(?:Test|TestCase|Cest|Spec)\.php$|(?:^|/)(?:[Tt]ests?|spec)/")


def _imports(text: str) -> Iterator[Import]:
    if loaded := _LOADED.match(text):
        yield Import(f"./{loaded[1]}", "", "")
    elif use := _USE.match(text):
        prefix = use[1].strip() if use[2] else ""
        for part in (use[2] or use[1]).split(","):
            if item := _ITEM.match(prefix + part.strip()):
                module, _, member = item[1].rpartition("\\")
                yield Import(module or member, member if module else "", item[2] or member)


PHP = Syntax(
    "tree_sitter_php",
    read_query("php"),
    namespace=path_namespace,
    is_test_file=_TEST_FILE.search,
    entry="language_php",
    separator="\\",
    member_separator="::",
    member_kinds=(SymbolKind.METHOD, SymbolKind.CONSTANT),
    is_test=marked_test(r"#\[Test\]", SymbolKind.METHOD),
    imports=_imports,
    selves=frozenset({"$this", "self", "static"}),
    supers=frozenset({"parent"}),
)
