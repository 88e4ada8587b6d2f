"""What was read of a database, kept until anything is written there."""

import sqlite3
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from ragmem.storage.sql.database import Database

_T = TypeVar("_T")


class ReadCache(Generic[_T]):
    """A reading, repeated once this or another process has committed; safe to use from several threads.

    Each thread keeps its own, for SQLite tells a connection what others wrote since it looked. PostgreSQL
    does not tell, so there it is read each time.
    """

    def __init__(self, database: Database, read: Callable[[], _T]) -> None:
        self._database = database
        self._read = read
        self._local = threading.local()

    def value(self) -> _T:
        """Return what the reading gives; it sees one snapshot and must not write. Not within a write."""
        with self._database.read() as connection:
            if not isinstance(connection, sqlite3.Connection):
                return self._read()
            (others,) = connection.execute("PRAGMA data_version").fetchone()
            # The connection itself is part of it: that to a file put in this one's place counts anew.
            seen = (connection, others, connection.total_changes)
            held: tuple[tuple[sqlite3.Connection, int, int], _T] | None = getattr(self._local, "held", None)
            if held is None or held[0] != seen:
                held = self._local.held = (seen, self._read())
            return held[1]
