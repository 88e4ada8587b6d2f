"""A cache for reads of a database, valid until anything is written there."""

import sqlite3
import threading
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar, cast

from ragmem.ports.principal import Principal, current_principal
from ragmem.storage.sql.database import Connection, Database

_T = TypeVar("_T")

MOST_MEMBERS = 64
"""Members of a team whose values are kept: each may see other rows."""


class _Snapshots(Protocol):
    """A connection that names the snapshot it sees."""

    def snapshot(self) -> str | None:
        """Return the name; None within a write."""
        ...


class ReadCache(Generic[_T]):
    """A cached read, repeated after this or another process commits; safe to use from several threads.

    Each thread has its own values, because SQLite reports the writes of others per connection. PostgreSQL
    names its snapshots: two of one name see the same rows.
    """

    def __init__(self, database: Database, read: Callable[[], _T]) -> None:
        self._database = database
        self._read = read
        self._local = threading.local()

    def value(self) -> _T:
        """Return the value; the read sees one snapshot and must not write. Within a write nothing is kept."""
        with self._database.read() as connection:
            seen = _state_of(connection)
            if seen is None:
                return self._read()
            held: dict[Principal | None, tuple[Hashable, _T]] | None = getattr(self._local, "held", None)
            if held is None:
                held = self._local.held = {}
            member = current_principal.get()
            if member not in held or held[member][0] != seen:
                if len(held) >= MOST_MEMBERS:
                    held.clear()
                held[member] = (seen, self._read())
            return held[member][1]


def _state_of(connection: Connection) -> Hashable:
    """Return what changes with each write that the connection sees; None where nothing tells."""
    if isinstance(connection, sqlite3.Connection):
        (others,) = connection.execute("PRAGMA data_version").fetchone()
        # The connection is a part of the key: a connection to a replaced file counts again from 0.
        return connection, others, connection.total_changes
    return cast("_Snapshots", connection).snapshot()
