"""Write a project's code: each file's rows are replaced together, and no run overwrites another's."""

import hashlib
import re
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import orjson

from ragmem.domain.code.code import Edge, EdgeKind, ParsedFile, Symbol, SymbolKind
from ragmem.domain.code.edges import MAX_NAME
from ragmem.errors import StoreBusyError
from ragmem.storage.code.code import Rename
from ragmem.storage.sql.batches import batches, marks
from ragmem.storage.sql.database import Connection, Database

_REFERRED = (
    "SELECT DISTINCT s.file FROM code_edges e"
    " JOIN code_symbols s ON s.root = e.root AND s.qualified = e.target WHERE e.internal = 1 AND e.file IN"
)
_REFERRING = (
    "SELECT DISTINCT e.file FROM code_symbols s"
    " JOIN code_edges e ON e.root = s.root AND e.target = s.qualified WHERE s.file IN"
)

ROWS_AT_ONCE = 10_000
"""Symbols and edges that one transaction replaces, so that other writers wait for a fraction of a second."""

_COMPRESSION = 1
"""Level of zlib: higher ones take several times as long and save a tenth."""


class FileNeighbours:
    """The files of one project, by the number of its root, and the references between them."""

    def __init__(self, database: Database, root: int) -> None:
        self._database = database
        self._root = root

    def definitions(self, paths: Iterable[str]) -> set[tuple[str, str]]:
        """Return qualified name and kind of all that files define."""
        return {
            (name, kind)
            for name, kind in self._database.select_in(
                "SELECT s.qualified, s.kind FROM code_files f JOIN code_symbols s ON s.file = f.n"
                " WHERE f.root = ? AND f.path IN ({})",
                paths,
                self._root,
            )
        }

    def bases(self, paths: Iterable[str]) -> set[tuple[str, str]]:
        """Return the (class, base class) pairs of these files."""
        return {
            (source, target)
            for source, target in self._database.select_in(
                "SELECT e.source, e.target FROM code_files f JOIN code_edges e ON e.file = f.n"
                " WHERE f.root = ? AND e.kind = ? AND f.path IN ({})",
                paths,
                self._root,
                EdgeKind.INHERITS.value,
            )
        }

    def tests(self) -> dict[str, bool]:
        """Return all qualified names, and whether each is a test."""
        rows = self._database.select(
            "SELECT qualified, is_test FROM code_symbols WHERE root = ?", (self._root,)
        )
        return {name: bool(is_test) for name, is_test in rows}

    def files_referring(self, names: Iterable[str]) -> set[str]:
        """Return the files that refer to any of these names, defined or not."""
        return {
            path
            for (path,) in self._database.select_in(
                "SELECT DISTINCT f.path FROM code_edges e JOIN code_files f ON f.n = e.file"
                " WHERE e.root = ? AND e.target IN ({})",
                names,
                self._root,
            )
        }

    def files_with_words(self, paths: Iterable[str], words: Iterable[str]) -> set[str]:
        """Return those of the files whose facts have any of these words, alone or after a dot."""
        wanted = b"|".join(re.escape(word.encode()) for word in words)
        told = re.compile(b'[".](?:' + wanted + b')"')
        return {
            path
            for path, data in self._database.select_in(
                "SELECT f.path, d.data FROM code_files f JOIN code_facts d ON d.file = f.n"
                " WHERE f.root = ? AND f.path IN ({})",
                paths if wanted else (),
                self._root,
            )
            if told.search(zlib.decompress(data))
        }

    def files_defining(self, names: Iterable[str]) -> set[str]:
        """Return the files that define any of these names."""
        return {
            path
            for (path,) in self._database.select_in(
                "SELECT DISTINCT f.path FROM code_symbols s JOIN code_files f ON f.n = s.file"
                " WHERE s.root = ? AND s.qualified IN ({})",
                names,
                self._root,
            )
        }

    def around(self, paths: Sequence[str], *, most: int) -> list[str]:
        """Return files with their neighbours in both directions, up to `most`, and further references.

        From the second step on only referenced files are added: other users of a file matter little.
        """
        numbers = dict.fromkeys(self._numbers(paths))
        edge = list(numbers)
        statements: tuple[str, ...] = (_REFERRED, _REFERRING)
        while edge and len(numbers) < most:
            found: dict[int, None] = {}
            for batch in batches(edge):
                for statement in statements:
                    rows = self._database.select_in(f"{statement} ({{}})", batch)
                    found.update(dict.fromkeys(sorted(number for (number,) in rows)))
            edge = [number for number in found if number not in numbers][: most - len(numbers)]
            numbers.update(dict.fromkeys(edge))
            statements = (_REFERRED,)
        return [
            path
            for (path,) in self._database.select_in("SELECT path FROM code_files WHERE n IN ({})", numbers)
        ]

    def _numbers(self, paths: Iterable[str]) -> list[int]:
        return [
            number
            for (number,) in self._database.select_in(
                "SELECT n FROM code_files WHERE root = ? AND path IN ({}) ORDER BY n",
                paths,
                self._root,
            )
        ]


