"""Java."""

import re
from collections.abc import Iterator

from ragmem.domain.code.code import SymbolKind
from ragmem.readers.code.syntax import Import, Syntax, marked_test, path_namespace, read_query

_IMPORT = re.compile(r"import\s+(static\s+)?([\w.]+?)(?:\.(\*))?\s*;")
_TEST_FILE = re.compile(r"(?:^|/)src/\w*[tT]est\w*/|(?:Tests?|IT|TestCase)\.java$")


def _imports(text: str) -> Iterator[Import]:
    if found := _IMPORT.match(text):
        if found[3]:
            yield Import(found[2], "*", "*")
        else:
            module, _, member = found[2].rpartition(".")
            yield Import(module, member, member)


JAVA = Syntax(
    "tree_sitter_java",
    read_query("java"),
    namespace=path_namespace,
    is_test_file=_TEST_FILE.search,
    is_test=marked_test(
        r"@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b", SymbolKind.METHOD
    ),
    imports=_imports,
)
