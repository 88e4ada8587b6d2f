"""C and C++."""

import re
from collections.abc import Iterator

from ragmem.domain.code.code import SymbolKind
from ragmem.readers.code.syntax import Import, Syntax, path_namespace, read_query

_POINTED = """
(function_definition (storage_class_specifier)? @storage declarator: {declarator}) @function
"""
_DECLARATORS = (
    "{function}",
    "(pointer_declarator declarator: {function})",
    "(pointer_declarator declarator: (pointer_declarator declarator: {function}))",
)
_REFERENCE = "(reference_declarator {function})"

_COMMON = read_query("c")

_CPP = read_query("cpp")


def _functions(names: str, declarators: tuple[str, ...]) -> str:
    function = f"(function_declarator declarator: {names} @name)"
    return "".join(
        _POINTED.format(declarator=declarator.format(function=function)) for declarator in declarators
    )


_GIVEN = """
(argument_list [(identifier) @callee (pointer_expression argument: (identifier) @callee)] @passed)
(initializer_list (identifier) @callee @passed)
(initializer_pair value: (identifier) @callee @passed)
"""
_C_QUERY = _COMMON + _GIVEN + _functions("(identifier)", _DECLARATORS)
_CPP_NAMES = (
    "[(identifier) (field_identifier) (qualified_identifier) (destructor_name) (operator_name)"
    " (template_function)]"
)
_CPP_QUERY = _COMMON + _CPP + _functions(_CPP_NAMES, (*_DECLARATORS, _REFERENCE))

_INCLUDE = re.compile(r"""#\s*include(?:_next)?\s*(["<])([^">]+)[">]""")
_USING = re.compile(r"using\s+(namespace\s+)?([\w:]+)\s*;")
_CPP_ONLY = re.compile(
    r"^\s*(?:class\s+\w+|namespace\b|template\s*<|using\s+\w|(?:public|private|protected)\s*:)|std::|"
    r"\bvirtual\b|\bconstexpr\b|^#include\s*<(?:string|vector|memory|iostream|map|functional|utility)>",
    re.MULTILINE,
)
_TEST_FILE = re.compile(r"(?:^|/)tests?/|(?:_tests?|^tests?_\w+|/test_\w+|[a-z]Tests?)\.\w+$")
_GUARDED = re.compile(r"#\s*ifdef\s+__cplusplus\b.*?#\s*endif", re.DOTALL)


_KEYWORD_MACRO = re.compile(
    # Without a boundary as its first, which would be tried at each character.
    r"((?:class(?<!\wclass)|struct(?<!\wstruct)|union(?<!\wunion)|enum(?<!\wenum))\s+)"
    r"([A-Z][A-Z0-9_]{2,}(?:\s*\([^()\n]*\))?)(?=\s+[A-Za-z_])"
)
_LEADING_MACRO = re.compile(
    r"^([ \t]*)((?:[A-Z][A-Z0-9_]*_)?(?:EXPORTS?|API|PUBLIC|LOCAL|HIDDEN|VISIBLE|NO_?INLINE|FORCE_?INLINE|"
    r"INLINE|NO_?DISCARD|NORETURN|DEPRECATED|UNUSED|HOST_DEVICE|DEVICE)(?:\s*\([^()\n]*\))?)(?=\s+[A-Za-z_])",
    re.MULTILINE,
)


def _without_macros(text: str) -> str:
    """Blank the export macros of definitions; no grammar can distinguish them from names."""

    def blank(found: re.Match[str]) -> str:
        return found[1] + " " * len(found[2])

    return _LEADING_MACRO.sub(blank, _KEYWORD_MACRO.sub(blank, text))


def is_cpp(text: str) -> bool:
    """Return whether a header that might be C uses syntax of C++."""
    return bool(_CPP_ONLY.search(_GUARDED.sub("", text)))


def _imports(text: str) -> Iterator[Import]:
    if include := _INCLUDE.match(text):
        yield Import(include[2] if include[1] == "<" else f"./{include[2]}", "*", "")
    elif using := _USING.match(text):
        owner, _, name = using[2].rpartition("::")
        yield Import(f"::{using[2]}" if using[1] else f"::{owner}", "*" if using[1] else name, name)


def _is_local(name: str, storage: str) -> bool:
    return storage == "static" or name == "main"


def _is_test(name: str, kind: SymbolKind, _around: str) -> bool:
    return kind is SymbolKind.FUNCTION and name.startswith(("test_", "Test_"))


def _syntax(package: str, query: str) -> Syntax:
    return Syntax(
        package,
        query,
        namespace=path_namespace,
        is_test_file=_TEST_FILE.search,
        separator="::",
        member_separator="::",
        is_test=_is_test,
        is_local=_is_local,
        imports=_imports,
        preprocess=_without_macros,
    )


C = _syntax("tree_sitter_c", _C_QUERY)
CPP = _syntax("tree_sitter_cpp", _CPP_QUERY)
