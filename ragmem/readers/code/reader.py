"""Read one file of code with the parser of its language."""

import importlib
import posixpath

from ragmem.domain.code.code import ParsedFile, Symbol, SymbolKind
from ragmem.domain.python.modules import module_name
from ragmem.errors import SourceError
from ragmem.readers.code.c import is_cpp
from ragmem.readers.code.languages import LANGUAGES, MANIFESTS, OTHER_LANGUAGES, language_of
from ragmem.readers.code.manifests import read_manifest
from ragmem.readers.code.outline import outline
from ragmem.readers.code.parsing import LONGEST_SECONDS, SlowFileError
from ragmem.readers.code.refusals import refusal
from ragmem.readers.code.syntax import Syntax

_MODULES = {"typescript": "javascript", "cpp": "c"}
"""Languages in the module of another one; each other language has a module of its name."""


def read_code(path: str, text: str, *, language: str | None = None) -> ParsedFile:
    """Return the definitions and references of a file; `path` is relative to the repository, with slashes.

    Never raises for the content of a file: `problem` says what was not read, and only the module of a file
    that is too large, minified or generated is returned. Raises SourceError for an unknown language, and for
    one whose grammar is not installed.
    """
    name = language or language_of(path)
    if name is None or name not in {*LANGUAGES, *OTHER_LANGUAGES}:
        raise SourceError(
            f'"{path}" is in no language that can be read', hint=f"languages: {', '.join(LANGUAGES)}"
        )
    if language is None and posixpath.basename(path) in MANIFESTS:
        return read_manifest(path, text, name)
    if problem := refusal(path, text):
        return unread(path, text, name, problem)
    if name in OTHER_LANGUAGES:
        from ragmem.readers.code.lines import read_lines  # noqa: PLC0415 - loaded for its files only

        return read_lines(path, text, name)
    if name == "python":
        from ragmem.readers.code.python import read_python  # noqa: PLC0415 - loaded for its files only

        return read_python(path, text)
    if name == "c" and path.endswith(".h") and is_cpp(text):
        name = "cpp"
    try:
        return outline(path, text, language=name, syntax=_syntax(name, path))
    except SlowFileError:
        return unread(path, text, name, f"its parser takes more than {LONGEST_SECONDS:.0f} seconds")


def unread(path: str, text: str, language: str, problem: str) -> ParsedFile:
    """Return a file that was not read: its module, and the problem."""
    if language in OTHER_LANGUAGES:
        module = path
    else:
        module = module_name(path) if language == "python" else _syntax(language, path).namespace(path).module
    own = Symbol(module, posixpath.basename(path), SymbolKind.MODULE, 1, text.count("\n") + 1)
    return ParsedFile(path, language, module, "", (own,), problem=problem)


def _syntax(language: str, path: str) -> Syntax:
    module = importlib.import_module(f"ragmem.readers.code.{_MODULES.get(language, language)}")
    found: Syntax = getattr(module, "TSX" if path.endswith(".tsx") else language.upper())
    return found
