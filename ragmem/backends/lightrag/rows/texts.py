"""The texts of memories, where the catalog is in the same database; without it the store keeps its own."""

import sqlite3


def has_texts(connection: sqlite3.Connection) -> bool:
    """Tell whether the database has the catalog's texts."""
    return (
        connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'chunks'").fetchone()
        is not None
    )


def text_of(connection: sqlite3.Connection, memory: str) -> str | None:
    """Return the text of a memory from the catalog's tables, which must be there; None for an unknown one."""
    row = connection.execute(
        "SELECT CASE summary WHEN '' THEN text ELSE summary END FROM memories WHERE id = ?", (memory,)
    ).fetchone()
    return None if row is None else str(row[0])
