"""Statistics of a project's code: symbols by kind, frequent imports, references to symbols.

Only for projects whose code was ingested; an older home lacks these tables.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ragmem.domain.code.code import EdgeKind, SymbolKind
from ragmem.storage.code.code import SymbolPlace
from ragmem.storage.sql.database import Database


@dataclass(frozen=True, slots=True)
class ReferenceCount:
    """The number of references to a symbol, and of the files that contain them."""

    references: int
    files: int


def kinds(database: Database, project: str) -> dict[str, int]:
    """Return how many symbols of each kind there are, most first."""
    return dict(
        database.select(
            "SELECT s.kind, count(*) FROM code_symbols s JOIN code_roots r ON r.n = s.root"
            " WHERE r.project = ? GROUP BY s.kind ORDER BY 2 DESC, 1",
            (project,),
        )
    )


def most_imported_files(database: Database, project: str, *, limit: int) -> list[tuple[str, int]]:
    """Return the files that most other files import from, and how many do."""
    return database.select(
        "SELECT f.path, count(DISTINCT e.file) FROM code_roots r JOIN code_edges e ON e.root = r.n"
        " JOIN code_symbols s ON s.root = e.root AND s.qualified = e.target"
        " JOIN code_files f ON f.n = s.file"
        " WHERE r.project = ? AND e.kind = ? AND e.internal = 1 AND s.file <> e.file"
        " GROUP BY f.path ORDER BY 2 DESC, 1 LIMIT ?",
        (project, EdgeKind.IMPORTS.value, limit),
    )


def external_imports(database: Database, project: str) -> dict[str, int]:
    """Return the imports from outside of the project, and how many files have each."""
    return dict(
        database.select(
            "SELECT e.target, count(DISTINCT e.file) FROM code_roots r JOIN code_edges e ON e.root = r.n"
            " WHERE r.project = ? AND e.kind = ? AND e.internal = 0 GROUP BY e.target",
            (project, EdgeKind.IMPORTS.value),
        )
    )


def count_references(database: Database, project: str, qualified: Iterable[str]) -> dict[str, ReferenceCount]:
    """Return the references to symbols that have any; tests count by their calls."""
    found: dict[str, ReferenceCount] = {}
    for name, references, files in database.select_in(
        "SELECT e.target, count(*), count(DISTINCT e.file)"
        " FROM code_roots r JOIN code_edges e ON e.root = r.n"
        " WHERE r.project = ? AND e.kind <> ? AND e.target IN ({})"
        " AND e.source <> e.target GROUP BY e.target",
        dict.fromkeys(qualified),
        project,
        EdgeKind.TESTS.value,
    ):
        found[name] = ReferenceCount(references, files)
    return found


def test_code(database: Database, project: str, places: Iterable[SymbolPlace]) -> set[SymbolPlace]:
    """Return the tests among some symbols, and their helpers: everything in a test module."""
    places = list(places)
    modules: dict[str, list[range]] = {}
    for path, first, last in database.select_in(
        "SELECT f.path, s.line, s.end_line FROM code_roots r JOIN code_files f ON f.root = r.n"
        " JOIN code_symbols s ON s.file = f.n"
        " WHERE r.project = ? AND s.kind = ? AND s.is_test = 1 AND f.path IN ({})",
        dict.fromkeys(one.path for one in places),
        project,
        SymbolKind.MODULE.value,
    ):
        modules.setdefault(path, []).append(range(first, last + 1))
    return {
        one
        for one in places
        if one.symbol.is_test or any(one.symbol.line in lines for lines in modules.get(one.path, ()))
    }


def names(database: Database, project: str) -> list[str]:
    """Return the names of all symbols and the paths of all files."""
    return database.select_column(
        "SELECT DISTINCT s.name FROM code_roots r JOIN code_symbols s ON s.root = r.n"
        " WHERE r.project = ?1 UNION"
        " SELECT f.path FROM code_roots r JOIN code_files f ON f.root = r.n"
        " WHERE r.project = ?1 ORDER BY 1",
        (project,),
    )
