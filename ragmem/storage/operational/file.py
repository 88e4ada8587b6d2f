"""The file operational.db, opened on first use and created on the first write."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragmem.storage.operational import OPERATIONAL_NAME
from ragmem.storage.operational.schema import OPERATIONAL
from ragmem.storage.sql.database import Connection
from ragmem.storage.sql.migrations import migrate
from ragmem.storage.sql.sqlite import BUSY_TIMEOUT, SQLiteDatabase
from ragmem.storage.sql.sqlite_errors import translate

LOCK_NAME = "operational.lock"


class OperationalFile:
    """The connections of one process to operational.db, which several processes share.

    It has its own lock, so that no agent waits for a seed. Each write is durable when it returns. With
    PostgreSQL it stays a file of this machine. After it is deleted, agents are registered again when they
    check in.
    """

    def __init__(self, data: Path, *, busy_timeout: float = BUSY_TIMEOUT) -> None:
        self.database = SQLiteDatabase(
            data, name=OPERATIONAL_NAME, lock=LOCK_NAME, busy_timeout=busy_timeout, anew=True
        )
        self._settled = threading.local()

    def exists(self) -> bool:
        """Return whether anything was ever written."""
        return self.database.exists()

    def prepare(self) -> None:
        """Create the file and its tables if they are missing, and migrate older ones."""
        # Not by the file's identity: the inode of a deleted file may be reused.
        if getattr(self._settled, "connection", None) is not self.database.connection():
            migrate(self.database, OPERATIONAL)
            self._settled.connection = self.database.connection()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection that sees one consistent snapshot; the file must be there."""
        self.prepare()
        with self.database.read() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Give the connection inside the one write transaction; see `Database.write`."""
        self.prepare()
        with self.database.write() as connection:
            yield connection

    def version(self) -> int:
        """Return a number that changes when another thread or process writes; compare it within one thread.

        Costs microseconds; 0 where there is no file.
        """
        if not self.exists():
            return 0
        try:
            (version,) = self.database.connection().execute("PRAGMA data_version").fetchone()
        except sqlite3.Error as error:
            raise translate(error, self.database.path) from error
        return int(version)

    def close(self) -> None:
        """Close all connections; closing twice is fine."""
        self.database.close()
        self._settled = threading.local()
