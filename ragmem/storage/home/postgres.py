"""One PostgreSQL database that several machines share, with one writer at a time.

Readers never wait: each sees the snapshot of its beginning. Writers queue on an advisory lock, which
PostgreSQL grants in the order in which it was asked for, and takes back from a client that has gone.
"""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.config import offline
from ragmem.config.secrets import mask_password
from ragmem.errors import BackendError, ConfigError, ForbiddenError, StorageError, StoreBusyError
from ragmem.ports.principal import Principal, confined_member, current_principal
from ragmem.storage.home.postgres_members import settings_of
from ragmem.storage.home.postgres_schema import NAMESPACE
from ragmem.storage.sql.database import Database, Dialect, Queries, Rows
from ragmem.storage.sql.postgres_errors import error_for, refusal
from ragmem.storage.sql.sqlite import BUSY_TIMEOUT

if TYPE_CHECKING:
    import psycopg

CONNECT_TIMEOUT = 10
"""Seconds."""

WRITERS = (0x7261676D, 1)
"""The advisory lock of whoever writes: "ragm" in ASCII."""

# A writer whose machine has vanished lets go of the lock after a minute and not after the system's two hours;
# compiling a statement takes longer than running any of ours.
_SETTINGS = (
    f"SET search_path = {NAMESPACE}; SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10;"
    " SET tcp_keepalives_count = 3; SET client_min_messages = warning; SET jit = off"
)


def _driver() -> Any:
    try:
        import psycopg  # noqa: PLC0415 - 300 ms that only this profile pays
    except ImportError as error:
        raise BackendError(
            f'the profile "postgres" needs psycopg: {error}', hint="pip install 'ragmem[postgres]'"
        ) from error
    return psycopg


class PostgresConnection:
    """A connection inside a transaction that takes the catalog's parameters."""

    def __init__(self, connection: "psycopg.Connection[Any]") -> None:
        self.raw = connection
        self._snapshot: str | None = None

    def snapshot(self) -> str | None:
        """Return what only equals that of a transaction which sees the same rows; None within a write."""
        if self._snapshot is None:
            (self._snapshot,) = self.raw.execute(
                "SELECT CASE WHEN current_setting('transaction_read_only') = 'on'"
                " THEN pg_current_snapshot()::text END"
            ).fetchone() or (None,)
        return self._snapshot

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Rows:
        """Run one statement."""
        from ragmem.storage.sql.postgres_values import arguments, translate_placeholders  # noqa: PLC0415 - needs psycopg

        return self.raw.execute(translate_placeholders(sql), arguments(sql, parameters))

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Rows:
        """Run a statement once for each of the parameters."""
        from ragmem.storage.sql.postgres_values import arguments, translate_placeholders  # noqa: PLC0415 - needs psycopg

        cursor = self.raw.cursor()
        cursor.executemany(translate_placeholders(sql), [arguments(sql, values) for values in parameters])
        return cursor


def _hosts(parameters: Mapping[str, Any]) -> list[str]:
    """Return where libpq will connect to, as far as known: it reads its own variables."""
    if "service" in parameters or "PGSERVICE" in os.environ:
        return ["a service of libpq"]
    for name in ("hostaddr", "host"):
        if given := parameters.get(name) or os.environ.get(f"PG{name.upper()}"):
            return str(given).split(",")
    return []


@dataclass(slots=True)
class _Transaction:
    connection: PostgresConnection
    writing: bool
    principal: Principal | None