@dataclass(frozen=True, slots=True)
class FileState:
    """A file when it was read; `links` is a hash of its edges."""

    content_hash: str
    size: int
    modified_ns: int
    links: str = ""


@dataclass(frozen=True, slots=True)
class RootState:
    """The stored state of a project, and the run that wrote it; another one may have written since."""

    number: int = 0
    root: str = ""
    head: str = ""
    rules: str = ""
    run: str = ""
    complete: bool = False


@dataclass(frozen=True, slots=True)
class FileRows:
    """The new rows of one file; `edges` or `parsed` is None where the present ones stay."""

    path: str
    seen: FileState
    edges: Sequence[Edge] | None = None
    parsed: ParsedFile | None = None

    @property
    def rows(self) -> int:
        """The approximate number of rows."""
        return 1 + len(self.edges or ()) + (len(self.parsed.symbols) if self.parsed else 0)


class OvertakenError(StoreBusyError):
    """Another run has written the code of the same project meanwhile."""


def links_of(edges: Iterable[Edge]) -> str:
    """Return a hash of the edges of one file."""
    rows = sorted((e.source, e.target, e.kind.value, e.line, e.internal) for e in edges)
    return hashlib.sha256(orjson.dumps(rows)).hexdigest()[:32]


class CodeWriter:
    """Reads and updates the code of one project."""

    def __init__(self, database: Database, project: str) -> None:
        self._database = database
        self._project = project

    def state(self) -> RootState:
        """Return the stored state."""
        with self._database.read() as connection:
            return self._read_state(connection)

    def seen(self, standing: RootState) -> dict[str, FileState]:
        """Return path -> file, with its state when it was read."""
        return {
            path: FileState(*row)
            for path, *row in self._database.select(
                "SELECT path, content_hash, size, modified_ns, links FROM code_files WHERE root = ?",
                (standing.number,),
            )
        }

    def neighbours(self, standing: RootState) -> FileNeighbours:
        """Return the references between the files."""
        return FileNeighbours(self._database, standing.number)

    def parsed_files(self, standing: RootState, *, wanted: Callable[[str], bool]) -> Iterator[ParsedFile]:
        """Yield the parsed files whose paths are wanted, without their descriptions."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT n, path, language, module FROM code_files WHERE root = ? ORDER BY path",
                (standing.number,),
            ).fetchall()
            for batch in batches(row for row in rows if wanted(row[1])):
                numbers = [number for number, *_ in batch]
                symbols: dict[int, list[Symbol]] = {}
                for number, qualified, name, kind, line, end_line, is_test in connection.execute(
                    "SELECT file, qualified, name, kind, line, end_line, is_test FROM code_symbols"
                    f" WHERE file IN ({marks(numbers)}) ORDER BY file, n",
                    numbers,
                ):
                    symbols.setdefault(number, []).append(
                        Symbol(qualified, name, SymbolKind(kind), line, end_line, is_test=bool(is_test))
                    )
                facts = dict(
                    connection.execute(
                        f"SELECT file, data FROM code_facts WHERE file IN ({marks(numbers)})", numbers
                    ).fetchall()
                )
                for number, path, language, module in batch:
                    found = orjson.loads(zlib.decompress(facts[number]))
                    yield ParsedFile(path, language, module, "", tuple(symbols.get(number, ())), found)

    def write(
        self,
        standing: RootState,
        *,
        root: str,
        head: str,
        rules: str,
        files: Iterable[FileRows],
        gone: Iterable[str],
        renames: Iterable[Rename],
    ) -> RootState:
        """Replace the rows of files, remove those of others, add renames; return the new state.

        In several short transactions: until the last one the project counts as incomplete, and each file is
        either old or new. Raises OvertakenError where another run has written since `standing` was read; what
        was written until then stays.
        """
        run = secrets.token_hex(8)
        groups = _groups(files)
        first = next(groups, [])
        with self._database.write() as connection:
            number = self._begin(connection, standing, root=root, rules=rules, run=run)
            for batch in batches(gone):
                connection.execute(
                    f"DELETE FROM code_files WHERE root = ? AND path IN ({marks(batch)})", (number, *batch)
                )
            _write_renames(connection, number, renames)
            _write_files(connection, number, first)
            following = next(groups, None)
            if following is None:
                self._end(connection, number, head)
        while following is not None:
            with self._database.write() as connection:
                self._same_run(connection, run)
                _write_files(connection, number, following)
                following = next(groups, None)
                if following is None:
                    self._end(connection, number, head)
        return RootState(number, root, head, rules, run, complete=True)

    def _read_state(self, connection: Connection) -> RootState:
        row = connection.execute(
            "SELECT n, root, head, rules, run, complete FROM code_roots WHERE project = ?", (self._project,)
        ).fetchone()
        if not row:
            return RootState()
        number, root, head, rules, run, complete = row
        return RootState(number, root, head, rules, run, bool(complete))

    def _same_run(self, connection: Connection, run: str) -> None:
        if self._read_state(connection).run != run:
            raise OvertakenError(
                f'another process is ingesting the code of "{self._project}"', hint="try again in a moment"
            )

    def _begin(self, connection: Connection, standing: RootState, *, root: str, rules: str, run: str) -> int:
        self._same_run(connection, standing.run)
        connection.execute(
            "INSERT INTO code_roots (project, root, head, rules, run, complete) VALUES (?,?,?,?,?,0)"
            " ON CONFLICT (project) DO UPDATE SET root = excluded.root, rules = excluded.rules,"
            " run = excluded.run, complete = 0",
            (self._project, root, "", rules, run),
        )
        return self._read_state(connection).number

    def _end(self, connection: Connection, number: int, head: str) -> None:
        connection.execute("UPDATE code_roots SET head = ?, complete = 1 WHERE n = ?", (head, number))


def _groups(files: Iterable[FileRows]) -> Iterator[list[FileRows]]:
    group: list[FileRows] = []
    rows = 0
    for file in files:
        group.append(file)
        rows += file.rows
        if rows >= ROWS_AT_ONCE:
            yield group
            group, rows = [], 0
    if group:
        yield group


def _write_files(connection: Connection, root: int, files: Sequence[FileRows]) -> None:
    for file in files:
        seen, parsed = file.seen, file.parsed
        if parsed is None:
            connection.execute(
                "UPDATE code_files SET content_hash = ?, size = ?, modified_ns = ?, links = ?"
                " WHERE root = ? AND path = ?",
                (seen.content_hash, seen.size, seen.modified_ns, seen.links, root, file.path),
            )
        else:
            connection.execute("DELETE FROM code_files WHERE root = ? AND path = ?", (root, file.path))
            connection.execute(
                "INSERT INTO code_files (root, path, name, language, module, purpose, problem, content_hash,"
                " size, modified_ns, links) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                (
                    root,
                    file.path,
                    file.path.rpartition("/")[2],
                    parsed.language,
                    parsed.module,
                    parsed.purpose,
                    parsed.problem,
                    seen.content_hash,
                    seen.size,
                    seen.modified_ns,
                    seen.links,
                ),
            )
        row = connection.execute(
            "SELECT n FROM code_files WHERE root = ? AND path = ?", (root, file.path)
        ).fetchone()
        if parsed is not None:
            _write_symbols(connection, root, row[0], parsed)
        if file.edges is not None:
            _write_edges(connection, root, row[0], file.edges)


def _write_symbols(connection: Connection, root: int, number: int, parsed: ParsedFile) -> None:
    data = zlib.compress(orjson.dumps(dict(parsed.facts)), _COMPRESSION)
    connection.execute("INSERT INTO code_facts (file, data) VALUES (?, ?)", (number, data))
    connection.execute("INSERT INTO code_words (file, data) VALUES (?, ?)", (number, parsed.words))
    connection.executemany(
        "INSERT INTO code_symbols (file, root, qualified, name, kind, line, end_line, doc, is_test)"
        " VALUES (?,?,?,?,?,?,?,?,?)",
        [
            (
                number,
                root,
                one.qualified,
                one.name,
                one.kind.value,
                one.line,
                one.end_line,
                one.doc,
                int(one.is_test),
            )
            for one in parsed.symbols
            if len(one.qualified) <= MAX_NAME
        ],
    )


def _write_edges(connection: Connection, root: int, number: int, edges: Sequence[Edge]) -> None:
    connection.execute("DELETE FROM code_edges WHERE file = ?", (number,))
    connection.executemany(
        "INSERT INTO code_edges (file, root, source, target, kind, line, internal) VALUES (?,?,?,?,?,?,?)",
        [
            (number, root, one.source, one.target, one.kind.value, one.line, int(one.internal))
            for one in edges
        ],
    )


def _write_renames(connection: Connection, root: int, renames: Iterable[Rename]) -> None:
    connection.executemany(
        "INSERT INTO code_renames (root, old, new, revision, renamed_at) VALUES (?,?,?,?,?)"
        " ON CONFLICT (root, old, new) DO UPDATE SET revision = excluded.revision,"
        " renamed_at = excluded.renamed_at WHERE excluded.revision <> ''",
        [(root, one.old, one.new, one.revision, one.renamed_at) for one in renames],
    )
