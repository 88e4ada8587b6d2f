"""What seed saw of each file, so that an unchanged one is not opened again.

Where several machines share the database, each has seen its own files: a path stands behind its machine's id.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import orjson

from ragmem.storage.sql.database import Database
from ragmem.storage.sql.machine_id import machine_of, prefix_of, without_machine

GONE = -1
"""The size of a file that was seen once and is there no more."""


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as seed left it: size in bytes, modification time in ns, rules applied, memories by tier."""

    source: str
    path: str
    size: int
    modified_ns: int
    rules: str
    tally: Mapping[str, int]


class Files:
    """The files that were seeded, on this machine unless said otherwise."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def shared(self) -> bool:
        """Tell whether other machines may have seeded files into the same database."""
        return bool(machine_of(self._database))

    def seen(self, source: str) -> dict[str, SeenFile]:
        """Return path -> file of one source, with those that have gone since."""
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

    def elsewhere(self, source: str) -> set[str]:
        """Return the paths of a source that other machines have, as far as their last seeding told."""
        if not self.shared:
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
        """Write what was seen; a file that is known is replaced."""
        here = prefix_of(self._database)
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO files (source, path, size, modified_ns, rules, tally) VALUES (?,?,?,?,?,?)"
                " ON CONFLICT (source, path) DO UPDATE SET size = excluded.size,"
                " modified_ns = excluded.modified_ns, rules = excluded.rules, tally = excluded.tally",
                [
                    (
                        f.source,
                        here + f.path,
                        f.size,
                        f.modified_ns,
                        f.rules,
                        orjson.dumps(dict(f.tally)).decode(),
                    )
                    for f in files
                ],
            )

    def mark_gone(self, source: str, paths: Iterable[str]) -> None:
        """Tell the other machines that this one has these files no more; each is read anew if it returns."""
        here = prefix_of(self._database)
        with self._database.write() as connection:
            connection.executemany(
                "UPDATE files SET size = ? WHERE source = ? AND path = ?",
                [(GONE, source, here + path) for path in paths],
            )

    def forget(self, paths: Iterable[tuple[str, str]]) -> None:
        """Forget (source, path) pairs, so that the next seed reads them anew."""
        here = prefix_of(self._database)
        with self._database.write() as connection:
            connection.executemany(
                "DELETE FROM files WHERE source = ? AND path = ?",
                [(source, here + path) for source, path in paths],
            )
