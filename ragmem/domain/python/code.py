"""Parse Python source into symbols and facts; docs/code.md describes what is resolved."""

import ast
import re
import warnings
from collections.abc import Sequence

from ragmem.domain.code.code import ParsedFile, Symbol, SymbolKind
from ragmem.domain.python.annotations import last_name
from ragmem.domain.python.links import link_python
from ragmem.domain.python.modules import module_name
from ragmem.domain.python.statements import facts_of
from ragmem.domain.text.python_syntax import module_tree

__all__ = ["link_python", "parse_python"]

PURPOSE_CHARS = 200
"""Maximum characters of a purpose or doc."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_CONSTANT = re.compile(r"_{0,2}[A-Z][A-Z0-9_]*")
_COMMENT = re.compile(r"#+!?\s?(.*)")
_NO_PURPOSE = re.compile(
    r"(?i)^(#!|-\*-|.*coding[:=]|copyright|licen[cs]e|spdx|\(c\)|all rights|pylint|flake8|ruff|mypy|type:"
    r"|noqa)"
)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def parse_python(path: str, text: str) -> ParsedFile:
    """Return the definitions of a Python file and its facts for linking; nothing is executed or imported.

    `path` is relative to the repository. Raises SyntaxError for a text that this interpreter cannot parse,
    ValueError for one that cannot be encoded or is nested too deeply.
    """
    try:
        with warnings.catch_warnings():
            # Warnings about escapes and literals concern the author, not us.
            warnings.simplefilter("ignore")
            tree = module_tree(text)
        facts = facts_of(tree)
        module = module_name(path)
        found = symbols(tree, module, text, in_test=is_test_path(path))
    except (RecursionError, MemoryError):
        raise ValueError(f"{path!r} is nested too deeply to be read") from None
    return ParsedFile(path, "python", module, purpose(tree, text, found), tuple(found), facts)


def is_test_path(path: str) -> bool:
    """Return whether a file contains tests, by the conventions of pytest and unittest."""
    *folders, name = path.split("/")
    return (
        name.startswith("test_")
        or name.removesuffix(".py").endswith("_test")
        or name in {"conftest.py", "tests.py"}
        or bool({"tests", "test"}.intersection(folders))
    )


def shorten(text: str) -> str:
    """Return text on one line, cut between words."""
    line = " ".join(text.split())
    if len(line) <= PURPOSE_CHARS:
        return line
    return line[:PURPOSE_CHARS].rsplit(" ", 1)[0].rstrip(",;:") + " ..."


def first_sentence(text: str | None) -> str:
    """Return the first sentence of a docstring's first paragraph."""
    paragraph = (text or "").strip().split("\n\n", 1)[0]
    return shorten(_SENTENCE_END.split(" ".join(paragraph.split()), maxsplit=1)[0])


def symbols(tree: ast.Module, module: str, text: str, *, in_test: bool) -> list[Symbol]:
    """Return the module, then its classes, functions, methods and constants in order."""
    lines = text.count("\n") + (not text.endswith("\n"))
    found = [
        Symbol(
            module,
            module.rpartition(".")[2],
            SymbolKind.MODULE,
            1,
            max(lines, 1),
            first_sentence(ast.get_docstring(tree)),
            is_test=in_test,
        )
    ]
    _collect(tree.body, module, None, found, in_test=in_test)
    return found


def _collect(
    body: Sequence[ast.stmt],
    prefix: str,
    owner: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | None,
    found: list[Symbol],
    *,
    in_test: bool,
) -> None:
    for one in body:
        if isinstance(one, _DEFINITIONS):
            found.append(_definition(one, prefix, owner, in_test=in_test))
            inner = in_test and (not isinstance(one, ast.ClassDef) or found[-1].is_test)
            _collect(one.body, f"{prefix}.{one.name}", one, found, in_test=inner)
        elif isinstance(one, ast.Assign | ast.AnnAssign):
            if not isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef):
                _constants(one, prefix, found)
        else:
            for name in ("body", "handlers", "orelse", "finalbody", "cases"):
                for part in getattr(one, name, ()):
                    nested = [part] if isinstance(part, ast.stmt) else part.body
                    _collect(nested, prefix, owner, found, in_test=in_test)


def _definition(
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
    prefix: str,
    owner: ast.AST | None,
    *,
    in_test: bool,
) -> Symbol:
    bases = [last_name(one) for one in node.bases] if isinstance(node, ast.ClassDef) else []
    if isinstance(node, ast.ClassDef):
        kind = SymbolKind.INTERFACE if "Protocol" in bases else SymbolKind.CLASS
        is_test = (in_test and node.name.startswith("Test")) or any(one.endswith("TestCase") for one in bases)
    else:
        kind = SymbolKind.METHOD if isinstance(owner, ast.ClassDef) else SymbolKind.FUNCTION
        owners = owner.bases if isinstance(owner, ast.ClassDef) else ()
        in_test = in_test or any(last_name(one).endswith("TestCase") for one in owners)
        is_test = in_test and node.name.startswith("test")
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return Symbol(
        f"{prefix}.{node.name}",
        node.name,
        kind,
        first,
        node.end_lineno or node.lineno,
        first_sentence(ast.get_docstring(node)),
        is_test=is_test,
    )


def _constants(node: ast.Assign | ast.AnnAssign, prefix: str, found: list[Symbol]) -> None:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [one.id for one in targets if isinstance(one, ast.Name) and _CONSTANT.fullmatch(one.id)]
    last = node.end_lineno or node.lineno
    known = {one.qualified for one in found}
    found += [
        Symbol(f"{prefix}.{name}", name, SymbolKind.CONSTANT, node.lineno, last)
        for name in names
        if f"{prefix}.{name}" not in known
    ]


def purpose(tree: ast.Module, text: str, found: Sequence[Symbol]) -> str:
    """Return the purpose of a file: its docstring, else its first comment, else its definitions."""
    docstring = (ast.get_docstring(tree) or "").strip().split("\n\n", 1)[0]
    return shorten(docstring) or _header_comment(text) or _definition_names(found)


def _header_comment(text: str) -> str:
    """Return the first comment before any code that is not a licence."""
    said: list[str] = []
    for line in text.split("\n", 40)[:40]:
        bare = line.strip()
        match = _COMMENT.fullmatch(bare)
        if match is None:
            if said or bare:
                break
            continue
        if not match[1].strip() or bare.startswith("#!") or _NO_PURPOSE.match(match[1].strip()):
            if said:
                break
            continue
        said.append(match[1].strip())
    return shorten(" ".join(said))


def _definition_names(found: Sequence[Symbol]) -> str:
    top = [one for one in found[1:] if one.qualified == f"{found[0].qualified}.{one.name}"]
    words: list[str] = []
    for kinds, one_word, many_word in (
        ({SymbolKind.CLASS, SymbolKind.INTERFACE}, "class", "classes"),
        ({SymbolKind.FUNCTION}, "function", "functions"),
        ({SymbolKind.CONSTANT}, "constant", "constants"),
    ):
        names = list(dict.fromkeys(one.name for one in top if one.kind in kinds))
        if len(names) == 1:
            words.append(f"{one_word} {names[0]}")
        elif names:
            shown = f" ({', '.join(names[:5])})" if len(names) <= 5 else ""
            words.append(f"{len(names)} {many_word}{shown}")
    return shorten(f"defines {' and '.join(words)}") if words else ""
