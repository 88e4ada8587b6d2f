"""Check whether a SQLite database has the tables, columns, indexes and triggers of its schema."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing

from ragmem.errors import StoreDamagedError
from ragmem.frozen import dataclass
from ragmem.storage.sql.database import Connection, Database
from ragmem.storage.sql.migrations import Schema, normalize, record, schema_state


@dataclass(frozen=True, slots=True)
class Object:
    """A table, index or trigger; `columns` are those of a table with their declarations, else empty."""

    type: str
    sql: str
    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Damage:
    """The missing objects of a database: (name, statement that creates it; empty where none can)."""

    missing: tuple[tuple[str, str], ...] = ()
    record: str = ""
    """The fault in the version and the recorded steps."""

    @property
    def text(self) -> str:
        """The damage in one line; an empty text without any."""
        lacking = f"missing: {', '.join(what for what, _ in self.missing)}" if self.missing else ""
        return "; ".join(part for part in (self.record, lacking) if part)


_EXPECTED: dict[tuple[str, ...], Mapping[str, Object]] = {}
"""What steps make, by their checksums; an examination and its repair ask several times."""


def find_damage(database: Database, schema: Schema, *, version: int = 0) -> Damage:
    """Compare a SQLite database with the schema's steps up to a version (0: the database's own).

    Raises StoreDamagedError where another program, a newer ragmem or another build wrote the file.
    """
    with database.read() as connection:
        found = schema_state(database, connection, schema)
        here = _objects(connection)
    if found.version == 0 and not found.recorded:
        return Damage()
    reached = max(found.version, *found.recorded, 0)
    expected = _expected_objects(schema, version or reached)
    missing: list[tuple[str, str]] = []
    for name, wanted in expected.items():
        present = here.get(name)
        if present is None:
            missing.append((f"{wanted.type} {name}", wanted.sql))
            continue
        for column, declared in wanted.columns.items():
            if column not in present.columns:
                addable = "NOT NULL" not in declared or "DEFAULT" in declared
                statement = f"ALTER TABLE {name} ADD COLUMN {column} {declared}" if addable else ""
                missing.append((f"column {name}.{column}", statement))
    problem = ""
    stale = {
        version for version, checksum in found.recorded.items() if checksum != schema.checksums.get(version)
    }
    if reached > schema.version or stale:
        raise StoreDamagedError(
            f'the database "{database.place}" was not written by this build of ragmem',
            hint="use the ragmem that made it, or update: pip install --upgrade ragmem",
        )
    last = max(found.recorded, default=0)
    if last != found.version and (last or found.version > 1):
        problem = f"it says schema {found.version}, the last step on record is {last or 'none'}"
    return Damage(tuple(missing), problem)


def complete(database: Database, schema: Schema) -> list[str]:
    """Create the missing objects and record the steps, in one transaction; return what was created.

    Missing tables come back empty: the caller must refuse where that loses data. Raises StoreDamagedError
    where no statement can create an object.
    """
    with database.write() as connection:
        lacking = find_damage(database, schema, version=schema.version)
        lost = [what for what, statement in lacking.missing if not statement]
        if lost:
            raise StoreDamagedError(
                f'the database "{database.place}" lacks tables that cannot be rebuilt: {", ".join(lost)}',
                hint="restore a backup: `ragmem doctor` names the newest",
            )
        if not lacking.text:
            return []
        # Tables before their indexes and triggers.
        for _, statement in sorted(
            lacking.missing, key=lambda one: not one[0].startswith(("table", "column"))
        ):
            connection.execute(statement)
        record(connection, schema)
        if schema.stamp is not None:
            schema.stamp(connection, schema.version)
    return [what for what, _ in lacking.missing]


def _expected_objects(schema: Schema, version: int) -> Mapping[str, Object]:
    steps = [step for step in schema.migrations if step.version <= version]
    key = tuple(schema.checksums[step.version] for step in steps)
    if key not in _EXPECTED:
        with closing(sqlite3.connect(":memory:")) as connection:
            for step in steps:
                step.run(connection)
            _EXPECTED[key] = _objects(connection)
    return _EXPECTED[key]


def _objects(connection: Connection) -> dict[str, Object]:
    rows = connection.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    virtual = tuple(f"{name}_" for _, name, sql in rows if sql.upper().startswith("CREATE VIRTUAL"))
    return {
        name: Object(kind, sql, _columns(connection, name) if kind == "table" else {})
        for kind, name, sql in rows
        # A virtual table creates and drops the tables with its content itself.
        if not (virtual and name.startswith(virtual))
    }


def _columns(connection: Connection, table: str) -> dict[str, str]:
    columns = {}
    for _, name, kind, required, default, _ in connection.execute(f'PRAGMA table_info("{table}")'):
        parts = (kind, "NOT NULL" if required else "", f"DEFAULT {default}" if default is not None else "")
        columns[name] = normalize(" ".join(parts))
    return columns
