"""JavaScript and TypeScript."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from ragmem.readers.code.expressions import loaded_name
from ragmem.readers.code.syntax import Import, Namespace, Syntax, read_query

_COMMON = read_query("ecma")
_JSX = read_query("jsx")
_JAVASCRIPT = _COMMON + _JSX + read_query("javascript")
_TYPESCRIPT = _COMMON + read_query("typescript")

_SOURCE = re.compile(r"""(?:\bfrom|\brequire\s*\(|\bimport\s*\(?)\s*["']([^"']+)["']""")
_DEFAULT = re.compile(r"import\s+(?:type\s+)?([\w$]+)\s*(?:,|from|=)")
_ALL = re.compile(r"\*\s*as\s+([\w$]+)")
_NAMED = re.compile(r"\{([^}]*)\}")
_REQUIRED = re.compile(r"\s*([\w$]+)\s*=\s*(?:require|await\s+import)\b")
_LOADED = r"""(?:require|import)\s*\(\s*["']([^"']+)["']\s*\)"""
_LOADS = re.compile(rf"\(?\s*(?:await\s+)?{_LOADED}\s*\)?((?:\??\.[\w$]+)*)")
_MEMBER = re.compile(
    r"(?:(module\.exports\s*=|\.\.\.)|(?:(?:module\.)?exports\.(?=[\w$]+\s*=)|(?=[\w$]+\s*:))([\w$]+)\s*[:=])\s*"
    rf"(?:{_LOADED}(?:\s*\.\s*([\w$]+))?|([\w$]+))|([\w$]+)"
)
"""A member of `module.exports`, or all of it: what is loaded from a module, or a name of the file."""
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


def _members(found: re.Match[str]) -> Iterator[Import]:
    """Yield what CommonJS exports by one member of `module.exports`, or by an assignment to it."""
    whole, name, module, part, own, short = found.groups()
    if not module:
        yield Import("", own or short, name or short or "default", exported=True)
    elif not whole:
        yield Import(module, part or "", name, exported=True)
    else:
        if not part:
            yield Import(module, "*", "*", exported=True)
        if whole != "...":
            yield Import(module, part or "default", "default", exported=True)


def _imports(text: str) -> Iterator[Import]:
    if member := _MEMBER.fullmatch(text):
        yield from _members(member)
    elif default := _EXPORTED.match(text):
        if default[1] not in _NAMELESS:
            yield Import("", default[1], "default", exported=True)
    elif source := _SOURCE.search(text):
        yield from _loaded(text, source)
    elif text.startswith("export"):  # export { a as b }: names of the file's own
        yield from (Import("", name, local, exported=True) for name, local in _items(text))


def _loaded(text: str, source: re.Match[str]) -> Iterator[Import]:
    """Yield what a statement takes from the module that `source` matches."""
    exported, module = text.startswith("export"), source[1]
    yield Import(module, "", loaded_name(module) if "(" in source[0] else "")
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
        loads=_LOADS,
    )


JAVASCRIPT = _syntax("tree_sitter_javascript", "language", _JAVASCRIPT)
TYPESCRIPT = _syntax("tree_sitter_typescript", "language_typescript", _TYPESCRIPT)
TSX = _syntax("tree_sitter_typescript", "language_tsx", _TYPESCRIPT + _JSX)
