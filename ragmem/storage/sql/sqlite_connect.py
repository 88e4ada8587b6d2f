"""Connect to a SQLite file in WAL mode that other processes may write or replace."""

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from ragmem.errors import StorageError
from ragmem.storage.sql.sqlite_errors import removal_error, translate
from ragmem.storage.sql.sqlite_files import log_of

LOG_LIMIT = 16 * 2**20
"""Bytes of the write-ahead log from which a writer waits for the readers, so that it can be truncated.

SQLite itself restarts the log only at a moment without readers, which may never come."""


PAGE_BYTES = 2048
"""Of a new file. Pages of 4 KiB waste twice as much behind texts and in small tables, a fortieth of a home;
those of 1 KiB have no room for two vectors. Questions and writes take as long."""

CHECKPOINT_PAGES = 2000
"""Pages of the log from which a writer copies them into the file: 4 MB, as with SQLite's own pages."""


CACHE_KIB = 2 * 1024
"""The page cache of a connection: each thread has one of its own. The system caches the file once for all of
them, so at 15,792 memories a prompt takes as long as with 8 MiB."""


# Not a dataclass: `dataclasses` imports `inspect`, a quarter of what a Tab costs.
class OpenFile(NamedTuple):
    """A connection with the identity of its file.

    `obstacle` says why it can only read; an empty text where it can write.
    """

    path: Path
    connection: sqlite3.Connection
    identity: tuple[int, ...]
    obstacle: str = ""
    immutable: bool = False

    def is_current(self) -> bool:
        """Return whether the file is the one that was opened; raises StorageError where it is missing."""
        try:
            return _identity(self.path, immutable=self.immutable) == self.identity
        except FileNotFoundError as error:
            # A new file would hide that a whole memory is gone.
            raise removal_error(self.path) from error


def _identity(path: Path, *, immutable: bool = False) -> tuple[int, ...]:
    status = path.stat()
    if not immutable:
        return status.st_dev, status.st_ino
    # Such a connection takes no lock and sees no log: it is valid until somebody opens the file to write.
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, log_of(path).exists()


def open_file(
    path: Path,
    *,
    busy_timeout: float,
    turn: Callable[[], AbstractContextManager[None]],
    only_read: bool = False,
) -> OpenFile:
    """Open a database, created private and empty if missing; read-only where it cannot be written.

    With `only_read` it is opened read-only in any case. `turn` is held while a new file is switched to WAL.
    Raises sqlite3.Error, OSError or StorageError.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Created by us and not by SQLite, so that it is private from its first byte.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    while True:
        identity = _identity(path)
        if only_read:
            opened = open_to_read(path, identity, "it was opened to be read")
        elif os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
            opened = _open_to_write(path, identity, busy_timeout, turn)
        else:
            opened = open_to_read(path, identity, "the home is read-only")
        if _identity(path) == identity:
            return opened
        opened.connection.close()


def _open_to_write(
    path: Path,
    identity: tuple[int, ...],
    busy_timeout: float,
    turn: Callable[[], AbstractContextManager[None]],
) -> OpenFile:
    connection = sqlite3.connect(
        path, timeout=busy_timeout, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        _use_wal(connection, busy_timeout, turn)
    except sqlite3.OperationalError as error:
        connection.close()
        if not isinstance(translate(error, path), StorageError):
            raise
        # A full disk has no space for the -shm file; the stored data can still be read.
        return open_to_read(path, identity, str(error))
    # FULL: an acknowledged memory survives a power cut, not only a killed process.
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute(f"PRAGMA cache_size={-CACHE_KIB}")
    connection.execute("PRAGMA temp_store=MEMORY")
    connection.execute(f"PRAGMA journal_size_limit={LOG_LIMIT}")
    connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
    return OpenFile(path, connection, identity)


def _use_wal(
    connection: sqlite3.Connection, busy_timeout: float, turn: Callable[[], AbstractContextManager[None]]
) -> None:
    """Switch a new file to WAL; SQLite does not wait for its turn there, so the openers queue."""
    if connection.execute("PRAGMA journal_mode").fetchone() == ("wal",):
        return
    with turn():
        deadline = time.monotonic() + busy_timeout
        while True:
            try:
                connection.execute(f"PRAGMA page_size={PAGE_BYTES}")  # nothing, once there are tables
                connection.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.005)
            else:
                return


def open_to_read(path: Path, identity: tuple[int, ...] = (), obstacle: str = "") -> OpenFile:
    """Open a database to read it, even in a read-only folder. Raises StorageError, sqlite3.Error."""
    for options, immutable in (("mode=ro", False), ("mode=ro&immutable=1", True)):
        if immutable:
            identity = _identity(path, immutable=True)
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{options}", uri=True, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            # A WAL database in a folder that cannot be written has no -shm file: read it as immutable.
            connection.close()
            continue
        return OpenFile(path, connection, identity, obstacle, immutable)
    raise StorageError(f'cannot open "{path}" for reading', hint="check its permissions")
