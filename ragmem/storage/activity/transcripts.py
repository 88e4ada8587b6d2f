"""How far the transcripts of assistants were read, so that each is read on from there.

Where several machines share the database, a path stands behind its machine's id: a transcript is a file of
one machine, and what it told belongs to everyone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ragmem.storage.sql.database import Database
from ragmem.storage.sql.machine_id import prefix_of
from ragmem.storage.sql.migrations import table_exists
from ragmem.storage.sql.rows import from_stamp, to_stamp

_COLUMNS = (
    "path, assistant, session, project, head, size, modified_ns, position, exchanges, carried, rules, read_at"
)


@dataclass(frozen=True, slots=True)
class Transcript:
    """A transcript as it was left: `position` counts bytes and lies behind the end of a line.

    `head` is a hash of how the file begins, `carried` is what the reader needs to go on from the position, in
    JSON, `rules` is a hash of what decided how it was read, and `exchanges` how many of it were stored.
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
        """Return how far a transcript was read; None for one that never was."""
        here = prefix_of(self._database)
        rows = self._rows(f"SELECT {_COLUMNS} FROM transcripts WHERE path = ?", here + path)
        return _read(rows[0], here) if rows else None

    def keep(self, transcript: Transcript) -> None:
        """Write how far a transcript was read, within the caller's transaction where there is one."""
        t = transcript
        with self._database.write() as connection:
            connection.execute(
                "DELETE FROM transcripts WHERE path = ?", (prefix_of(self._database) + t.path,)
            )
            connection.execute(
                f"INSERT INTO transcripts ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                (
                    prefix_of(self._database) + t.path,
                    t.assistant,
                    t.session,
                    t.project,
                    t.head,
                    t.size,
                    t.modified_ns,
                    t.position,
                    t.exchanges,
                    t.carried,
                    t.rules,
                    to_stamp(t.read_at),
                ),
            )

    def forget(self, paths: Iterable[str]) -> None:
        """Forget transcripts, so that they are read anew from their beginning; their memories stay."""
        here = prefix_of(self._database)
        with self._database.write() as connection:
            connection.executemany(
                "DELETE FROM transcripts WHERE path = ?", [(here + path,) for path in paths]
            )

    def seen(self) -> list[Transcript]:
        """Return the transcripts that this machine has read, the one that was read last first."""
        here = prefix_of(self._database)
        rows = self._rows(
            f"SELECT {_COLUMNS} FROM transcripts WHERE substr(path, 1, ?) = ? ORDER BY read_at DESC, path",
            len(here),
            here,
        )
        return [_read(row, here) for row in rows]

    def last_read_at(self, assistant: str = "") -> datetime | None:
        """Return when a transcript, of one assistant where it is given, was read last; None for never."""
        here = prefix_of(self._database)
        condition, values = ("AND assistant = ?", (assistant,)) if assistant else ("", ())
        rows = self._rows(
            f"SELECT max(read_at) FROM transcripts WHERE substr(path, 1, ?) = ? {condition}",
            len(here),
            here,
            *values,
        )
        return None if not rows or rows[0][0] is None else from_stamp(rows[0][0])

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        with self._database.read() as connection:
            if not table_exists(self._database, connection, "transcripts"):
                return []
            return list(connection.execute(statement, values).fetchall())


def _read(row: Any, here: str) -> Transcript:
    fields: dict[str, Any] = dict(zip(_COLUMNS.split(", "), row, strict=True))
    return Transcript(**{**fields, "path": row[0].removeprefix(here), "read_at": from_stamp(row[-1])})
