"""Migrate databases: a new one gets every step of its schema, an older one the missing steps, all or none.

A schema is a list of steps, numbered from 1; the first makes the tables. To change a released schema:

1. Append a `Migration` with the next number and statements that turn the tables of the step before into the
   new ones. Never edit a step that was released: its checksum is stored in every home (a test pins them).
2. Prefer statements that can be repeated (`IF NOT EXISTS`); a `function` runs after the statements, in the
   same transaction, for what SQL cannot express.
3. `reads_without=True` says that a read-only home may be read before the step was taken.
4. `python scripts/make_home_fixture.py` stores a home of the release for the tests.

Nothing else knows the number: the schema's version is that of its last step.
"""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from ragmem.errors import OlderSchemaError, StoreDamagedError
from ragmem.frozen import dataclass
from ragmem.storage.sql.backups import OF_MIGRATIONS, back_up
from ragmem.storage.sql.database import Connection, Database, Row

Announce = Callable[[str], None]
"""Receives one line before a step that takes long."""

LARGE = 20_000_000
"""Bytes of a database file above which its steps take more than some seconds."""

TABLE = "migrations"
"""Which steps a database has taken."""

_CREATE = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
  component TEXT NOT NULL,
  version INTEGER NOT NULL,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at BIGINT NOT NULL,
  PRIMARY KEY (component, version)
)
"""

_TABLE_EXISTS = {
    "sqlite": "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?",
    "postgres": "SELECT count(*) FROM (SELECT to_regclass(CAST(? AS text)) AS t) AS f WHERE t IS NOT NULL",
}


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from a version to the next; frozen once released."""

    version: int
    name: str
    statements: Sequence[str] = ()
    function: Callable[[Connection], None] | None = None
    reads_without: bool = False

    @property
    def checksum(self) -> str:
        """Return a hash that identifies the step; comments and spaces do not count."""
        parts = [str(self.version), self.name, *(normalize(statement) for statement in self.statements)]
        if self.function is not None:
            parts.append(self.function.__qualname__)
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]

    def run(self, connection: Connection) -> None:
        """Take the step inside of the caller's transaction."""
        for statement in self.statements:
            connection.execute(statement)
        if self.function is not None:
            self.function(connection)


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of one component.

    `stamped` reads the version where the component's first release kept it (None: only in `migrations`), and
    `stamp` writes it there, so that releases that know nothing of `migrations` refuse a newer database too.
    `copied` says whether a database is backed up before it takes steps.
    """

    component: str
    migrations: Sequence[Migration]
    stamped: Callable[[Database, Connection], int | None] = lambda *_: None
    stamp: Callable[[Connection, int], None] | None = None
    copied: bool = True
    _checksums: dict[int, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def version(self) -> int:
        """The version that this ragmem reads and writes."""
        return self.migrations[-1].version

    @property
    def checksums(self) -> Mapping[int, str]:
        """Version -> checksum of each step."""
        if not self._checksums:
            self._checksums.update({step.version: step.checksum for step in self.migrations})
        return self._checksums


@dataclass(frozen=True, slots=True)
class SchemaState:
    """The version of a database (0: no tables) and version -> checksum of the recorded steps."""

    version: int
    recorded: Mapping[int, str]


def normalize(statement: str) -> str:
    """Return a statement without comments and with single spaces."""
    lines = (line.partition("--")[0] for line in statement.splitlines())
    return " ".join(" ".join(lines).split())


def statements_of(script: str) -> list[str]:
    """Return the statements of a script that has no trigger; executescript() would commit a transaction."""
    lines = "\n".join(line.partition("--")[0] for line in script.splitlines())
    return [statement for statement in (part.strip() for part in lines.split(";")) if statement]


def table_exists(database: Database, connection: Connection, name: str) -> bool:
    """Return whether a database has a table."""
    (count,) = connection.execute(_TABLE_EXISTS[database.dialect], (name,)).fetchone()
    return bool(count)


def select_from(database: Database, table: str, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
    """Return the rows of a query; none where the database is older than the table."""
    with database.read() as connection:
        known = table_exists(database, connection, table)
        return connection.execute(sql, parameters).fetchall() if known else []


def schema_state(database: Database, connection: Connection, schema: Schema) -> SchemaState:
    """Return the state of a database; raises StoreDamagedError where the file is not ours."""
    stamped = schema.stamped(database, connection)
    recorded: dict[int, str] = {}
    if stamped != 0 and table_exists(database, connection, TABLE):
        recorded = dict(
            connection.execute(
                f"SELECT version, checksum FROM {TABLE} WHERE component = ? ORDER BY version",
                (schema.component,),
            ).fetchall()
        )
    return SchemaState(max(recorded, default=0) if stamped is None else stamped, recorded)


def silent(line: str) -> None:
    """Ignore the line."""
    del line


def migrate(database: Database, schema: Schema, *, create: bool = True, announce: Announce = silent) -> bool:
    """Bring a database to this ragmem's schema; return whether its tables exist.

    A new database gets them if `create`. An older one is backed up first (if `copied`), then takes the
    missing steps in one transaction: a killed process leaves the old version or the new one.
    Raises StoreDamagedError when a newer ragmem or another build wrote it, OlderSchemaError when it is older
    and cannot be written.
    """
    with database.read() as connection:
        found = schema_state(database, connection, schema)
    if _is_current(database, schema, found):
        return True
    if found.version == 0 and not create:
        return False
    if database.read_only and found.version:
        if all(step.reads_without for step in _pending_steps(schema, found)):
            return True
        raise OlderSchemaError(
            f'the {schema.component} in "{database.place}" has the older schema {found.version}'
            f" and cannot be written to bring it to {schema.version}",
            hint="run any ragmem command once as a user who can write there",
        )
    with database.write() as connection:
        # Another process may have been first while we waited for the lock.
        found = schema_state(database, connection, schema)
        if _is_current(database, schema, found):
            return True
        if found.version and _takes_long(database, _pending_steps(schema, found)):
            announce(
                f'bringing "{database.place}" from schema {found.version} to {schema.version}:'
                " about a minute for each 100,000 chunks"
            )
        if found.version and schema.copied and database.dialect == "sqlite":
            label = f"before-{schema.component}-schema-{schema.version}"
            back_up(Path(database.place), label, sort=OF_MIGRATIONS)
        connection.execute(_CREATE)
        for step in _pending_steps(schema, found):
            step.run(connection)
        record(connection, schema)
        if schema.stamp is not None:
            schema.stamp(connection, schema.version)
    return True


def record(connection: Connection, schema: Schema) -> None:
    """Record all steps; those that are already recorded keep their date."""
    connection.execute(_CREATE)
    moment = time.time_ns() // 1000
    connection.executemany(
        f"INSERT INTO {TABLE} (component, version, name, checksum, applied_at) VALUES (?,?,?,?,?)"
        " ON CONFLICT (component, version) DO NOTHING",
        [
            (schema.component, step.version, step.name, schema.checksums[step.version], moment)
            for step in schema.migrations
        ],
    )


def _takes_long(database: Database, steps: Sequence[Migration]) -> bool:
    if not any(step.function for step in steps):
        return False
    return database.dialect != "sqlite" or Path(database.place).stat().st_size > LARGE


def _pending_steps(schema: Schema, found: SchemaState) -> list[Migration]:
    return [step for step in schema.migrations if step.version > found.version]


def _is_current(database: Database, schema: Schema, found: SchemaState) -> bool:
    """Return whether a database is current; raises StoreDamagedError for one that must not be changed."""
    if problem := problem_of(schema, found):
        message, hint = problem
        raise StoreDamagedError(f'the database "{database.place}" {message}', hint=hint)
    return found.version == schema.version


def problem_of(schema: Schema, found: SchemaState) -> tuple[str, str] | None:
    """Return why a database in this state must not be used, as (problem, next step); None if it may."""
    last = max(found.recorded, default=0)
    newest = max(found.version, last)
    if newest > schema.version:
        problem = f"was written by a newer ragmem: its {schema.component} has schema {newest}"
        return f"{problem}, this one knows {schema.version}", "update ragmem: pip install --upgrade ragmem"
    for version, checksum in found.recorded.items():
        if checksum != schema.checksums.get(version):
            problem = f"was changed by another build: step {version} of its {schema.component} schema"
            return (
                f"{problem} has the checksum {checksum[:8]}, not {schema.checksums.get(version, '')[:8]}",
                "use the ragmem that made it, or restore a backup: `ragmem doctor` names the newest",
            )
    # Version 1 was released before steps were recorded.
    if last != found.version and (last or found.version > 1):
        problem = f"was partly migrated: its {schema.component} has schema {found.version}"
        return f"{problem}, the last step on record is {last or 'none'}", "ragmem doctor --repair"
    return None
