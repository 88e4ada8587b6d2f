"""A cache for reads of a database, valid until anything is written there."""

import sqlite3
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from ragmem.storage.sql.database import Database

_T = TypeVar("_T")


class ReadCache(Generic[_T]):
    """A cached read, repeated after this or another process commits; safe to use from several threads.

    Each thread has its own value, because SQLite reports the writes of others per connection. PostgreSQL does
    not report them, so that each call reads.
    """

    def __init__(self, database: Database, read: Callable[[], _T]) -> None:
        self._database = database
        self._read = read
        self._local = threading.local()

    def value(self) -> _T:
        """Return the value; the read sees one snapshot and must not write. Not within a write."""
        with self._database.read() as connection:
            if not isinstance(connection, sqlite3.Connection):
                return self._read()
            (others,) = connection.execute("PRAGMA data_version").fetchone()
            # The connection is a part of the key: a connection to a replaced file counts again from 0.
            seen = (connection, others, connection.total_changes)
            held: tuple[tuple[sqlite3.Connection, int, int], _T] | None = getattr(self._local, "held", None)
            if held is None or held[0] != seen:
                held = self._local.held = (seen, self._read())
            return held[1]
