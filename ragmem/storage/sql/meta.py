"""The catalog's table `meta`: one text for each key."""

from ragmem.storage.sql.database import Connection, Database
from ragmem.storage.sql.migrations import table_exists


def read(database: Database, key: str) -> str | None:
    """Return the value of a key; None where there is no value, no table or no database."""
    if not database.exists():
        return None
    with database.read() as connection:
        return get(connection, key) if table_exists(database, connection, "meta") else None


def get(connection: Connection, key: str) -> str | None:
    """Return the value of a key, None where there is no value; the table must exist."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def put(connection: Connection, key: str, value: str) -> None:
    """Set the value of a key within the caller's transaction."""
    connection.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )


def delete(connection: Connection, key: str) -> None:
    """Remove a key within the caller's transaction, if it is there."""
    connection.execute("DELETE FROM meta WHERE key = ?", (key,))
