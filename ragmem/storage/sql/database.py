"""The interface of a database: one write transaction at a time, and reads that never wait.

SQLite (sqlite.py) serves one machine; PostgreSQL (postgres.py) is shared by several.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Protocol

from ragmem.storage.sql.batches import batches, marks, padded

Dialect = Literal["sqlite", "postgres"]

Row = Any
"""A tuple of the selected columns."""


class Rows(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows were written."""

    def fetchone(self) -> Row:
        """Return the next row, None after the last."""

    def fetchall(self) -> list[Row]:
        """Return the remaining rows."""

    def __iter__(self) -> Iterator[Row]: ...


class Connection(Protocol):
    """A connection inside a transaction; parameters are `?`, or `?1`, `?2` where one is used twice."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Rows:
        """Run one statement."""

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Rows:
        """Run a statement once for each of the parameters."""


class Queries(Protocol):
    """Single queries, each in a transaction of its own or in the one that the thread has open."""

    def read(self) -> AbstractContextManager[Connection]:
        """Give a connection that sees one consistent snapshot; within write() it sees the transaction."""

    def select(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of a query."""
        with self.read() as connection:
            return connection.execute(sql, parameters).fetchall()

    def select_row(self, sql: str, parameters: Sequence[Any] = ()) -> Row:
        """Return the first row of a query, None where there is no row."""
        with self.read() as connection:
            return connection.execute(sql, parameters).fetchone()

    def select_int(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Return the number that a query yields in one row."""
        return int(self.select_row(sql, parameters)[0])

    def select_column(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Return the values of a query with one column."""
        return [value for (value,) in self.select(sql, parameters)]

    def select_in(self, sql: str, values: Iterable[Any], *parameters: Any) -> list[Row]:
        """Return the rows of a query with `IN ({})` for any number of values, after `parameters`."""
        with self.read() as connection:
            return select_in(connection, sql, values, *parameters)


def select_in(connection: Connection, sql: str, values: Iterable[Any], *parameters: Any) -> list[Row]:
    """Return the rows of a query with `IN ({})`, for one batch of the values after the other."""
    return [
        row
        for batch in map(padded, batches(values))
        for row in connection.execute(sql.replace("{}", marks(batch)), (*parameters, *batch)).fetchall()
    ]


def delete_in(connection: Connection, table: str, column: str, values: Iterable[Any]) -> int:
    """Delete the rows with any of the values in a column; return how many rows there were."""
    return sum(
        connection.execute(f"DELETE FROM {table} WHERE {column} IN ({marks(batch)})", batch).rowcount
        for batch in batches(values)
    )


class Database(Queries, Protocol):
    """The connections of one process to the database of one home; safe to use from several threads."""

    @property
    def dialect(self) -> Dialect:
        """The SQL dialect, for the few statements that differ."""

    @property
    def home(self) -> Path:
        """The home's data folder, which also keeps local data of this machine for a remote database."""

    @property
    def path(self) -> Path | None:
        """The database file; None for a database on a server."""

    @property
    def place(self) -> str:
        """The place of the data for messages: a path, or an address without its password."""

    @property
    def read_only(self) -> bool:
        """Return whether nothing can be written; known after it was opened."""

    @property
    def identity(self) -> tuple[int, ...]:
        """A value that changes when the database is replaced, as by a restore."""

    @property
    def is_writing(self) -> bool:
        """Return whether this thread is inside of write(), and sees what may not be committed."""

    def exists(self) -> bool:
        """Return whether anything was ever stored."""

    def size_elsewhere(self) -> int:
        """Return the size in bytes of the data outside of `home`."""

    def forbid_writes(self) -> AbstractContextManager[None]:
        """Open a file read-only until the block ends; for one thread. On a server, rights decide."""

    def vacuum(self, *, patience: float | None = None) -> bool:
        """Remove deleted rows from a file and its log; return False where a reader still needs the log.

        Waits `patience` seconds for readers (None: ten). Needs free space of the size of the file. Raises
        StoreBusyError, StorageError, StoreDamagedError. A server frees deleted rows by itself.
        """

    def epoch(self) -> int | None:
        """Return a value that changes with each commit other than bookkeeping; None if unknown."""

    def first_epoch(self) -> int | None:
        """Return the epoch from before this thread's transaction; None where it is unknown or writes."""

    def write(
        self, *, patience: float | None = None, note: bool = False
    ) -> AbstractContextManager[Connection]:
        """Give the connection inside the one write transaction; a nested call joins the outer one.

        A `note` is of no content that anything keeps in memory: the epoch stays.

        Commits when the block ends, rolls back when it raises. Raises StoreBusyError after waiting too long
        (`patience` seconds; None: the configured ones), StorageError where nothing can be written.
        """

    def close(self) -> None:
        """Close all connections; closing twice is fine."""
