"""A read-only look into SQLite for Tab: no lock, no file left behind."""

import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from ragmem.config.places import Places, find_places
from ragmem.storage.sql.sqlite import DATABASE_NAME

LIMIT = 50
PATIENCE = 0.2
"""Seconds that Tab waits for a database that another process holds."""

Pairs = Iterable[tuple[str, str]]
"""A value and its hint."""


def places() -> Places:
    """Return the four folders of this home."""
    return find_places(os.environ, home=Path.home(), cwd=Path.cwd())


def rows(sql: str, *parameters: str | int, name: str = DATABASE_NAME) -> list[tuple[str, str]]:
    """Return pairs from the database of that name; none where there is no such file."""
    path = places().data / name
    # What agents say lies on this machine in any case.
    if not path.is_file() or (name == DATABASE_NAME and _is_elsewhere()):
        return []
    # Without a write-ahead log nobody has the database open: reading it as immutable leaves no file behind,
    # and works where the folder is read-only.
    mode = "ro" if path.with_name(path.name + "-wal").exists() else "ro&immutable=1"
    with closing(sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=PATIENCE)) as connection:
        return [(str(value), str(hint)) for value, hint in connection.execute(sql, parameters)]


def _is_elsewhere() -> bool:
    """Tell whether the memory lies in PostgreSQL, which Tab never asks; a file here is a former one then."""
    if profile := os.environ.get("RAGMEM_STORE_PROFILE"):
        return profile == "postgres"
    path = places().config / "config.toml"
    if not path.is_file():
        return False
    table = ""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        # Not parsed, which would cost more than the look into SQLite.
        text = line.partition("#")[0].strip()
        if text.startswith("["):
            table = text.strip("[] ")
        name, _, value = text.partition("=")
        if f"{table}.{name.strip()}".strip(".") == "store.profile":
            return value.strip().strip("\"'") == "postgres"
    return False


def above(prefix: str) -> str:
    """Return the text just above all texts with this prefix: unlike LIKE, no letter of it is a wildcard."""
    return prefix + "\U0010ffff"


def told(count: str) -> str:
    """Return a count of memories as a hint."""
    return "1 memory" if count == "1" else f"{count} memories"


def stored_or_nothing(sql: str, *parameters: str | int) -> list[tuple[str, str]]:
    """Return rows, or none from a damaged database: what the files of settings name can still be offered."""
    try:
        return rows(sql, *parameters)
    except sqlite3.Error:
        return []
