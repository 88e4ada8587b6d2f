"""One SQLite file in WAL mode, shared by the catalog and the LightRAG storages, with one writer at a time.

Readers never wait: each thread has its own connection and sees a consistent snapshot. Writers queue before
BEGIN IMMEDIATE, because SQLite's own busy wait is unfair (a writer can starve for seconds).
"""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from weakref import ref

from ragmem.errors import StorageError
from ragmem.storage.sql.content_epoch import ContentEpoch
from ragmem.storage.sql.database import Dialect, Queries
from ragmem.storage.sql.fair_lock import turn
from ragmem.storage.sql.sqlite_connect import CACHE_KIB, LOG_LIMIT, OpenFile, open_file
from ragmem.storage.sql.sqlite_errors import translate
from ragmem.storage.sql.sqlite_files import checkpoint, log_of

__all__ = ["BUSY_TIMEOUT", "DATABASE_NAME", "LOCK_NAME", "SQLiteDatabase", "translate"]

DATABASE_NAME = "memory.db"
LOCK_NAME = "write.lock"
BUSY_TIMEOUT = 30.0
"""Seconds that a writer waits for the lock."""

LOG_PATIENCE = 0.1
"""Seconds that a writer waits for the readers of a long log; later readers do not prolong it."""

VACUUM_PATIENCE = 10.0
"""Seconds that a vacuum waits for readers: while one reads an older state, the log cannot be emptied."""

VACUUM_CACHE_KIB = 512
"""The page cache of a vacuum: one of 8 MiB costs 14 MB more of a file of 15 MB, and is as fast."""


def _active(connection: sqlite3.Connection) -> bool:
    return connection.in_transaction


