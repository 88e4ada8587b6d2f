"""Open a foreign SQLite database without changing a byte of it or beside it."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ragmem.errors import NotFoundError, SourceError, os_errors_as, os_reason
from ragmem.readers.files import show, size_of

SQLITE = b"SQLite format 3\0"

_JOURNAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
"""The beginning of a rollback journal."""

TRIES = 3
"""Times that a database is copied which is written meanwhile."""

_NO_STORE = "is it the right file? name the tool: ragmem import --from NAME PATH"


def is_database(path: Path) -> bool:
    """Return whether a path is an SQLite database."""
    try:
        return path.is_file() and _head(path) == SQLITE
    except OSError:
        return False


def has_tables(path: Path, wanted: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a file is a database with these columns of these tables."""
    if not is_database(path):
        return False
    try:
        with open_database(path, tool="") as database:
            return all(set(names) <= database.columns(table) for table, names in wanted.items())
    except SourceError:
        return False


class ForeignDatabase:
    """The rows of a foreign database; errors name the file and the next step."""

    def __init__(self, connection: sqlite3.Connection, path: Path, tool: str) -> None:
        self._connection = connection
        self.path = path
        self._tool = tool

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query one by one; raises SourceError for a damaged database."""
        try:
            yield from self._connection.execute(sql, values)
        except sqlite3.Error as error:
            raise damage_error(self.path, str(error)) from error

    def columns(self, table: str) -> set[str]:
        """Return the columns of a table; empty if there is no such table."""
        return {str(name) for (name,) in self.rows("SELECT name FROM pragma_table_info(?)", (table,))}

    def require(self, wanted: Mapping[str, Sequence[str]], version: str) -> None:
        """Raise SourceError unless the database has these columns of these tables.

        `version` is the release of the tool whose tables are known.
        """
        found = {table: self.columns(table) for table in wanted}
        if not any(found.values()):
            raise SourceError(
                f'cannot import "{show(self.path)}": it is not a store of {self._tool}: it has no table'
                f' "{next(iter(wanted))}"',
                hint=_NO_STORE,
            )
        for table, names in wanted.items():
            missing = [name for name in names if name not in found[table]]
            if missing:
                what = f'table "{table}"' if not found[table] else f'column "{missing[0]}" in "{table}"'
                raise SourceError(
                    f'cannot import "{show(self.path)}": it has no {what}, so its schema is not that of'
                    f" {self._tool} {version}",
                    hint="update ragmem, or open the store with that release of the tool first",
                )


@contextmanager
def open_database(path: Path, *, tool: str) -> Iterator[ForeignDatabase]:
    """Open a database for reading; one with a log of recent writes is read from a copy.

    Raises NotFoundError for no file, SourceError for one that is no database, damaged, or being written.
    """
    with unchanging_copy(path) as still:
        # The copy is ours, and opening it applies its log.
        uri = f"{still.absolute().as_uri()}?{'mode=ro&immutable=1' if still == path else 'mode=rw'}"
        try:
            connection = sqlite3.connect(uri, uri=True)
        except sqlite3.Error as error:
            raise damage_error(path, str(error)) from error
        with closing(connection):
            connection.text_factory = _decode
            yield ForeignDatabase(connection, path, tool)


@contextmanager
def unchanging_copy(path: Path) -> Iterator[Path]:
    """Give the path of a database that nobody writes: itself, or a copy with its log in a private folder.

    Raises as `open_database`.
    """
    _require_database(path)
    log = _beside(path, "-wal")
    if _is_hot(_beside(path, "-journal")):
        raise SourceError(
            f'cannot import "{show(path)}": a transaction in it is not finished',
            hint="close the program that writes it, then run the command again",
        )
    if not size_of(log):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="ragmem-import-") as folder:
        copy = Path(folder, "copy.db")
        for _ in range(TRIES):
            before = _state(path, log)
            try:
                shutil.copyfile(path, copy)
                shutil.copyfile(log, _beside(copy, "-wal"))
            except FileNotFoundError:
                # A checkpoint at the end of the other program removes the log.
                continue
            except OSError as error:
                raise SourceError(
                    f'cannot copy "{show(path)}": {os_reason(error)}',
                    hint="close the program that writes it, or set TMPDIR to a folder with more space",
                ) from error
            if _state(path, log) == before:
                yield copy
                return
            if not size_of(log):
                break
    raise SourceError(
        f'cannot import "{show(path)}": another program is writing to it',
        hint="close that program, then run the command again",
    )


def damage_error(path: Path, problem: str) -> SourceError:
    """Return the error for a database that cannot be read."""
    return SourceError(
        f'cannot read "{show(path)}": {problem}',
        hint="what was read is kept; repair a copy with `sqlite3 COPY .recover` and import that",
    )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(SQLITE))


def _require_database(path: Path) -> None:
    if not path.exists():
        raise NotFoundError(f'there is no file "{show(path)}"', hint="give the path of the tool's store")
    with os_errors_as(SourceError, f'read "{show(path)}"', hint="check its permissions"):
        head = _head(path)
    if head != SQLITE:
        what = "it is empty" if not head else "it is not a SQLite database"
        raise SourceError(f'cannot import "{show(path)}": {what}', hint=_NO_STORE)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _is_hot(journal: Path) -> bool:
    """Return whether a rollback journal belongs to an unfinished transaction; else it is empty or zero."""
    try:
        with journal.open("rb") as file:
            return any(file.read(len(_JOURNAL)))
    except OSError:
        return False


def _state(*paths: Path) -> list[tuple[int, int]]:
    found = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            found.append((0, 0))
        else:
            found.append((status.st_size, status.st_mtime_ns))
    return found


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
