"""Rust."""

import re
from collections.abc import Iterator

from ragmem.domain.code.code import SymbolKind
from ragmem.readers.code.syntax import Import, Namespace, Syntax, read_query

_TOKENS = re.compile(r"[\w:#]+|[{},*]")
_MODULE = re.compile(r"(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)")
_USE = re.compile(r"(pub(?:\([^)]*\))?\s+)?use\s+(.*?);?\s*$", re.DOTALL)
_EXTERN = re.compile(r"(pub(?:\([^)]*\))?\s+)?extern\s+crate\s+(\w+)(?:\s+as\s+(\w+))?")
_TEST = re.compile(r"#\[(?:\w+::)*(?:test|rstest|test_case|bench|proptest)\b")
_OTHER_TARGETS = ("tests", "benches", "examples")
_TEST_FILE = re.compile(r"(?:^|/)tests?/|(?:^|/)tests?\.rs$|_tests?\.rs$")


def _imports(text: str) -> Iterator[Import]:
    if module := _MODULE.match(text):
        yield Import(f"self::{module[1]}", "", module[1])
    elif extern := _EXTERN.search(text):
        yield Import(extern[2], "", extern[3] or extern[2], exported=bool(extern[1]))
    elif use := _USE.match(text):
        for path, local in _used(use[2]):
            module_path, _, member = path.rpartition("::")
            if not module_path:
                yield Import(path, "", local, exported=bool(use[1]))
            else:
                yield Import(module_path, member, local, exported=bool(use[1]))


def _used(text: str) -> Iterator[tuple[str, str]]:
    """Yield the paths of a `use` with their names in the file: `a::{b, c as d}` is `a::b` and `a::c`."""
    prefixes = [""]
    path, alias, naming = "", "", False
    for part in [*_TOKENS.findall(text), ","]:
        if part == "{":
            prefixes.append(prefixes[-1] + path)
            path = ""
        elif part in {",", "}"}:
            if path:
                whole = (prefixes[-1] + path).removesuffix("::self")
                yield whole, "*" if path.endswith("*") else alias or whole.rpartition("::")[2]
            path, alias, naming = "", "", False
            if part == "}" and len(prefixes) > 1:
                prefixes.pop()
        elif part == "as":
            naming = True
        elif naming:
            alias = part
        else:
            path += part


def _namespace(path: str) -> Namespace:
    parts = path.removesuffix(".rs").split("/")
    mark = next((at for at, part in enumerate(parts[:-1]) if part == "src"), -1)
    if mark < 0:
        mark = next((at for at, part in enumerate(parts[:-1]) if part in _OTHER_TARGETS), -1)
        inside = parts[mark:] if mark >= 0 else parts
    else:
        inside = parts[mark + 1 :]
    if inside[-1] == "mod" or inside == ["lib"]:
        inside = inside[:-1]
    crate = parts[mark - 1].replace("-", "_") if mark > 0 else "crate"
    module = "::".join([crate, *inside] if mark >= 0 else inside) or crate
    return Namespace(module, module)


def _is_test(_name: str, kind: SymbolKind, around: str) -> bool:
    return (kind in {SymbolKind.FUNCTION, SymbolKind.METHOD} and bool(_TEST.search(around))) or (
        kind is SymbolKind.MODULE and "cfg(test)" in around
    )


RUST = Syntax(
    "tree_sitter_rust",
    read_query("rust"),
    namespace=_namespace,
    is_test_file=_TEST_FILE.search,
    separator="::",
    member_separator="::",
    is_test=_is_test,
    imports=_imports,
    selves=frozenset({"self", "Self"}),
    supers=frozenset(),
)
