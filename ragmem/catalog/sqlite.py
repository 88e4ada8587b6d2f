"""One SQLite file in WAL mode, shared by the catalog and the LightRAG storages, with one writer at a time.

Readers never wait: each thread has its own connection and sees a consistent snapshot. Writers queue before
BEGIN IMMEDIATE, because SQLite's own busy wait is unfair (a writer can starve for seconds).
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from ragmem.catalog.database import Dialect
from ragmem.catalog.queue import turn
from ragmem.errors import RagmemError, StorageError, StoreBusyError, StoreDamagedError

DATABASE_NAME = "memory.db"
LOCK_NAME = "write.lock"
BUSY_TIMEOUT = 30.0
"""Seconds that a writer waits for the lock."""

_DAMAGED = ("malformed", "not a database", "corrupt", "database schema has changed", "could not decode")
_BUSY = ("locked", "busy")
_UNWRITABLE = ("readonly", "read-only", "full", "unable to open", "disk i/o")


def _active(connection: sqlite3.Connection) -> bool:
    return connection.in_transaction


def translate(error: sqlite3.Error, path: Path) -> RagmemError:
    """Return the RagmemError that says what a SQLite error means to a person."""
    # What could not be decoded follows, and that is a memory's whole text.
    problem = str(error).partition(" with text ")[0]
    text = problem.lower()
    if any(word in text for word in _DAMAGED):
        return _damaged(path, problem)
    if any(word in text for word in _BUSY):
        return StoreBusyError(
            f'the database "{path}" is locked by another process', hint="try again in a moment"
        )
    if any(word in text for word in _UNWRITABLE):
        return StorageError(
            f'cannot {"open" if "unable to open" in text else "write"} "{path}": {problem}',
            hint="check free space and permissions, or set RAGMEM_HOME to another folder",
        )
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(
        error, sqlite3.OperationalError | sqlite3.IntegrityError | sqlite3.ProgrammingError
    ):
        return _damaged(path, problem)
    return StorageError(
        f'the database "{path}" failed: {problem}', hint="please report it, with the command that failed"
    )


def _damaged(path: Path, problem: str) -> StoreDamagedError:
    return StoreDamagedError(
        f'the database "{path}" is damaged: {problem}',
        hint="restore a backup of the home, or move the file away and run `ragmem seed`",
    )


class SQLiteDatabase:
    """The connections of one process to one home's database."""

    def __init__(self, home: Path, *, busy_timeout: float = BUSY_TIMEOUT) -> None:
        self.home = home
        self.path = home / DATABASE_NAME
        self.busy_timeout = busy_timeout
        self._local = threading.local()
        self._all: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self.read_only = False
        self._obstacle = "the home is read-only"

    @property
    def dialect(self) -> Dialect:
        """SQLite's SQL."""
        return "sqlite"

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self.path)

    def exists(self) -> bool:
        """Tell whether the database file is there."""
        return self.path.is_file()

    def connection(self) -> sqlite3.Connection:
        """Return this thread's connection, opened on first use.

        Raises StorageError, StoreBusyError or StoreDamagedError.
        """
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            try:
                connection = self._open()
            except sqlite3.Error as error:
                raise translate(error, self.path) from error
            except OSError as error:
                raise StorageError(
                    f'cannot open "{self.path}": {error.strerror}',
                    hint="set RAGMEM_HOME to a folder that you can write to",
                ) from error
            self._local.connection = connection
            with self._guard:
                self._all.append(connection)
        return connection

    def _open(self) -> sqlite3.Connection:
        if not self.path.exists():
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Created by us and not by SQLite, so that it is private from its first byte.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        if not os.access(self.path, os.W_OK) or not os.access(self.home, os.W_OK):
            return self._open_read_only()
        connection = sqlite3.connect(
            self.path,
            timeout=self.busy_timeout,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            self._use_wal(connection)
        except sqlite3.OperationalError as error:
            connection.close()
            if not isinstance(translate(error, self.path), StorageError):
                raise
            # A full disk has no room even for the -shm file; what is stored can be read all the same.
            self._obstacle = str(error)
            return self._open_read_only()
        # FULL: an acknowledged memory survives a power cut, not only a killed process.
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA cache_size=-32768")
        connection.execute("PRAGMA temp_store=MEMORY")
        return connection

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        """Switch a new file to WAL; SQLite does not wait for its turn there, so the openers queue."""
        if connection.execute("PRAGMA journal_mode").fetchone() == ("wal",):
            return
        with self._turn():
            deadline = time.monotonic() + self.busy_timeout
            while True:
                try:
                    connection.execute("PRAGMA journal_mode=WAL")
                except sqlite3.OperationalError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.005)
                else:
                    return

    def _open_read_only(self) -> sqlite3.Connection:
        self.read_only = True
        for options in ("mode=ro", "mode=ro&immutable=1"):
            connection = sqlite3.connect(
                f"{self.path.absolute().as_uri()}?{options}",
                uri=True,
                isolation_level=None,
                check_same_thread=False,
            )
            try:
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            except sqlite3.OperationalError:
                # A WAL database in a folder that cannot be written has no -shm file: read it as immutable.
                connection.close()
                continue
            return connection
        raise StorageError(f'cannot open "{self.path}" for reading', hint="check its permissions")

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees one consistent snapshot; within write() it sees the transaction."""
        connection = self.connection()
        try:
            if _active(connection):
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if _active(connection):
                    connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise translate(error, self.path) from error

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Give the connection inside the one write transaction; a nested call joins the outer one.

        Commits when the block ends, rolls back when it raises. Raises StoreBusyError after `busy_timeout`
        seconds of waiting, StorageError when the disk is full or the home read-only.
        """
        connection = self.connection()
        if _active(connection):
            if not getattr(self._local, "writing", False):
                raise RuntimeError("a write inside of a read would be rolled back with it")
            yield connection
            return
        if self.read_only:
            raise StorageError(
                f'cannot write "{self.path}": {self._obstacle}',
                hint="check free space and permissions, or set RAGMEM_HOME to another folder",
            )
        with self._turn():
            try:
                connection.execute("BEGIN IMMEDIATE")
                self._local.writing = True
                try:
                    yield connection
                except BaseException:
                    if _active(connection):
                        connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                if _active(connection):
                    connection.execute("ROLLBACK")
                raise translate(error, self.path) from error
            finally:
                self._local.writing = False

    def _turn(self) -> AbstractContextManager[None]:
        return turn(self.home / LOCK_NAME, timeout=self.busy_timeout)

    def close(self) -> None:
        """Close all connections; closing twice is fine."""
        with self._guard:
            for connection in self._all:
                connection.close()
            self._all.clear()
        self._local = threading.local()