class PostgresDatabase(Queries):
    """The connections of one process to a shared database; a transaction has one, the others lie ready."""

    def __init__(self, url: str, home: Path, *, busy_timeout: float = BUSY_TIMEOUT) -> None:
        self.url = url
        self.home = home
        self.busy_timeout = busy_timeout
        self.read_only = False
        self._local = threading.local()
        self._guard = threading.Lock()
        self._idle: list[psycopg.Connection[Any]] = []
        self._exists = False

    @property
    def dialect(self) -> Dialect:
        """PostgreSQL's SQL."""
        return "postgres"

    @property
    def path(self) -> None:
        """A server has no file that could be copied."""
        return

    @property
    def place(self) -> str:
        """The address, with *** for its password."""
        return mask_password(self.url)

    @property
    def identity(self) -> tuple[int, ...]:
        """Nothing: a server puts a backup back under connections that are closed."""
        return ()

    @property
    def is_writing(self) -> bool:
        """Return whether this thread is inside of write(), and sees what may not be committed."""
        current = self._current()
        return current is not None and current.writing

    def exists(self) -> bool:
        """Return whether there is any table of ours; raises StorageError where the server cannot tell."""
        if not self._exists:
            with self.read() as connection:
                (self._exists,) = connection.execute(
                    "SELECT count(*) > 0 FROM pg_class"
                    " WHERE relkind = 'r' AND relnamespace = to_regnamespace(?)",
                    (NAMESPACE,),
                ).fetchone()
        return self._exists

    def size_elsewhere(self) -> int:
        """Return the bytes that the database takes on the server; 0 for a member: they are everybody's."""
        if confined_member() is not None:
            return 0
        with self.read() as connection:
            (size,) = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        return int(size)

    def forbid_writes(self) -> AbstractContextManager[None]:
        """Do nothing: the user's rights decide."""
        return nullcontext()

    def vacuum(self, *, patience: float | None = None) -> bool:
        """Do nothing: the server's autovacuum frees deleted rows."""
        del patience
        return True

    @contextmanager
    def read(self) -> Iterator[PostgresConnection]:
        """Give a connection that sees one consistent snapshot; within write() it sees the transaction."""
        current = self._current()
        if current is not None:
            with self._translated():
                yield current.connection
            return
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", writing=False) as begun:
            yield begun.connection

    def epoch(self) -> int | None:
        """Return None: snapshots have names, which change with each write."""
        return None

    def first_epoch(self) -> int | None:
        """Return None: see `epoch`."""
        return None

    @contextmanager
    def write(self, *, patience: float | None = None, note: bool = False) -> Iterator[PostgresConnection]:  # noqa: ARG002
        """Give the connection inside the one write transaction; a nested call joins the outer one.

        Commits when the block ends, rolls back when it raises; a lost connection rolls back as well. Raises
        StoreBusyError after `patience` seconds of waiting (None: `busy_timeout`), StorageError where nothing
        can be written.
        """
        current = self._current()
        if current is not None:
            if not current.writing:
                raise RuntimeError("a write inside of a read would be rolled back with it")
            yield current.connection
            return
        waited = self.busy_timeout if patience is None else patience
        milliseconds = max(1, round(waited * 1000))
        begin = (
            f"BEGIN; SET LOCAL lock_timeout = {milliseconds};"
            f" SELECT pg_advisory_xact_lock({WRITERS[0]}, {WRITERS[1]})"
        )
        with self._transaction(begin, writing=True) as begun:
            if not self._exists:
                self._make_namespace(begun.connection)
            yield begun.connection

    def _make_namespace(self, connection: PostgresConnection) -> None:
        # Asked first, because IF NOT EXISTS demands the right to create even where there is nothing to do.
        (there,) = connection.execute("SELECT to_regnamespace(?) IS NOT NULL", (NAMESPACE,)).fetchone()
        if not there:
            connection.execute(f"CREATE SCHEMA {NAMESPACE}")

    def _current(self) -> _Transaction | None:
        found: _Transaction | None = getattr(self._local, "transaction", None)
        if found is not None and current_principal.get() not in {None, found.principal}:
            raise RuntimeError("a member may not join the transaction of another, or of the owner")
        return found

    @contextmanager
    def _transaction(self, begin: str, *, writing: bool) -> Iterator[_Transaction]:
        principal = current_principal.get()
        raw = self._begin(begin + settings_of(principal))
        transaction = _Transaction(PostgresConnection(raw), writing, principal)
        self._local.transaction = transaction
        try:
            with self._translated():
                yield transaction
                self._end(raw, writing=writing)
        finally:
            self._local.transaction = None
            self._put_back(raw)

    def _begin(self, begin: str) -> "psycopg.Connection[Any]":
        driver = _driver()
        raw, fresh = self._take()
        try:
            raw.execute(begin)
        except driver.errors.LockNotAvailable as error:
            self._put_back(raw)
            raise StoreBusyError(
                f"another process has been writing for {self.busy_timeout:g} s", hint="try again in a moment"
            ) from error
        except driver.Error as error:
            lost = raw.closed
            self._put_back(raw)
            if lost and not fresh:
                # It was closed while it lay ready; nothing was done yet, and the others are as old.
                self.close()
                return self._begin(begin)
            raise error_for(error.sqlstate, str(error), self.place) from error
        except BaseException:
            self._put_back(raw)
            raise
        return raw

    def _end(self, raw: "psycopg.Connection[Any]", *, writing: bool) -> None:
        if not writing:
            raw.execute("ROLLBACK")
            return
        try:
            ended = raw.execute("COMMIT").statusmessage
        except _driver().Error as error:
            if not raw.closed:
                raise
            said = " ".join(str(error).split())
            raise StorageError(
                f'the connection to "{self.place}" was lost while it committed: {said}',
                hint="repeat the command; stored texts are not stored twice",
            ) from error
        if ended != "COMMIT":
            # So PostgreSQL answers, without an error, where a statement had failed and somebody went on.
            raise StorageError(
                f'the database "{self.place}" rolled back, because a statement failed; nothing was written',
                hint="please report it, with the command that failed",
            )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        driver = _driver()
        try:
            yield
        except driver.Error as error:
            if error.sqlstate is None and isinstance(error, driver.OperationalError):
                raise error_for("08", f"{error}; nothing of it was written", self.place) from error
            # The driver itself rejects a value, before any server has seen it.
            state = error.sqlstate or ("22" if isinstance(error, driver.DataError) else None)
            if state == "42501" and (principal := current_principal.get()) is not None:
                # The server's words name the table, and nothing of a row.
                raise ForbiddenError(
                    f'"{principal.member}" may not write this: it belongs to other members',
                    hint="members can write their own memories and those of their projects; ask an admin",
                ) from error
            raise error_for(state, str(error), self.place) from error

    def _take(self) -> "tuple[psycopg.Connection[Any], bool]":
        with self._guard:
            if self._idle:
                return self._idle.pop(), False
        return self._open(), True

    def _put_back(self, raw: "psycopg.Connection[Any]") -> None:
        driver = _driver()
        if not raw.closed and raw.info.transaction_status != driver.pq.TransactionStatus.IDLE:
            with suppress(driver.Error):
                raw.execute("ROLLBACK")
        if raw.closed or raw.info.transaction_status != driver.pq.TransactionStatus.IDLE:
            raw.close()
            return
        with self._guard:
            self._idle.append(raw)

    def _open(self) -> "psycopg.Connection[Any]":
        driver = _driver()
        from ragmem.storage.sql.postgres_values import register  # noqa: PLC0415 - needs psycopg

        parameters = self._parameters()
        offline.require_local(_hosts(parameters))
        try:
            raw: psycopg.Connection[Any] = driver.connect(**parameters, autocommit=True)
        except driver.Error as error:
            raise refusal(str(error), self.place) from error
        try:
            raw.execute(_SETTINGS)
            encoding, standby, read_only = raw.execute(
                "SELECT current_setting('server_encoding'), pg_is_in_recovery(),"
                " current_setting('default_transaction_read_only') = 'on'"
            ).fetchone() or ("", False, False)
        except driver.Error as error:
            raw.close()
            raise error_for(error.sqlstate, str(error), self.place) from error
        if encoding != "UTF8":
            raw.close()
            raise StorageError(
                f'the database "{self.place}" has the encoding {encoding}, not UTF8',
                hint="create it with: createdb --encoding UTF8 --template template0 NAME",
            )
        self.read_only = bool(standby or read_only)
        register(raw)
        return raw

    def _parameters(self) -> dict[str, Any]:
        driver = _driver()
        try:
            given = driver.conninfo.conninfo_to_dict(self.url)
        except driver.Error:
            # Its message holds the address, and that the password.
            given = None
        if given is None:
            raise ConfigError(
                f'store.url: "{self.place}" is not a URL of a PostgreSQL database',
                hint="write postgresql://user@host:5432/name; special characters of a password as %XX",
            )
        defaults = {
            "connect_timeout": CONNECT_TIMEOUT,
            "application_name": "ragmem",
            "client_encoding": "UTF8",
        }
        return {**defaults, **given, "client_encoding": "UTF8"}

    def close(self) -> None:
        """Close the connections that lie ready; closing twice is fine."""
        with self._guard:
            for raw in self._idle:
                raw.close()
            self._idle.clear()


def server_version(database: Database) -> str:
    """Return the name and version of the server."""
    with database.read() as connection:
        (version,) = connection.execute("SELECT version()").fetchone()
    return " ".join(str(version).split()[:2])


def extension_versions(database: Database, name: str) -> tuple[str, str | None] | None:
    """Return the version that the server offers of an extension and the one in use (None: not in use).

    None where the server does not have it.
    """
    with database.read() as connection:
        row = connection.execute(
            "SELECT default_version, installed_version FROM pg_available_extensions WHERE name = ?", (name,)
        ).fetchone()
    return row and tuple(row)
