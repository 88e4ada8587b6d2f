"""Normalize the edges of a project: each once, from a symbol of its file, with tests marked."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from ragmem.domain.code.code import Edge, EdgeKind, ParsedFile
from ragmem.domain.code.qualified_names import SEPARATOR

MAX_NAME = 500
"""Longest qualified name in characters; longer names are generated code."""

_COVERS = frozenset({EdgeKind.CALLS, EdgeKind.IMPORTS})


def edges_by_file(
    files: Sequence[ParsedFile], edges: Iterable[Edge], *, tests: Mapping[str, bool] | None = None
) -> Mapping[str, list[Edge]]:
    """Return path -> sorted edges of each file.

    If a file does not define a source, such as a lambda, the enclosing symbol takes its place. A target is
    internal only if one of the files defines it. A test gets its own edge to each symbol outside of tests
    that it calls or imports.
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
        source = _nearest_definition(edge.source, defined[edge.path]) or modules[edge.path]
        internal = (part or edge.internal) and edge.target in tests
        if max(len(source), len(edge.target)) > MAX_NAME:
            continue
        if source != edge.source or internal != edge.internal:
            edge = Edge(edge.path, source, edge.target, edge.kind, edge.line, internal)  # noqa: PLW2901 - corrected
        kept = found[edge.path]
        kept[edge] = None
        if internal and edge.kind in _COVERS and tests[source] and not tests[edge.target]:
            kept[Edge(edge.path, source, edge.target, EdgeKind.TESTS, edge.line, internal)] = None
    return {path: sorted(kept, key=_order) for path, kept in found.items()}


def _nearest_definition(name: str, defined: Collection[str]) -> str:
    """Return a name or its nearest enclosing name that is defined; "" if there is none."""
    while name and name not in defined:
        marks = list(SEPARATOR.finditer(name))
        name = name[: marks[-1].start()] if marks else ""
    return name


def _order(edge: Edge) -> tuple[int, str, str, str]:
    return edge.line, edge.source, edge.target, edge.kind
