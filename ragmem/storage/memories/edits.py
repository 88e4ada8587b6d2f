"""Which memories tell of edits to which files, and of which commits: what their metadata states of both."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Connection, Database

FILES = "files"
"""The key in a memory's metadata: the paths that were edited, one a line, once for each edit.

A list in a note's frontmatter arrives as one line, divided by a comma and a blank.
"""

COMMITS = "commits"
"""The key of the commits that were made: hashes or beginnings of them."""

SHORT_HASH = 7
"""Characters of a commit's hash by which it is looked up; git itself shows no fewer."""

_COMMIT = "commit "
"""Stands before the beginning of a hash where the name of a file would stand."""

_HASH = re.compile(r"[0-9a-f]{7,40}")
_DIVIDED = re.compile(r"\n|, ")

MAX_PATH = 1000
"""Characters of a path; a longer line is none, and would not fit into PostgreSQL's index."""

MOST = 2000
"""Latest edits of files of one name that are looked at: thousands of sessions may have edited a README."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A memory that tells of edits to a file: its first chunk, the path as it was told, and how many edits.

    `event_at` is when that memory happened, in microseconds since 1970.
    """

    memory_id: str
    chunk_id: str
    path: str
    edits: int
    event_at: int


def plain_path(path: str) -> str:
    """Return a path as it is stored and compared: with slashes, without a leading `./`."""
    return path.strip().replace("\\", "/").removeprefix("./")


def edited_paths(metadata: Mapping[str, str]) -> dict[str, int]:
    """Return the paths of the files that a memory tells of having edited, and how often each."""
    counted = Counter(map(plain_path, _DIVIDED.split(str(metadata.get(FILES, "")))))
    return {path: count for path, count in counted.items() if 0 < len(path) <= MAX_PATH}


def told_commits(metadata: Mapping[str, str]) -> list[str]:
    """Return the hashes of the commits that a memory tells of, as far as it told them."""
    return list(dict.fromkeys(_HASH.findall(str(metadata.get(COMMITS, "")).lower())))


def record(connection: Connection, number: int, metadata: Mapping[str, str]) -> None:
    """Write the edits and commits of which a memory tells, in place of those that it told of before."""
    connection.execute("DELETE FROM edited_files WHERE memory = ?", (number,))
    connection.executemany(
        "INSERT INTO edited_files (name, path, memory, edits) VALUES (?, ?, ?, ?)",
        [
            (path.rstrip("/").rpartition("/")[2], path, number, count)
            for path, count in edited_paths(metadata).items()
        ]
        + [(_COMMIT + told[:SHORT_HASH], told, number, 1) for told in told_commits(metadata)],
    )


def build(connection: Connection) -> None:
    """Write the edits of all memories anew."""
    rows = connection.execute(
        "SELECT n, metadata FROM memories WHERE metadata LIKE ?", (f'%"{FILES}"%',)
    ).fetchall()
    for number, metadata in rows:
        record(connection, number, orjson.loads(metadata))


def commits_of(database: Database, told: str, *, projects: Sequence[str] | None) -> list[Edit]:
    """Return where a commit was made, the latest first; `told` is its hash or 7 characters of it or more."""
    return [
        edit
        for edit in edits_of(database, _COMMIT + told[:SHORT_HASH], projects=projects)
        if edit.path.startswith(told) or told.startswith(edit.path)
    ]


def edits_of(database: Database, name: str, *, projects: Sequence[str] | None) -> list[Edit]:
    """Return the edits of files of this name, in these projects (None: all), the latest memories first."""
    condition, values = "", list[str]()
    if projects is not None:
        # An expression: by its index on projects SQLite would go through all their memories.
        condition, values = f"AND m.project || '' IN ({marks(projects)})", list(projects)
    return [
        Edit(*row)
        for row in database.select(
            "SELECT m.id, c.id, e.path, e.edits, m.event_at FROM edited_files e"
            " JOIN memories m ON m.n = e.memory JOIN chunks c ON c.memory = m.n AND c.position = 0"
            f" WHERE e.name = ? {condition} ORDER BY m.event_at DESC, m.id LIMIT ?",
            (name, *values, MOST),
        )
    ]
