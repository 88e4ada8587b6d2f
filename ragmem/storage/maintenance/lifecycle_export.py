"""Read and write all data of the lifecycle in a fixed order, for exports and copies."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from ragmem.storage.lifecycle.lifecycle_state import LifeRow, Lives, Recall, life_rows
from ragmem.storage.lifecycle.supersessions import Supersession, Supersessions, supersession_from
from ragmem.storage.maintenance.catalog_export import EVERYTHING, Selection
from ragmem.storage.sql.database import Connection, Database
from ragmem.storage.sql.rows import from_stamp, to_stamp

_TABLES = (
    ("lives", "id"),
    ("recalled_in", "id"),
    ("supersessions", "older"),
    ("merged_from", "merged"),
)
"""Each with the column of the memory that it belongs to."""


@dataclass(frozen=True, slots=True)
class MergedFrom:
    """A merged memory, one of its originals, and the run of gc."""

    merged: str
    original: str
    run: str


LifeContent = LifeRow | Recall | Supersession | MergedFrom


class LifeContents:
    """The lives, recalls, supersessions and merges of one catalog; they refer to memories by id."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lives = Lives(database)
        self._supersessions = Supersessions(database)

    def count(self, selection: Selection = EVERYTHING) -> int:
        """Return the number of rows of the selected memories; without a selection, archived ones included."""
        total = 0
        with self._database.read() as connection:
            for table, column in _TABLES:
                where, parameters = _of(selection, column)
                (count,) = connection.execute(f"SELECT count(*) FROM {table}{where}", parameters).fetchone()
                total += int(count)
        return total

    def each(self, selection: Selection = EVERYTHING) -> Iterator[LifeContent]:
        """Yield lives, recalls, supersessions and merges, each type in the order of its ids."""
        with self._database.read() as connection:
            where, parameters = _of(selection, "id")
            yield from life_rows(connection, f"{where} ORDER BY id", parameters)
            for identifier, session, at in connection.execute(
                f"SELECT id, session, recalled_at FROM recalled_in{where} ORDER BY id, session", parameters
            ):
                yield Recall(identifier, session, from_stamp(at))
            where, parameters = _of(selection, "older")
            yield from map(
                supersession_from,
                connection.execute(
                    "SELECT older, newer, older_at, newer_at, rule, reason, made_at"
                    f" FROM supersessions{where} ORDER BY older",
                    parameters,
                ),
            )
            where, parameters = _of(selection, "merged")
            for row in connection.execute(
                f"SELECT merged, original, run FROM merged_from{where} ORDER BY merged, original", parameters
            ):
                yield MergedFrom(*row)

    def clear(self) -> None:
        """Delete everything, to be written again in the same transaction."""
        with self._database.write() as connection:
            for table, _ in _TABLES:
                connection.execute(f"DELETE FROM {table}")

    def write(self, items: Iterable[LifeContent], *, now: datetime) -> int:
        """Add missing rows and return their number; a pin is also added to an existing life.

        A pinned memory is never superseded.
        """
        added = 0
        with self._database.write() as connection:
            for item in items:
                match item:
                    case LifeRow():
                        added += self._write_life(item, now)
                    case Recall():
                        added += _insert(
                            connection,
                            "recalled_in",
                            "id, session, recalled_at",
                            (item.id, item.session, to_stamp(item.at)),
                        )
                    case Supersession():
                        known = connection.execute(
                            "SELECT 1 FROM supersessions WHERE older = ?1"
                            " UNION ALL SELECT 1 FROM lives WHERE id = ?1 AND pinned = 1",
                            (item.older,),
                        ).fetchone()
                        added += 0 if known else self._supersessions.put([item])
                    case MergedFrom():
                        added += _insert(
                            connection,
                            "merged_from",
                            "merged, original, run",
                            (item.merged, item.original, item.run),
                        )
        return added

    def _write_life(self, row: LifeRow, now: datetime) -> int:
        known = self._lives.of([row.id]).get(row.id)
        if known is None:
            self._lives.put([row], now=now)
            return 1
        if row.pinned and not known.pinned:
            self._lives.pin(row.id, pinned=True, now=now)
            self._supersessions.drop([row.id])
            return 1
        return 0


def _of(selection: Selection, column: str) -> tuple[str, list[str | int]]:
    if selection.whole:
        return "", []
    condition, parameters = selection.condition()
    return f" WHERE {column} IN (SELECT m.id FROM memories m WHERE {condition})", parameters


def _insert(connection: Connection, table: str, columns: str, values: tuple[str | int, ...]) -> int:
    marks = ",".join("?" * len(values))
    return connection.execute(
        f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING", values
    ).rowcount
