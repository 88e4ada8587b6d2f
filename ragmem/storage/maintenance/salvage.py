"""Read the readable rows of a damaged SQLite file."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragmem.domain.model import Memory, content_hash
from ragmem.errors import StoreDamagedError
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sql.rows import MEMORY_COLUMNS, memory_from

DAMAGED = "damaged"
"""Folder with the damaged files that a repair replaced; it may be deleted."""

HIGHEST_ROW = 1_000_000
"""Row numbers that are tried where the highest one is unreadable."""

_COPIED: tuple[tuple[str, str], ...] = (
    ("meta", "key"),
    ("files", "source, path"),
    ("projects", "id"),
    ("project_paths", "path"),
    ("archive", "run, id"),
    ("log", "n"),
)
"""Tables that are copied unchanged, with the columns of their primary key; code is ingested again."""

_COPIED_IF_THERE: tuple[tuple[str, str], ...] = (
    ("project_commits", "root_commit"),
    ("project_remotes", "remote, project"),
    ("project_aliases", "alias"),
    ("project_moves", "place"),
    ("usage", "day, backend, model, purpose"),
    ("usage_files", "name"),
    ("extractions", "text_hash, model"),
    ("entity_apart", "project, name, rule"),
    ("lives", "id"),
    ("recalled_in", "id, session"),
    ("supersessions", "older"),
    ("merged_from", "merged, original"),
    ("gc_runs", "run"),
    ("gc_changes", "run, what, id"),
    ("skill_drafts", "id"),
    ("shared_records", "project, id"),
    ("shared_supersessions", "project, older, newer, statement"),
    ("share_members", "project, member"),
    ("share_heads", "project, member"),
    ("transcripts", "path"),
    ("injections", "n"),
    ("violations", "n"),
)
"""The same, but an older home does not have them."""

_SEEN = ("files", "transcripts")
"""Tables of files and transcripts that were read."""

_FORMER = ("trash", "archive", {"trashed_at": "archived_at"})
"""The former name of a table, its present name, and the same for its columns."""


@dataclass(slots=True)
class Salvage:
    """The readable memories, the rows of other tables by table, and the losses."""

    memories: list[Memory] = field(default_factory=list)
    rows: dict[str, tuple[list[str], list[tuple[Any, ...]]]] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    """Ids of memories that are known to be lost."""
    incomplete: list[str] = field(default_factory=list)
    """Tables of which an unknown number of rows could not be read."""


def read_damaged(path: Path) -> Salvage:
    """Return all readable data of a damaged catalog; raises StoreDamagedError where nothing can be read.

    A memory is lost if its row cannot be read or its text differs from its hash. If any is lost, the seen
    files and transcripts are left out, so that a seed reads them again.
    """
    found = Salvage()
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            raise StoreDamagedError(
                f'nothing can be read from "{path}": {error}', hint="restore a backup: ragmem restore BACKUP"
            ) from error
        known = _ids(connection)
        whole = True
        # A database of a former release has no clean hash, and that of a damaged one is worth nothing.
        columns = ", ".join("0" if column == "clean_hash" else column for column in MEMORY_COLUMNS)
        for row in _by_number(connection, "memories", columns):
            memory = _memory(row) if row is not None else None
            if memory is not None:
                found.memories.append(memory)
            whole = whole and row is not None
        _read_tables(connection, found)
    read = {memory.id for memory in found.memories}
    found.lost = sorted(known - read)
    if not whole and not found.lost:
        found.incomplete.insert(0, "memories")
    if not whole or found.lost:
        if not found.memories:
            raise StoreDamagedError(
                f'no memory can be read from "{path}"',
                hint="restore a backup: ragmem restore BACKUP; or move the file away and seed again",
            )
        # A file that counts as seen would not be read again, and its memories would stay lost.
        for table in _SEEN:
            found.rows.pop(table, None)
    return found


def _read_tables(connection: sqlite3.Connection, found: Salvage) -> None:
    for table, key in (*_COPIED, *_COPIED_IF_THERE):
        names, rows, complete = _by_key(connection, table, key)
        if not names and table == _FORMER[1]:
            names, rows, complete = _by_key(connection, _FORMER[0], key)
            names = [_FORMER[2].get(name, name) for name in names]
        found.rows[table] = (names, rows)
        if not complete and ((table, key) in _COPIED or _has(connection, table)):
            found.incomplete.append(table)


def write_salvaged(found: Salvage, catalog: Catalog) -> None:
    """Write the rows of the other tables to a new, empty catalog; the caller accepts the memories."""
    with catalog.database.write() as connection:
        for table, (names, rows) in found.rows.items():
            if not rows:
                continue
            connection.executemany(
                f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
                " ON CONFLICT DO NOTHING",
                rows,
            )


def _memory(row: Sequence[Any]) -> Memory | None:
    try:
        memory = memory_from(row)
    except StoreDamagedError:
        return None
    return memory if memory.content_hash == content_hash(memory.text) else None


def _ids(connection: sqlite3.Connection) -> set[str]:
    """Return the ids of the memories from the indexes."""
    found: set[str] = set()
    for query in ("SELECT id FROM memories ORDER BY id", "SELECT id FROM store_documents ORDER BY id"):
        for direction in ("ASC", "DESC"):
            rows, _ = _until_error(connection, f"{query} {direction}")
            found.update(key for (key,) in rows if isinstance(key, str))
    return found


def _until_error(
    connection: sqlite3.Connection, query: str, *values: int
) -> tuple[list[tuple[Any, ...]], bool]:
    rows: list[tuple[Any, ...]] = []
    try:
        for row in connection.execute(query, values):
            rows.append(row)  # noqa: PERF402 - what came before the error is kept
    except sqlite3.Error:
        return rows, False
    return rows, True


def _by_number(connection: sqlite3.Connection, table: str, columns: str) -> Iterator[tuple[Any, ...] | None]:
    """Yield the rows of a table in order, None for each row that cannot be read."""
    last = 0
    rows, complete = _until_error(connection, f"SELECT rowid, {columns} FROM {table} ORDER BY rowid")
    for number, *row in rows:
        last = int(number)
        yield tuple(row)
    if complete:
        return
    # One by one from here: rows after a damaged page are found by their numbers.
    highest, _ = _until_error(connection, f"SELECT max(rowid) FROM {table}")
    end = int(highest[0][0]) if highest and highest[0][0] is not None else last + HIGHEST_ROW
    # One statement for all: there may be a million numbers, and preparing takes longer than running.
    one = f"SELECT {columns} FROM {table} WHERE rowid = ?"
    for number in range(last + 1, end + 1):
        rows, complete = _until_error(connection, one, number)
        if rows or not complete:
            yield rows[0] if complete else None


def _has(connection: sqlite3.Connection, table: str) -> bool:
    rows, complete = _until_error(connection, f"SELECT 1 FROM sqlite_master WHERE name = '{table}'")
    return bool(rows) or not complete


def _by_key(
    connection: sqlite3.Connection, table: str, key: str
) -> tuple[list[str], list[tuple[Any, ...]], bool]:
    """Return the columns and rows of a table, read from both ends, and whether these are all."""
    try:
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    except sqlite3.Error:
        names = []
    if not names:
        return [], [], False
    columns = ", ".join(names)
    rows, complete = _until_error(connection, f"SELECT {columns} FROM {table} ORDER BY {key}")
    if not complete:
        backwards = ", ".join(f"{column} DESC" for column in key.split(", "))
        rows += _until_error(connection, f"SELECT {columns} FROM {table} ORDER BY {backwards}")[0]
    return names, rows, complete
