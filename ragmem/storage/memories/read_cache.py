"""A cache for reads of a database, valid until anything is written there."""

import sqlite3
import threading
from collections.abc import Callable, Hashable
from types import SimpleNamespace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

from ragmem.ports.principal import Principal, current_principal
from ragmem.storage.sql.database import Connection, Database

_T = TypeVar("_T")

MOST_MEMBERS = 64
"""Members of a team whose values are kept: each may see other rows."""


class _Snapshots(Protocol):
    """A connection that names the snapshot it sees."""

    def snapshot(self) -> str | None:
        """Return the name; None within a write."""


class _CachedValue(NamedTuple, Generic[_T]):
    """A value, the state of the connection that read it, and the epoch before its transaction."""

    state: Hashable
    epoch: int | None
    value: _T


class ReadCache(Generic[_T]):
    """A cached read, repeated after this or another process commits; safe to use from several threads.

    Each thread has its own values, because SQLite reports the writes of others per connection. PostgreSQL
    names its snapshots: two of one name see the same rows. With a `state` that tells the same to each
    connection, all threads share the values, which outlive the writes that leave it as it is.
    """

    def __init__(
        self,
        database: Database,
        read: Callable[[], _T],
        *,
        state: Callable[[Connection], Hashable] | None = None,
    ) -> None:
        """Repeat `read` when `state` has changed; None: when anything was written."""
        self._database = database
        self._read = read
        self._state = state or _state_of
        self._local: Any = threading.local() if state is None else SimpleNamespace()

    def value(self) -> _T:
        """Return the value; the read sees one snapshot and must not write. Within a write nothing is kept."""
        with self._database.read() as connection:
            seen = self._state(connection)
            if seen is None:
                return self._read()
            held: dict[Principal | None, _CachedValue[_T]] | None = getattr(self._local, "held", None)
            if held is None:
                held = self._local.held = {}
            member = current_principal.get()
            known = held.get(member)
            if known is not None and known.state == seen:
                return known.value
            if known is not None and known.epoch is not None and known.epoch == self._database.epoch():
                # Only notes were written, such as what a session was shown.
                held[member] = known._replace(state=seen)
                return known.value
            if len(held) >= MOST_MEMBERS:
                held.clear()
            # Not for the first value: most processes read it once.
            epoch = None if known is None else self._database.first_epoch()
            held[member] = _CachedValue(seen, epoch, value := self._read())
            return value


def _state_of(connection: Connection) -> Hashable:
    """Return a value that changes with each write that the connection sees; None if unknown."""
    if isinstance(connection, sqlite3.Connection):
        (others,) = connection.execute("PRAGMA data_version").fetchone()
        # The connection is a part of the key: a connection to a replaced file counts again from 0.
        return connection, others, connection.total_changes
    return cast("_Snapshots", connection).snapshot()
