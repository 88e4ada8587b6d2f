"""The trash: memories that gc removed, whole, until they expire."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson

from ragmem.catalog.database import Database
from ragmem.catalog.rows import MEMORY_COLUMNS, from_stamp, memory_from, memory_values, to_stamp
from ragmem.domain.model import Memory


@dataclass(frozen=True, slots=True)
class TrashRun:
    """One gc run that can be undone."""

    run: str
    at: datetime
    memories: int


class Trash:
    """Removed memories, by the run that removed them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, run: str, items: Iterable[tuple[Memory, str]], *, now: datetime) -> None:
        """Keep memories with the rule that removed them."""
        with self._database.write() as connection:
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
                        to_stamp(now),
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
