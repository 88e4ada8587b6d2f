"""The edited files and commits that the metadata of memories mention, and the files they were read from."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import orjson

from ragmem.frozen import dataclass
from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Connection, Database

FILES = "files"
"""The key in a memory's metadata: the paths that were edited, one a line, once for each edit.

A list in a note's frontmatter arrives as one line, divided by a comma and a blank.
"""

COMMITS = "commits"
"""The key of the commits that were made: hashes or prefixes of them."""

SHORT_HASH = 7
"""Characters of a commit's hash by which it is looked up, as git shows them."""

_COMMIT = "commit "
"""Marks the prefix of a hash in the column for the name of a file."""

_HASH = re.compile(r"[0-9a-f]{7,40}")
_DIVIDED = re.compile(r"\n|, ")

MAX_PATH = 1000
"""Characters of a path; a longer line is not a path, and would not fit into PostgreSQL's index."""

MOST = 2000
"""Latest edits of files of one name that are read: thousands of sessions may have edited a README."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A memory with edits to a file: its first chunk, the path as it was stated, and the number of edits.

    `event_at` is the event time of the memory, in microseconds since 1970.
    """

    memory_id: str
    chunk_id: str
    path: str
    edits: int
    event_at: int


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A memory that was read from a file, with its first chunk."""

    memory_id: str
    chunk_id: str
    uri: str


def plain_path(path: str) -> str:
    """Normalize a path for storage and comparison: with slashes, without a leading `./`."""
    return path.strip().replace("\\", "/").removeprefix("./")


def edited_paths(metadata: Mapping[str, str]) -> dict[str, int]:
    """Return the paths of the files that a memory says were edited, and how often."""
    counted = Counter(map(plain_path, _DIVIDED.split(str(metadata.get(FILES, "")))))
    return {path: count for path, count in counted.items() if 0 < len(path) <= MAX_PATH}


def mentioned_commits(metadata: Mapping[str, str]) -> list[str]:
    """Return the (perhaps short) hashes of the commits that a memory mentions."""
    return list(dict.fromkeys(_HASH.findall(str(metadata.get(COMMITS, "")).lower())))


def drop(connection: Connection, number: int) -> None:
    """Remove the edits and commits of a memory."""
    connection.execute("DELETE FROM edited_files WHERE memory = ?", (number,))


def add(connection: Connection, number: int, metadata: Mapping[str, str]) -> None:
    """Store the edits and commits in the metadata of a memory."""
    connection.executemany(
        "INSERT INTO edited_files (name, path, memory, edits) VALUES (?, ?, ?, ?)",
        [
            (path.rstrip("/").rpartition("/")[2], path, number, count)
            for path, count in edited_paths(metadata).items()
        ]
        + [(_COMMIT + told[:SHORT_HASH], told, number, 1) for told in mentioned_commits(metadata)],
    )


def build(connection: Connection) -> None:
    """Rebuild the edits of all memories."""
    rows = connection.execute(
        "SELECT n, metadata FROM memories WHERE metadata LIKE ?", (f'%"{FILES}"%',)
    ).fetchall()
    for number, metadata in rows:
        drop(connection, number)
        add(connection, number, orjson.loads(metadata))


def commits_of(database: Database, told: str, *, projects: Sequence[str] | None) -> list[Edit]:
    """Return the memories that made a commit, the latest first; `told` is (a prefix of) its hash."""
    return [
        edit
        for edit in edits_of(database, _COMMIT + told[:SHORT_HASH], projects=projects)
        if edit.path.startswith(told) or told.startswith(edit.path)
    ]


def _within(projects: Sequence[str] | None) -> tuple[str, list[str]]:
    """Return the condition that a memory is of these projects (None: all), and its values."""
    if projects is None:
        return "", []
    # An expression, so that SQLite does not read all memories of the projects by their index.
    return f"AND m.project || '' IN ({marks(projects)})", list(projects)


def edits_of(database: Database, name: str, *, projects: Sequence[str] | None) -> list[Edit]:
    """Return the edits of files of this name, in these projects (None: all), the latest memories first."""
    condition, values = _within(projects)
    return [
        Edit(*row)
        for row in database.select(
            "SELECT m.id, c.id, e.path, e.edits, m.event_at FROM edited_files e"
            " JOIN memories m ON m.n = e.memory JOIN chunks c ON c.memory = m.n AND c.position = 0"
            f" WHERE e.name = ? {condition} ORDER BY m.event_at DESC, m.id LIMIT ?",
            (name, *values, MOST),
        )
    ]


def stored_files(database: Database, name: str, *, projects: Sequence[str] | None) -> list[StoredFile]:
    """Return the memories of files of this name, in these projects (None: all), in order of their uris."""
    escaped = re.sub(r"[!%_]", r"!\g<0>", name)
    condition, values = _within(projects)
    return [
        StoredFile(*row)
        for row in database.select(
            # The inner query reads an index only, and no text.
            "SELECT m.id, c.id, m.uri FROM memories m JOIN chunks c ON c.memory = m.n AND c.position = 0"
            " WHERE m.n IN (SELECT n FROM memories WHERE uri LIKE ? ESCAPE '!')"
            f" {condition} ORDER BY m.uri, m.id LIMIT ?",
            (f"%{escaped}", *values, MOST),
        )
    ]