@contextmanager
def _unsynced(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("PRAGMA synchronous=NORMAL")
    try:
        yield
    finally:
        connection.execute("PRAGMA synchronous=FULL")


class _Thread:
    """An object that lives as long as its thread."""


class _Snapshot:
    """The context of `SQLiteDatabase.read`: no generator, because a question enters it some fifty times."""

    __slots__ = ("_connection", "_database", "_joins")

    def __init__(self, database: "SQLiteDatabase") -> None:
        self._database = database

    def __enter__(self) -> sqlite3.Connection:
        connection = self._connection = self._database.connection()
        self._joins = connection.in_transaction
        if not self._joins:
            self._database.begin_epoch()
            try:
                connection.execute("BEGIN")
            except sqlite3.Error as error:
                raise translate(error, self._database.path) from error
        return connection

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            if not self._joins and self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error as failed:
            raise translate(failed, self._database.path) from failed
        if isinstance(error, sqlite3.Error):
            raise translate(error, self._database.path) from error


class SQLiteDatabase(Queries):
    """The connections of one process to one home's database.

    Each transaction first checks whether the file was replaced (by a restore), and opens the new one. A
    removed file is an error, unless its content may be lost: with `anew` an empty one is created.
    """

    def __init__(
        self,
        home: Path,
        *,
        name: str = DATABASE_NAME,
        lock: str = LOCK_NAME,
        busy_timeout: float = BUSY_TIMEOUT,
        anew: bool = False,
    ) -> None:
        self.home = home
        self.path = home / name
        self.lock = home / lock
        self.busy_timeout = busy_timeout
        self.read_only = False
        self._only_read = False
        self._anew = anew
        self._log = log_of(self.path)
        self._log_limit = LOG_LIMIT
        self._epoch = ContentEpoch(self.path)
        self._local = threading.local()
        self._all: list[tuple[ref[_Thread], sqlite3.Connection]] = []
        self._guard = threading.Lock()

    @property
    def dialect(self) -> Dialect:
        """SQLite's SQL."""
        return "sqlite"

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self.path)

    @property
    def identity(self) -> tuple[int, ...]:
        """A value that changes when the file is replaced, which invalidates caches of its content."""
        return self._opened().identity

    @property
    def is_writing(self) -> bool:
        """Return whether this thread is inside of write(), and sees what may not be committed."""
        return bool(getattr(self._local, "writing", False))

    def epoch(self) -> int | None:
        """Return a value that changes with each commit other than bookkeeping; None if unknown."""
        return self._epoch.number(self.identity)

    def first_epoch(self) -> int | None:
        """Return the epoch from before this thread's transaction, None where it is unknown or writes.

        The first call lets it be known from the next transaction on.
        """
        if self.is_writing:
            return None
        try:
            self._epoch.watch(self.identity)
        except sqlite3.Error:  # as one that cannot be watched
            return None
        found: int | None = getattr(self._local, "epoch", None)
        return found

    def begin_epoch(self) -> None:
        """Keep the epoch from before a transaction of this thread, if epochs are watched."""
        if self._epoch.is_watched and (held := self._held()) is not None:
            self._local.epoch = self._epoch.number(held.identity)

    def exists(self) -> bool:
        """Return whether the database file exists."""
        return self.path.is_file()

    def size_elsewhere(self) -> int:
        """Return 0: the file is in `home`."""
        return 0

    def connection(self) -> sqlite3.Connection:
        """Return this thread's connection to the present file, opened on first use.

        Raises StorageError, StoreBusyError or StoreDamagedError.
        """
        return self._opened().connection

    def _held(self) -> OpenFile | None:
        held: OpenFile | None = getattr(self._local, "opened", None)
        return held

    def _opened(self) -> OpenFile:
        held = self._held()
        if held is not None:
            if _active(held.connection) or self._is_current(held):
                return held
            self._drop(held)
        try:
            if self._anew:
                self._clear_remains()
            opened = open_file(
                self.path,
                busy_timeout=self.busy_timeout,
                turn=self._turn,
                only_read=self._only_read,
            )
        except sqlite3.Error as error:
            raise translate(error, self.path) from error
        except OSError as error:
            raise StorageError(
                f'cannot open "{self.path}": {error.strerror}',
                hint="set RAGMEM_HOME to a writable folder",
            ) from error
        self.read_only = bool(opened.obstacle)
        self._local.opened, self._local.thread = opened, _Thread()
        with self._guard:
            self._all = [*self._of_living(), (ref(self._local.thread), opened.connection)]
        return opened

    def _is_current(self, held: OpenFile) -> bool:
        try:
            return held.is_current()
        except StorageError:
            if not self._anew:
                raise
            return False

    def _clear_remains(self) -> None:
        """Delete the log of a file that was removed, and its index, which others may still have open."""
        remains = (self._log, self._log.with_name(f"{self.path.name}-shm"))
        if self.path.exists() or not any(one.exists() for one in remains):
            return
        with self._turn():
            if not self.path.exists():
                for one in remains:
                    one.unlink(missing_ok=True)
                # Within the turn: the next opener must not take the new file's log for the removed one's.
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))

    def _of_living(self) -> "Iterator[tuple[ref[_Thread], sqlite3.Connection]]":
        """Yield the open connections, and close those of threads that have ended."""
        for thread, connection in self._all:
            if thread() is None:
                connection.close()
            else:
                yield thread, connection

    def _drop(self, held: OpenFile) -> None:
        """Close a connection; for a replaced file this leaves the log of the new one alone (SQLite 3.26)."""
        self._local.opened = None
        with self._guard:
            self._all = [one for one in self._all if one[1] is not held.connection]
        held.connection.close()

    @contextmanager
    def forbid_writes(self) -> Iterator[None]:
        """Treat the home as read-only until the block ends; for one thread."""
        self.close()
        self._only_read = True
        try:
            yield
        finally:
            self.close()
            self._only_read = False

    def read(self) -> AbstractContextManager[sqlite3.Connection]:
        """Give a connection that sees one consistent snapshot; within write() it sees the transaction."""
        return _Snapshot(self)

    @contextmanager
    def write(self, *, patience: float | None = None, note: bool = False) -> Iterator[sqlite3.Connection]:
        """Give the connection inside the one write transaction; a nested call joins the outer one.

        A `note` is of no content that anything keeps in memory, so the epoch stays, and a power cut may lose
        it: nobody waits for the disk, which takes some milliseconds.

        Commits when the block ends, rolls back when it raises. Raises StoreBusyError after `patience` seconds
        of waiting (None: `busy_timeout`), StorageError when the disk is full or the home read-only.
        """
        held = self._held()
        if held is not None and _active(held.connection):
            if not self.is_writing:
                raise RuntimeError("a write inside of a read would be rolled back with it")
            yield held.connection
            return
        with self._turn_on_file(patience) as opened, _unsynced(opened.connection) if note else nullcontext():
            connection = opened.connection
            try:
                # Its turn does not keep other programs from writing.
                with self._busy_timeout(connection, self.busy_timeout if patience is None else patience):
                    connection.execute("BEGIN IMMEDIATE")
                self._local.writing = True
                if note:
                    self.begin_epoch()
                try:
                    yield connection
                except BaseException:
                    if _active(connection):
                        connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
                if note:
                    self._epoch.skip_note(opened.identity)
            except sqlite3.Error as error:
                if _active(connection):
                    connection.execute("ROLLBACK")
                raise translate(error, self.path) from error
            finally:
                self._local.writing = False
            if not opened.is_current():
                raise StorageError(
                    f'"{self.path}" was replaced while it was being written',
                    hint="run the command again; what it wrote is not in the new file",
                )
            self._shorten_log(connection)

    @contextmanager
    def _turn_on_file(self, patience: float | None) -> Iterator[OpenFile]:
        """Yield a connection that can write to the present file, in this writer's turn."""
        held = self._held()
        if held is not None and held.obstacle:
            # The obstacle, such as a full disk, may be gone.
            self._drop(held)
        while True:
            # Opened before its turn, because opening a new file takes a turn itself.
            opened = self._opened()
            if opened.obstacle:
                raise StorageError(
                    f'cannot write "{self.path}": {opened.obstacle}',
                    hint="check free space and permissions, or set RAGMEM_HOME to another folder",
                )
            with self._turn(patience):
                if opened.is_current():
                    yield opened
                    return

    def _turn(self, patience: float | None = None) -> AbstractContextManager[None]:
        timeout = self.busy_timeout if patience is None else patience
        return turn(self.lock, timeout=timeout)

    def _shorten_log(self, connection: sqlite3.Connection) -> None:
        """Truncate a long log; everything is committed, so that a failure loses nothing."""
        try:
            size = self._log.stat().st_size
        except FileNotFoundError:
            return
        if size < self._log_limit:
            return
        try:
            emptied = self._empty_log(connection, LOG_PATIENCE)
        except sqlite3.Error:  # a full disk: the next writer reports it
            emptied = False
        # Otherwise a long-lived reader would delay each writer.
        self._log_limit = LOG_LIMIT if emptied else size + LOG_LIMIT

    def _empty_log(self, connection: sqlite3.Connection, patience: float) -> bool:
        with self._busy_timeout(connection, patience):
            return checkpoint(connection)

    @contextmanager
    def _busy_timeout(self, connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
        """Let a connection wait for locks of other programs for these seconds, instead of `busy_timeout`."""
        differs = seconds != self.busy_timeout
        if differs:
            connection.execute(f"PRAGMA busy_timeout={int(seconds * 1000)}")
        try:
            yield
        finally:
            if differs:
                connection.execute(f"PRAGMA busy_timeout={int(self.busy_timeout * 1000)}")

    def vacuum(self, *, patience: float | None = None) -> bool:
        """Rewrite the file without deleted rows, and empty its log; return whether the log is empty.

        Readers continue meanwhile, and writers wait; the log waits `patience` seconds (None: ten).
        Raises StoreBusyError, StorageError where there is not enough free space (the size of the file),
        StoreDamagedError.
        """
        with self._turn():
            connection = self.connection()
            try:
                connection.execute("PRAGMA secure_delete = ON")
                # In a file: a database of a gigabyte must not need that much main memory.
                connection.execute("PRAGMA temp_store = FILE")
                # The old and the new file have such a cache each, and a larger one saves no time.
                connection.execute(f"PRAGMA cache_size = {-VACUUM_CACHE_KIB}")
                try:
                    connection.execute("VACUUM")
                finally:
                    connection.execute(f"PRAGMA cache_size = {-CACHE_KIB}")
                    connection.execute("PRAGMA temp_store = MEMORY")
                return self._empty_log(connection, VACUUM_PATIENCE if patience is None else patience)
            except sqlite3.Error as error:
                raise translate(error, self.path) from error

    def close(self) -> None:
        """Close all connections; closing twice is fine."""
        self._epoch.close()
        with self._guard:
            for _, connection in self._all:
                connection.close()
            self._all.clear()
        self._local = threading.local()
