"""Summarize a database file of any release: its schema versions and row counts."""

import sqlite3
from pathlib import Path

from ragmem.errors import StoreDamagedError
from ragmem.storage.sql.sqlite_files import open_read_only

_COUNTED = ("projects", "memories", "archive", "files")


def read_summary(path: Path, *, name: Path | None = None) -> tuple[dict[str, int], dict[str, int]]:
    """Return the schema version of each component and the number of rows of each part.

    Raises StoreDamagedError, which calls the file `name`, if it is unreadable or not a memory of ragmem.
    """
    try:
        with open_read_only(path) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            schemas = {"catalog": int(version)}
            tables = {table for (table,) in connection.execute("SELECT name FROM sqlite_master")}
            if "migrations" in tables:
                schemas |= dict(
                    connection.execute("SELECT component, max(version) FROM migrations GROUP BY component")
                )
            # Before schema 8 the archive was called the trash.
            former = {} if "archive" in tables else {"archive": "trash"}
            counts = {
                part: int(connection.execute(f"SELECT count(*) FROM {former.get(part, part)}").fetchone()[0])
                for part in _COUNTED
            }
    except sqlite3.Error as error:
        raise StoreDamagedError(
            f'"{name or path}" is not an intact ragmem database: {error}',
            hint="`ragmem backup --list` names the backups",
        ) from error
    return schemas, counts
