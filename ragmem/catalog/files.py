"""What seed saw of each file, so that an unchanged one is not opened again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import orjson

from ragmem.catalog.database import Database


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
    """The files that were seeded."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def seen(self, source: str) -> dict[str, SeenFile]:
        """Return path -> file of one source."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT source, path, size, modified_ns, rules, tally FROM files WHERE source = ?", (source,)
            ).fetchall()
        return {
            row[1]: SeenFile(row[0], row[1], row[2], row[3], row[4], orjson.loads(row[5])) for row in rows
        }

    def remember(self, files: Iterable[SeenFile]) -> None:
        """Write what was seen; a file that is known is replaced."""
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO files (source, path, size, modified_ns, rules, tally) VALUES (?,?,?,?,?,?)"
                " ON CONFLICT (source, path) DO UPDATE SET size = excluded.size,"
                " modified_ns = excluded.modified_ns, rules = excluded.rules, tally = excluded.tally",
                [
                    (f.source, f.path, f.size, f.modified_ns, f.rules, orjson.dumps(dict(f.tally)).decode())
                    for f in files
                ],
            )

    def forget(self, paths: Iterable[tuple[str, str]]) -> None:
        """Forget (source, path) pairs, so that the next seed reads them anew."""
        with self._database.write() as connection:
            connection.executemany("DELETE FROM files WHERE source = ? AND path = ?", list(paths))
