"""The trash: memories that gc or a person removed, whole, until they expire."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson

from ragmem.catalog.database import Connection, Database
from ragmem.catalog.rows import MEMORY_COLUMNS, from_stamp, memory_from, memory_values, to_stamp
from ragmem.domain.model import Memory


@dataclass(frozen=True, slots=True)
class TrashRun:
    """One gc run that can be undone."""

    run: str
    at: datetime
    memories: int


RECENT = 100
"""Entries of the log that tell whether the clock went backwards. Not all of them: a clock that once was years
ahead is forgotten after so many, and the trash expires again."""

_DAY = 86_400_000_000
"""Microseconds."""


class Trash:
    """Removed memories, by the run that removed them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, run: str, items: Iterable[tuple[Memory, str]], *, now: datetime) -> None:
        """Keep memories with the rule that removed them.

        Where the clock stands before what was done last, they count as removed just after that: else they
        would have expired once the clock is right again, and the latest run would not be the last one.
        """
        with self._database.write() as connection:
            stamp = _not_before(connection, to_stamp(now))
            connection.executemany(
                "INSERT INTO trash (run, id, rule, memory, trashed_at) VALUES (?,?,?,?,?)"
                " ON CONFLICT (run, id) DO UPDATE SET rule = excluded.rule, memory = excluded.memory,"
                " trashed_at = excluded.trashed_at",
                [
                    (
                        run,
                        memory.id,
                        rule,
                        orjson.dumps(dict(zip(MEMORY_COLUMNS, memory_values(memory), strict=True))).decode(),
                        stamp,
                    )
                    for memory, rule in items
                ],
            )

    def runs(self) -> list[TrashRun]:
        """Return the runs that can be undone, latest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT run, max(trashed_at), count(*) FROM trash GROUP BY run ORDER BY 2 DESC, 1 DESC"
            ).fetchall()
        return [TrashRun(run, from_stamp(at), count) for run, at, count in rows]

    def memories(self, run: str) -> list[Memory]:
        """Return the memories that a run removed."""
        with self._database.read() as connection:
            rows = connection.execute("SELECT memory FROM trash WHERE run = ? ORDER BY id", (run,)).fetchall()
        return [
            memory_from(tuple(value[column] for column in MEMORY_COLUMNS))
            for value in (orjson.loads(row[0]) for row in rows)
        ]

    def drop(self, run: str) -> None:
        """Forget a run."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM trash WHERE run = ?", (run,))

    def expired(self, *, now: datetime, keep: timedelta) -> int:
        """Return how many memories lie in the trash for longer than `keep`."""
        with self._database.read() as connection:
            (count,) = connection.execute(
                "SELECT count(*) FROM trash WHERE trashed_at < ?", (to_stamp(now - keep),)
            ).fetchone()
        return int(count)

    def purge(self, *, now: datetime, keep: timedelta) -> int:
        """Remove expired memories for good; return how many."""
        with self._database.write() as connection:
            cursor = connection.execute("DELETE FROM trash WHERE trashed_at < ?", (to_stamp(now - keep),))
        return cursor.rowcount


def _not_before(connection: Connection, stamp: int) -> int:
    (done,) = connection.execute(
        "SELECT max(at) FROM (SELECT at FROM log ORDER BY n DESC LIMIT ?) AS recent", (RECENT,)
    ).fetchone()
    stamp = max(stamp, (done or 0) + 1)
    (trashed,) = connection.execute(
        "SELECT max(trashed_at) FROM trash WHERE trashed_at < ?", (stamp + _DAY,)
    ).fetchone()
    return max(stamp, (trashed or 0) + 1)
