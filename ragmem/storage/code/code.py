"""The code of projects as a graph: files, symbols, edges and former paths, as the last ingestion left them.

It can be rebuilt from the files with `ragmem ingest --code`, so that an export, a copy to another store
and a salvage leave it out.
"""

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any, Literal

from ragmem.domain.code.code import Edge, EdgeKind, Symbol, SymbolKind
from ragmem.domain.code.qualified_names import parts_of
from ragmem.frozen import dataclass
from ragmem.storage.memories.edits import plain_path
from ragmem.storage.sql.batches import batches, marks
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.migrations import table_exists

MOST_FOUND = 100
"""Symbols or files of one name that `find` returns; a more frequent name is not specific."""

How = Literal["qualified", "path", "name", "suffix", "former path"]

_SYMBOL = "f.path, f.language, s.qualified, s.name, s.kind, s.line, s.end_line, s.doc, s.is_test"
_EDGE = "f.path, e.source, e.target, e.kind, e.line, e.internal"

_DOTTED = "'.' || replace(replace(replace(replace(s.qualified, '::', '.'), '#', '.'), '/', '.'), '\\', '.')"
_ENDS_IN = f"s.name = ? AND substr({_DOTTED}, length({_DOTTED}) - ? + 1) = ?"


@dataclass(frozen=True, slots=True)
class CodeRoot:
    """A project's code: the folder that was read last, and whether it was read completely."""

    project: str
    root: str
    head: str
    complete: bool


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file; `path` is relative to the root, `problem` says why parts were not read."""

    path: str
    language: str
    module: str
    purpose: str
    problem: str
    size: int


@dataclass(frozen=True, slots=True)
class SymbolPlace:
    """A symbol and the file that defines it."""

    path: str
    language: str
    symbol: Symbol


@dataclass(frozen=True, slots=True)
class SymbolMatch:
    """The match of a name: symbols and the files that define them; for a path each file's module."""

    how: How
    paths: tuple[str, ...]
    symbols: tuple[SymbolPlace, ...]


@dataclass(frozen=True, slots=True)
class Rename:
    """A renamed file, the moment in microseconds since 1970, and the commit (empty if unknown)."""

    old: str
    new: str
    revision: str
    renamed_at: int


@dataclass(frozen=True, slots=True)
class CodeCounts:
    """The size of a project's code."""

    files: int
    symbols: int
    edges: int


