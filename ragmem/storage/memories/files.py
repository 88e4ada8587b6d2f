"""The files that seed has seen, so that unchanged ones are not opened again.

Where several machines share the database, each has its own files: a path has the prefix of its machine.
"""

from collections.abc import Iterable, Mapping

import orjson

from ragmem.frozen import dataclass
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.machine_id import machine_of, prefix_of, without_machine

GONE = -1
"""The size of a file that no longer exists."""


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as seed left it: size in bytes, modification time in ns, rules applied, memories by tier."""

    source: str
    path: str
    size: int
    modified_ns: int
    rules: str
    tally: Mapping[str, int]


def file_values(file: SeenFile, prefix: str) -> tuple[str | int, ...]:
    """Return the values of a file's row, with the prefix of the machine before its path."""
    tally = orjson.dumps(dict(file.tally)).decode()
    return file.source, prefix + file.path, file.size, file.modified_ns, file.rules, tally


class Files:
    """The files that were seeded, on this machine unless said otherwise."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def is_shared(self) -> bool:
        """Return whether other machines may have seeded files into the same database."""
        return bool(machine_of(self._database))

    def seen_files(self, source: str) -> dict[str, SeenFile]:
        """Return path -> file of one source, including missing files."""
        here = prefix_of(self._database)
        rows = self._database.select(
            "SELECT source, path, size, modified_ns, rules, tally FROM files"
            " WHERE source = ? AND substr(path, 1, ?) = ?",
            (source, len(here), here),
        )
        return {
            path: SeenFile(row[0], path, row[2], row[3], row[4], orjson.loads(row[5]))
            for row in rows
            for path in (row[1].removeprefix(here),)
        }

    def paths_elsewhere(self, source: str) -> set[str]:
        """Return the paths of a source on other machines, as of their last seeding."""
        if not self.is_shared:
            return set()
        here = prefix_of(self._database)
        return {
            without_machine(path)
            for (path,) in self._database.select(
                "SELECT path FROM files WHERE source = ? AND substr(path, 1, ?) <> ? AND size <> ?",
                (source, len(here), here, GONE),
            )
        }

    def remember(self, files: Iterable[SeenFile]) -> None:
        """Write seen files, replacing known ones."""
        here = prefix_of(self._database)
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO files (source, path, size, modified_ns, rules, tally) VALUES (?,?,?,?,?,?)"
                " ON CONFLICT (source, path) DO UPDATE SET size = excluded.size,"
                " modified_ns = excluded.modified_ns, rules = excluded.rules, tally = excluded.tally",
                [file_values(file, here) for file in files],
            )

    def mark_gone(self, source: str, paths: Iterable[str]) -> None:
        """Mark files of this machine as missing; each is read again if it returns."""
        here = prefix_of(self._database)
        with self._database.write() as connection:
            connection.executemany(
                "UPDATE files SET size = ? WHERE source = ? AND path = ?",
                [(GONE, source, here + path) for path in paths],
            )

    def gone(self) -> set[tuple[str, str]]:
        """Return the (source, path) of each file of this machine that is marked as missing."""
        here = prefix_of(self._database)
        rows = self._database.select(
            "SELECT source, path FROM files WHERE size = ? AND substr(path, 1, ?) = ?",
            (GONE, len(here), here),
        )
        return {(source, path.removeprefix(here)) for source, path in rows}

    def forget(self, paths: Iterable[tuple[str, str]]) -> None:
        """Delete (source, path) pairs, so that the next seed reads them again."""
        here = prefix_of(self._database)
        with self._database.write() as connection:
            connection.executemany(
                "DELETE FROM files WHERE source = ? AND path = ?",
                [(source, here + path) for source, path in paths],
            )
