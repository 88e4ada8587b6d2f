"""C#."""

import re
from collections.abc import Iterator

from ragmem.domain.code.code import SymbolKind
from ragmem.readers.code.syntax import Import, Syntax, marked_test, path_namespace, read_query

_USING = re.compile(r"(?:global\s+)?using\s+(static\s+)?(?:(\w+)\s*=\s*)?([\w.]+)")
_TEST_FILE = re.compile(r"Tests?\.cs$|(?:^|/)tests?/|\.(?:Unit|Integration)?Tests?/")


def _imports(text: str) -> Iterator[Import]:
    if found := _USING.match(text):
        if found[2]:
            module, _, member = found[3].rpartition(".")
            if module:
                yield Import(module, member, found[2])
        else:
            yield Import(found[3], "*", "*")


CSHARP = Syntax(
    "tree_sitter_c_sharp",
    read_query("csharp"),
    namespace=path_namespace,
    is_test_file=_TEST_FILE.search,
    is_test=marked_test(
        r"\[(?:\w+\.)*(?:Fact|Theory|Test|TestCase|TestMethod|DataTestMethod|Property)\b", SymbolKind.METHOD
    ),
    imports=_imports,
    supers=frozenset({"base"}),
)