class Code:
    """The code of projects; empty where none was ingested.

    Results are sorted here and not in SQL, where SQLite would use the index of the order instead of that of
    the condition.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._there = False

    def roots(self) -> list[CodeRoot]:
        """Return the projects whose code was ingested."""
        rows = self._rows("SELECT project, root, head, complete FROM code_roots ORDER BY project")
        return [CodeRoot(project, root, head, bool(complete)) for project, root, head, complete in rows]

    def files(self, project: str) -> list[CodeFile]:
        """Return the files of a project by their paths."""
        rows = self._rows(
            "SELECT f.path, f.language, f.module, f.purpose, f.problem, f.size FROM code_files f"
            " JOIN code_roots r ON r.n = f.root WHERE r.project = ? ORDER BY f.path",
            project,
        )
        return [CodeFile(*row) for row in rows]

    def counts(self, project: str) -> CodeCounts:
        """Return how many files, symbols and edges a project has."""
        number = self._number(project)
        # Each is counted by the index that starts with the root.
        counted = [
            self._rows(f"SELECT count(*) FROM {table} WHERE root = ?", number)
            for table in ("code_files", "code_symbols", "code_edges")
        ]
        return CodeCounts(*(rows[0][0] if rows else 0 for rows in counted))

    def symbols(self, project: str, paths: Iterable[str]) -> list[SymbolPlace]:
        """Return the symbols of files, by file and line."""
        return sorted(self._symbols(project, "f.path", paths), key=lambda one: (one.path, one.symbol.line))

    def symbols_named(self, project: str, qualified: Iterable[str]) -> list[SymbolPlace]:
        """Return the symbols of these qualified names."""
        return sorted(self._symbols(project, "s.qualified", qualified), key=_by_name)

    def symbols_called(self, project: str, names: Iterable[str]) -> list[SymbolPlace]:
        """Return the symbols with these own names, wherever they are defined."""
        return sorted(self._symbols(project, "s.name", names), key=_by_name)

    def paths_called(self, project: str, names: Iterable[str]) -> list[str]:
        """Return the paths of the files with these names, which are without folders."""
        number = self._number(project)
        return sorted(
            path
            for batch in batches(dict.fromkeys(names))
            for (path,) in self._rows(
                f"SELECT path FROM code_files WHERE root = ? AND name IN ({marks(batch)})", number, *batch
            )
        )

    def edges_from(self, project: str, qualified: Iterable[str]) -> list[Edge]:
        """Return the references from these symbols to others, by source and line."""
        return self._edges(project, "source", qualified)

    def edges_to(self, project: str, qualified: Iterable[str]) -> list[Edge]:
        """Return the references to these names, which may be outside of the project."""
        return self._edges(project, "target", qualified)

    def find(self, project: str, name: str) -> SymbolMatch | None:
        """Return the match of a name, None without one.

        A symbol matches by its qualified name, its own name, or the end of its qualified name with any
        separators; a file by its path, the end of its path at a slash, or a former path. The first kind with
        a match decides, and a file's path comes before a bare name.
        """
        number = self._number(project)
        if not number:
            return None
        path = self._inside(number, plain_path(name))
        if found := self._match_symbols(number, "s.qualified = ?", name.strip(), how="qualified"):
            return found
        if files := self._paths(number, path):
            return self._of_files(number, "path", files)
        parts = parts_of(name.strip())
        if len(parts) == 1:
            found = self._match_symbols(number, "s.name = ?", parts[0], how="name")
        elif parts:
            ending = "." + ".".join(parts)
            found = self._match_symbols(number, _ENDS_IN, parts[-1], len(ending), ending, how="suffix")
        if found:
            return found
        current = self.current(project, path)
        if current is not None and (files := self._paths(number, current)):
            return self._of_files(number, "former path", files)
        return None

    def renames(self, project: str) -> list[Rename]:
        """Return all known renames, the latest last."""
        rows = self._rows(
            "SELECT old, new, revision, renamed_at FROM code_renames WHERE root = ?"
            " ORDER BY renamed_at, old, new",
            self._number(project),
        )
        return [Rename(*row) for row in rows]

    def current(self, project: str, path: str) -> str | None:
        """Return the present path of a file, perhaps the same; None for a deleted file.

        If a file became several, the latest rename counts.
        """
        number, seen = self._number(project), set[str]()
        waiting = [plain_path(path)]
        while waiting:
            at = waiting.pop(0)
            if at in seen:
                continue
            seen.add(at)
            if self._rows("SELECT 1 FROM code_files WHERE root = ? AND path = ?", number, at):
                return at
            sql = "SELECT new FROM code_renames WHERE root = ? AND old = ? ORDER BY renamed_at DESC, new"
            waiting += [new for (new,) in self._rows(sql, number, at)]
        return None

    def former(self, project: str, path: str) -> list[str]:
        """Return the former paths of a file, the latest first."""
        number = self._number(project)
        here = plain_path(path)
        found: dict[str, None] = {}
        waiting = [here]
        while waiting:
            sql = "SELECT old FROM code_renames WHERE root = ? AND new = ? ORDER BY renamed_at DESC, old"
            for (old,) in self._rows(sql, number, waiting.pop(0)):
                if old not in found and old != here:
                    found[old] = None
                    waiting.append(old)
        return list(found)

    def _inside(self, number: int, path: str) -> str:
        """Return a path relative to the project's root, if it is below it."""
        [(root,)] = self._rows("SELECT root FROM code_roots WHERE n = ?", number)
        if PurePosixPath(path).is_relative_to(root):
            return PurePosixPath(path).relative_to(root).as_posix()
        return path.rstrip("/")

    def _paths(self, number: int, path: str) -> list[str]:
        """Return the file with this path, otherwise those whose path ends with it."""
        if self._rows("SELECT 1 FROM code_files WHERE root = ? AND path = ?", number, path):
            return [path]
        ending = f"/{path}"
        rows = self._rows(
            "SELECT path FROM code_files WHERE root = ? AND name = ?"
            " AND substr(path, length(path) - ? + 1) = ? LIMIT ?",
            number,
            path.rpartition("/")[2],
            len(ending),
            ending,
            MOST_FOUND,
        )
        return sorted(found for (found,) in rows)

    def _of_files(self, number: int, how: How, paths: Sequence[str]) -> SymbolMatch:
        modules = [
            _symbol_place(row)
            for batch in batches(paths)
            for row in self._rows(
                f"SELECT {_SYMBOL} FROM code_files f JOIN code_symbols s ON s.file = f.n WHERE f.root = ?"
                f" AND f.path IN ({marks(batch)}) AND s.kind = ? ORDER BY f.path, s.n",
                number,
                *batch,
                SymbolKind.MODULE.value,
            )
        ]
        return SymbolMatch(how, tuple(paths), tuple(modules))

    def _match_symbols(self, number: int, condition: str, *values: Any, how: How) -> SymbolMatch | None:
        rows = self._rows(
            f"SELECT {_SYMBOL} FROM code_symbols s JOIN code_files f ON f.n = s.file"
            f" WHERE s.root = ? AND {condition} LIMIT ?",
            number,
            *values,
            MOST_FOUND,
        )
        symbols = tuple(sorted(map(_symbol_place, rows), key=_by_name))
        return (
            SymbolMatch(how, tuple(dict.fromkeys(one.path for one in symbols)), symbols) if symbols else None
        )

    def _symbols(self, project: str, column: str, values: Iterable[str]) -> list[SymbolPlace]:
        number = self._number(project)
        return [
            _symbol_place(row)
            for batch in batches(dict.fromkeys(values))
            for row in self._rows(
                f"SELECT {_SYMBOL} FROM code_symbols s JOIN code_files f ON f.n = s.file"
                f" WHERE {column.partition('.')[0]}.root = ? AND {column} IN ({marks(batch)})",
                number,
                *batch,
            )
        ]

    def _edges(self, project: str, column: str, values: Iterable[str]) -> list[Edge]:
        number = self._number(project)
        found = [
            Edge(path, source, target, EdgeKind(kind), line, bool(internal))
            for batch in batches(dict.fromkeys(values))
            for path, source, target, kind, line, internal in self._rows(
                f"SELECT {_EDGE} FROM code_edges e JOIN code_files f ON f.n = e.file"
                f" WHERE e.root = ? AND e.{column} IN ({marks(batch)})",
                number,
                *batch,
            )
        ]
        return sorted(found, key=lambda one: (one.source, one.line, one.target, one.kind))

    def _number(self, project: str) -> int:
        rows = self._rows("SELECT n FROM code_roots WHERE project = ?", project)
        return int(rows[0][0]) if rows else 0

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        with self._database.read() as connection:
            # A read-only home may be older than these tables.
            self._there = self._there or table_exists(self._database, connection, "code_renames")
            return connection.execute(sql, values).fetchall() if self._there else []


def _by_name(one: SymbolPlace) -> tuple[str, str, int]:
    return one.symbol.qualified, one.path, one.symbol.line


def _symbol_place(row: Sequence[Any]) -> SymbolPlace:
    path, language, qualified, name, kind, line, end_line, doc, is_test = row
    return SymbolPlace(
        path, language, Symbol(qualified, name, SymbolKind(kind), line, end_line, doc, bool(is_test))
    )
