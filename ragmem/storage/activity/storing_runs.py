"""The runs that stored memories, identified by the moment that all memories of a run share."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from ragmem.domain.model import digest
from ragmem.frozen import dataclass
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.rows import from_stamp, to_stamp

_LENGTH = 8


def storing_run(at: datetime) -> str:
    """Return the name of the run that stored at this moment."""
    return digest("stored", str(to_stamp(at)))[:_LENGTH]


@dataclass(frozen=True, slots=True)
class StoringRun:
    """A run with its present memories: those that it stored, and whose text has not changed since.

    `operation` is its name in the log: seed, ingest, inbox, hook; empty for a killed run and without an
    entry. `sources` is source -> memories.
    """

    run: str
    at: datetime
    operation: str = ""
    sources: Mapping[str, int] = field(default_factory=dict)

    @property
    def memories(self) -> int:
        """The number of its memories."""
        return sum(self.sources.values())


class StoringRuns:
    """The storing runs of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def latest(self, limit: int | None = None) -> list[StoringRun]:
        """Return the runs that still have memories, latest first."""
        sources: dict[int, dict[str, int]] = {}
        with self._database.read() as connection:
            for stamp, source, count in connection.execute(
                "SELECT updated_at, source, count(*) FROM memories GROUP BY updated_at, source ORDER BY 1, 2"
            ):
                sources.setdefault(stamp, {})[source] = count
            operations = dict(connection.execute("SELECT at, operation FROM log ORDER BY n").fetchall())
        return [
            StoringRun(storing_run(at), at, operations.get(stamp, ""), sources[stamp])
            for stamp in sorted(sources, reverse=True)[:limit]
            for at in (from_stamp(stamp),)
        ]

    def moment(self, run: str) -> datetime | None:
        """Return the moment of a run, even if only its entry in the log is left."""
        rows = self._database.select("SELECT DISTINCT updated_at FROM memories UNION SELECT at FROM log")
        moments = (from_stamp(stamp) for (stamp,) in rows)
        return next((at for at in moments if storing_run(at) == run), None)
