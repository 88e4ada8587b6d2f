"""The positions up to which transcripts of assistants were read.

Where several machines share the database, a path has the prefix of its machine: a transcript is a local file,
while its memories are shared.
"""

from collections.abc import Iterable
from dataclasses import astuple
from datetime import datetime
from typing import Any

from ragmem.domain.sessions.transcript import ENTIRE
from ragmem.frozen import dataclass
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.machine_id import prefix_of
from ragmem.storage.sql.migrations import select_from
from ragmem.storage.sql.rows import from_stamp, to_stamp

_COLUMNS = (
    "path, assistant, session, project, head, size, modified_ns, position, exchanges, carried, rules, read_at"
)


@dataclass(frozen=True, slots=True)
class Transcript:
    """The state of a transcript: `position` counts bytes and follows the end of a line.

    `head` is a hash of the start of the file, `carried` the state of the reader at the position, as JSON,
    `rules` a hash of the rules for reading it, and `exchanges` the number of stored exchanges.
    """

    path: str
    assistant: str
    session: str
    project: str
    head: str
    size: int
    modified_ns: int
    position: int
    exchanges: int
    carried: str
    rules: str
    read_at: datetime


class Transcripts:
    """The transcripts that were read on this machine; none where the catalog is older than this table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, path: str) -> Transcript | None:
        """Return the state of a transcript; None for an unread one."""
        here = prefix_of(self._database)
        rows = self._rows(f"SELECT {_COLUMNS} FROM transcripts WHERE path = ?", here + path)
        return _read(rows[0], here) if rows else None

    def keep(self, transcript: Transcript) -> None:
        """Write the state of a transcript, within the caller's transaction if there is one."""
        here = prefix_of(self._database)
        path, *others, read_at = astuple(transcript)
        with self._database.write() as connection:
            connection.execute("DELETE FROM transcripts WHERE path = ?", (here + path,))
            connection.execute(
                f"INSERT INTO transcripts ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                (here + path, *others, to_stamp(read_at)),
            )

    def forget(self, paths: Iterable[str]) -> None:
        """Delete the states of transcripts, so that they are read again; their memories stay."""
        here = prefix_of(self._database)
        with self._database.write() as connection:
            connection.executemany(
                "DELETE FROM transcripts WHERE path = ?", [(here + path,) for path in paths]
            )

    def paths_of(self, session: str) -> list[str]:
        """Return the paths of the transcripts of a session that this machine has read."""
        here = prefix_of(self._database)
        rows = self._rows("SELECT path FROM transcripts WHERE session = ? ORDER BY path", session)
        return [path.removeprefix(here) for (path,) in rows if path.startswith(here)]

    def all(self) -> list[Transcript]:
        """Return the transcripts that this machine has read, the latest first."""
        here = prefix_of(self._database)
        rows = self._rows(
            f"SELECT {_COLUMNS} FROM transcripts WHERE substr(path, 1, ?) = ? ORDER BY read_at DESC, path",
            len(here),
            here,
        )
        return [_read(row, here) for row in rows]

    def last_read_at(self, assistant: str = "") -> datetime | None:
        """Return when a transcript, perhaps of one assistant, was last read; None for never.

        Those in repositories do not count: others may have written them.
        """
        here = prefix_of(self._database)
        condition, values = ("AND assistant = ?", (assistant,)) if assistant else ("", ())
        rows = self._rows(
            "SELECT max(read_at) FROM transcripts"
            f" WHERE substr(path, 1, ?) = ? AND substr(path, 1, ?) <> ? {condition}",
            len(here),
            here,
            len(copied := here + ENTIRE),
            copied,
            *values,
        )
        return None if not rows or rows[0][0] is None else from_stamp(rows[0][0])

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        return select_from(self._database, "transcripts", statement, values)


def _read(row: Any, here: str) -> Transcript:
    fields: dict[str, Any] = dict(zip(_COLUMNS.split(", "), row, strict=True))
    return Transcript(**{**fields, "path": row[0].removeprefix(here), "read_at": from_stamp(row[-1])})
