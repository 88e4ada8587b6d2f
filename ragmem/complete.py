"""Values for Tab, from a read-only look into SQLite: no lock, no heavy import, silence when it fails."""

import os
import sqlite3
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path

from ragmem.catalog.database import DATABASE_NAME
from ragmem.config.places import find_places
from ragmem.domain.model import SHORT_ID_LENGTH, Kind

LIMIT = 50
HINT_LENGTH = 60

Pairs = Iterable[tuple[str, str]]


def complete(arguments: Sequence[str]) -> int:
    """Print `value TAB hint` lines for `KIND PREFIX`; always return 0, because Tab must never disturb."""
    kind, prefix = [*arguments, "", ""][:2]
    finder = FINDERS.get(kind)
    if finder is None:
        return 0
    try:
        lines = [f"{_clean(value)}\t{_clean(hint)[:HINT_LENGTH]}" for value, hint in finder(prefix)]
        sys.stdout.write("".join(f"{line}\n" for line in lines[:LIMIT]))
    except (OSError, sqlite3.Error, UnicodeError, ValueError):
        # Nothing to offer is the right answer on a home that is missing, locked, damaged or unreadable.
        return 0
    return 0


def _clean(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _rows(sql: str, *parameters: str) -> list[tuple[str, str]]:
    path = find_places(os.environ, home=Path.home(), cwd=Path.cwd()).data / DATABASE_NAME
    if not path.is_file():
        return []
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0.2)) as connection:
        return [(str(value), str(hint)) for value, hint in connection.execute(sql, parameters)]


def _upper(prefix: str) -> str:
    """Return the text just above all texts with this prefix."""
    return prefix + "\U0010ffff"


def _sources(prefix: str) -> Pairs:
    return _rows(
        "SELECT source, count(*) || ' memories' FROM memories WHERE source >= ? AND source < ?"
        f" GROUP BY source ORDER BY source LIMIT {LIMIT}",
        prefix,
        _upper(prefix),
    )


def _projects(prefix: str) -> Pairs:
    return _rows(
        f"SELECT name, root FROM projects WHERE name >= ? AND name < ? ORDER BY name LIMIT {LIMIT}",
        prefix,
        _upper(prefix),
    )


def _memories(prefix: str) -> Pairs:
    return _rows(
        f"SELECT substr(id, 1, {SHORT_ID_LENGTH}), title FROM memories WHERE id >= ? AND id < ?"
        f" ORDER BY {'id' if prefix else 'updated_at DESC'} LIMIT {LIMIT}",
        prefix.lower(),
        _upper(prefix.lower()),
    )


def _entities(prefix: str) -> Pairs:
    # The best connected first; the shell sorts as it likes.
    return _rows(
        "SELECT id, degree || ' relations' FROM store_nodes WHERE folded >= ? AND folded < ?"
        f" GROUP BY id ORDER BY max(degree) DESC, id LIMIT {LIMIT}",
        prefix.lower(),
        _upper(prefix.lower()),
    )


def _tags(prefix: str) -> Pairs:
    return _rows(
        "SELECT value, count(*) || ' memories' FROM memories, json_each(memories.tags)"
        f" WHERE value >= ? AND value < ? GROUP BY value ORDER BY count(*) DESC, value LIMIT {LIMIT}",
        prefix,
        _upper(prefix),
    )


def _runs(prefix: str) -> Pairs:
    return _rows(
        "SELECT run, count(*) || ' memories' FROM trash WHERE run >= ? AND run < ?"
        f" GROUP BY run ORDER BY max(trashed_at) DESC LIMIT {LIMIT}",
        prefix,
        _upper(prefix),
    )


def _kinds(prefix: str) -> Pairs:
    return [(kind.value, "") for kind in Kind if kind.value.startswith(prefix)]


FINDERS: dict[str, Callable[[str], Pairs]] = {
    "entity": _entities,
    "kind": _kinds,
    "memory": _memories,
    "project": _projects,
    "run": _runs,
    "source": _sources,
    "tag": _tags,
}
