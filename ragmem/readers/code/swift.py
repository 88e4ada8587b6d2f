"""Swift."""

import re
from collections.abc import Iterator

from ragmem.domain.code.code import SymbolKind
from ragmem.readers.code.syntax import Import, Namespace, Syntax, marked_test, read_query

_IMPORT = re.compile(
    r"(?:@\w+\s+)*(?:\w+\s+)?import\s+(?:(?:class|struct|enum|protocol|func|var|let|typealias)\s+(\w+)\.)?(\w+)"
)
_TARGET = re.compile(r"(?:^|/)(?:Sources|Tests(?=/\w+Tests/))/(\w+)/")
_TEST_FILE = re.compile(r"(?:^|/)\w*Tests?/|Tests?\.swift$")


def _imports(text: str) -> Iterator[Import]:
    if found := _IMPORT.match(text):
        yield Import(found[1], found[2], found[2]) if found[1] else Import(found[2], "*", "*")


def _namespace(path: str) -> Namespace:
    """Return the target of Swift's package manager, which is a module; without one all files are of one."""
    target = _TARGET.search(path)
    return Namespace(path, target[1] if target else "")


SWIFT = Syntax(
    "tree_sitter_swift",
    read_query("swift"),
    namespace=_namespace,
    is_test_file=_TEST_FILE.search,
    is_test=marked_test(r"@Test\b", SymbolKind.FUNCTION, SymbolKind.METHOD),
    imports=_imports,
    selves=frozenset({"self", "Self"}),
)
