"""JavaScript and TypeScript."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from ragmem.readers.code.syntax import Import, Namespace, Syntax, read_query

_COMMON = read_query("ecma")
_JSX = read_query("jsx")
_JAVASCRIPT = _COMMON + _JSX + read_query("javascript")
_TYPESCRIPT = _COMMON + read_query("typescript")

_SOURCE = re.compile(r"""(?:\bfrom|\brequire\s*\(|\bimport\s*\(?)\s*["']([^"']+)["']""")
_DEFAULT = re.compile(r"import\s+(?:type\s+)?([\w$]+)\s*(?:,|from|=)")
_ALL = re.compile(r"\*\s*as\s+([\w$]+)")
_NAMED = re.compile(r"\{([^}]*)\}")
_REQUIRED = re.compile(r"\s*([\w$]+)\s*=\s*require")
_PART = re.compile(r"""\s*\)\s*\??\.\s*([\w$]+)\s*$""")
_ITEM = re.compile(r"(?:type\s+)?([\w$]+)(?:\s*(?:as|:)\s*([\w$]+))?")
_EXPORTED = re.compile(
    r"(?:export\s+default\s+(?:(?:async|abstract)\s+)*(?:function\b\s*\*?|class\b)?"
    r"|module\.exports\s*=\s*(?:class\b|function\b\s*\*?)?)\s*([\w$]+)"
)
_NAMELESS = {"extends", "new", "await", "async"}
_ENDING = re.compile(r"(?:\.d)?\.(?:[cm]?[jt]s|[jt]sx)$")
_TESTING = re.compile(r"(?:[._-](?:test|spec|e2e|cy)\.[cm]?[jt]sx?$)|(?:^|/)(?:__tests__|__mocks__|cypress)/")
_TEST_FOLDER = re.compile(r"(?:^|/)(?:tests?|spec|e2e)/")


def _imports(text: str) -> Iterator[Import]:
    if default := _EXPORTED.match(text):
        if default[1] not in _NAMELESS:
            yield Import("", default[1], "default", exported=True)
        return
    source = _SOURCE.search(text)
    exported = text.startswith("export")
    if source is None:
        if exported:  # export { a as b }: names of the file's own
            yield from (Import("", name, local, exported=True) for name, local in _items(text))
        return
    module = source[1]
    yield Import(module, "", "")
    head = text[: source.start()]
    if exported and "{" not in head:
        named = _ALL.search(head)
        yield Import(module, "" if named else "*", named[1] if named else "*", exported=True)
    part = _PART.match(text, source.end())
    # After a part of the module, the names are those of that part.
    for name, local in () if part else _items(head):
        yield Import(module, name, local, exported=exported)
    if not exported and (default := _DEFAULT.match(text)):
        yield Import(module, "" if "require" in text else "default", default[1])
    if not exported and (named := _ALL.search(head)):
        yield Import(module, "", named[1])
    if required := _REQUIRED.match(text):
        yield Import(module, part[1] if part else "", required[1])


def _items(text: str) -> Iterator[tuple[str, str]]:
    if braces := _NAMED.search(text):
        for part in braces[1].split(","):
            if item := _ITEM.match(part.strip()):
                yield item[1], item[2] or item[1]


def _namespace(path: str) -> Namespace:
    module = _ENDING.sub("", path)
    return Namespace(module, module)


def _is_test_file(path: str) -> bool:
    return bool(_TESTING.search(path) or _TEST_FOLDER.search(str(PurePosixPath(path).parent) + "/"))


def _syntax(package: str, entry: str, query: str) -> Syntax:
    return Syntax(
        package,
        query,
        namespace=_namespace,
        is_test_file=_is_test_file,
        entry=entry,
        imports=_imports,
        loaders=frozenset({"require()", "import()"}),
    )


JAVASCRIPT = _syntax("tree_sitter_javascript", "language", _JAVASCRIPT)
TYPESCRIPT = _syntax("tree_sitter_typescript", "language_typescript", _TYPESCRIPT)
TSX = _syntax("tree_sitter_typescript", "language_tsx", _TYPESCRIPT + _JSX)
