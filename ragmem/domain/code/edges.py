"""The edges of a whole project as they are kept: each once, from a symbol of its file, tests told apart."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ragmem.domain.code.code import Edge, EdgeKind, ParsedFile
from ragmem.domain.code.qualified import SEPARATOR

MAX_NAME = 500
"""Characters of a qualified name that is kept: what is longer was generated."""

_COVERS = frozenset({EdgeKind.CALLS, EdgeKind.IMPORTS})


def edges_by_file(
    files: Sequence[ParsedFile], edges: Iterable[Edge], *, tests: Mapping[str, bool] | None = None
) -> Mapping[str, list[Edge]]:
    """Return path -> edges of each file, in order.

    A source that its file does not define, as a lambda, is what it lies in. A target counts as internal only
    where one of the files defines it. From a test to what it calls or imports and what is no test itself
    leads an edge of its own.
    """
    part = tests is not None
    if tests is None:
        tests = {symbol.qualified: symbol.is_test for file in files for symbol in file.symbols}
    defined = {file.path: {symbol.qualified for symbol in file.symbols} for file in files}
    modules = {file.path: file.symbols[0].qualified for file in files if file.symbols}
    found: dict[str, dict[Edge, None]] = {file.path: {} for file in files}
    for edge in edges:
        if edge.path not in modules:
            continue
        source = _defined(edge.source, defined[edge.path]) or modules[edge.path]
        internal = (part or edge.internal) and edge.target in tests
        if max(len(source), len(edge.target)) > MAX_NAME:
            continue
        if source != edge.source or internal != edge.internal:
            edge = replace(edge, source=source, internal=internal)  # noqa: PLW2901 - the same edge, set right
        kept = found[edge.path]
        kept[edge] = None
        if internal and edge.kind in _COVERS and tests[source] and not tests[edge.target]:
            kept[replace(edge, kind=EdgeKind.TESTS)] = None
    return {path: sorted(kept, key=_order) for path, kept in found.items()}


def _defined(name: str, defined: Collection[str]) -> str:
    """Return a name, or the nearest of those that it lies in, that is defined; else an empty one."""
    while name and name not in defined:
        marks = list(SEPARATOR.finditer(name))
        name = name[: marks[-1].start()] if marks else ""
    return name


def _order(edge: Edge) -> tuple[int, str, str, str]:
    return edge.line, edge.source, edge.target, edge.kind
