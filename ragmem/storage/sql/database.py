"""What the catalog asks of a database: one write transaction at a time, and reads that never wait.

SQLite (sqlite.py) is the database of one machine; PostgreSQL (postgres.py) is one that several share.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Protocol

Dialect = Literal["sqlite", "postgres"]

Row = Any
"""A tuple of the selected columns."""


class Rows(Protocol):
    """The outcome of a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows were written."""
        ...

    def fetchone(self) -> Row:
        """Return the next row, None after the last."""
        ...

    def fetchall(self) -> list[Row]:
        """Return the rows that are left."""
        ...

    def __iter__(self) -> Iterator[Row]: ...


class Connection(Protocol):
    """A connection inside a transaction; parameters are `?`, or `?1`, `?2` where one is used twice."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Rows:
        """Run one statement."""
        ...

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Rows:
        """Run a statement once for each of the parameters."""
        ...


class Database(Protocol):
    """The connections of one process to the database of one home; safe to use from several threads."""

    @property
    def dialect(self) -> Dialect:
        """Whose SQL it speaks, for the few statements that differ."""
        ...

    @property
    def home(self) -> Path:
        """The home's data folder; also where a database elsewhere keeps what is local to this machine."""
        ...

    @property
    def place(self) -> str:
        """Where the data lies, as messages name it: a path, or an address without its password."""
        ...

    @property
    def read_only(self) -> bool:
        """Tell whether nothing can be written; known once it was opened."""
        ...

    @property
    def identity(self) -> tuple[int, ...]:
        """What changes when another database takes the place, as a backup that is put back does."""
        ...

    def exists(self) -> bool:
        """Tell whether anything was ever stored."""
        ...

    def read(self) -> AbstractContextManager[Connection]:
        """Give a connection that sees one consistent snapshot; within write() it sees the transaction."""
        ...

    def write(self, *, patience: float | None = None) -> AbstractContextManager[Connection]:
        """Give the connection inside the one write transaction; a nested call joins the outer one.

        Commits when the block ends, rolls back when it raises. Raises StoreBusyError after waiting too long
        (`patience` seconds; None: the configured ones), StorageError where nothing can be written.
        """
        ...

    def close(self) -> None:
        """Close all connections; closing twice is fine."""
        ...
