"""SQLite files outside of an open home: backups, copies, and reads for completion."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ragmem.storage.sql.database import Connection
from ragmem.storage.sql.sqlite_errors import translate


def log_of(path: Path) -> Path:
    """Return the path of a database's write-ahead log."""
    return path.with_name(f"{path.name}-wal")


def remove_log(path: Path) -> None:
    """Delete the write-ahead log of a database and the log's index."""
    for suffix in ("-wal", "-shm"):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)


@contextmanager
def open_read_only(path: Path, *, patience: float = 5.0) -> Iterator[sqlite3.Connection]:
    """Open a database for reading; wait up to `patience` seconds for a lock. Raises sqlite3.Error.

    Without a log nobody has the file open. It is then opened as immutable, which creates no file and works in
    a read-only folder.
    """
    mode = "mode=ro" if log_of(path).exists() else "mode=ro&immutable=1"
    uri = f"{path.absolute().as_uri()}?{mode}"
    with closing(sqlite3.connect(uri, uri=True, timeout=patience)) as connection:
        yield connection


def fold_log(path: Path) -> None:
    """Turn a database into one file without a log, which can be renamed. Raises RagmemError."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise translate(error, path) from error


def empty_log(path: Path, *, patience: float) -> bool:
    """Write the log into the database file; return whether that succeeded within `patience` seconds.

    Raises StoreBusyError, StorageError or StoreDamagedError.
    """
    try:
        with closing(sqlite3.connect(path, timeout=patience)) as connection:
            return checkpoint(connection)
    except sqlite3.Error as error:
        raise translate(error, path) from error


def checkpoint(connection: sqlite3.Connection) -> bool:
    """Write the log into the file and truncate it; return False where a reader still needs it."""
    busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def integrity_check(connection: Connection, *, quick: bool = False, limit: int = 100) -> list[str]:
    """Return the faults in the pages of a database, one line each.

    `quick` leaves out the comparison of indexes with their tables.
    """
    rows = connection.execute(f"PRAGMA {'quick_check' if quick else 'integrity_check'}({limit})")
    return [" ".join(str(line).split()) for (line,) in rows if line != "ok"]


def integrity_check_of(path: Path) -> list[str]:
    """Return the first fault in the pages of a file, or an empty list."""
    try:
        with open_read_only(path) as connection:
            return integrity_check(connection, limit=1)
    except sqlite3.Error as error:
        return [" ".join(str(error).split())]


def count_foreign_key_violations(connection: Connection) -> int:
    """Return how many rows refer to rows that do not exist."""
    return len(connection.execute("PRAGMA foreign_key_check").fetchall())


def library_version() -> tuple[int, ...]:
    """Return the version of the SQLite library."""
    return sqlite3.sqlite_version_info


def has_fts5() -> bool:
    """Return whether the SQLite library has full-text search."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5 (text)")
        except sqlite3.OperationalError:
            return False
    return True
