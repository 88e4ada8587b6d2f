"""All that the lifecycle knows, read out in a fixed order and written back: for exports and for copies."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from ragmem.storage.lifecycle.lifecycle_state import LifeRow, Lives, Recall, life_rows
from ragmem.storage.lifecycle.supersessions import Supersession, Supersessions
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
    """That a memory was made from another one, by which run of gc."""

    merged: str
    original: str
    run: str


LifeContent = LifeRow | Recall | Supersession | MergedFrom


class LifeContents:
    """The lives, recalls, supersessions and merges of one catalog; they name memories by their ids alone."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lives = Lives(database)
        self._supersessions = Supersessions(database)

    def count(self, selection: Selection = EVERYTHING) -> int:
        """Return how many there are of the selected memories, of all with those in the archive."""
        total = 0
        with self._database.read() as connection:
            for table, column in _TABLES:
                where, parameters = _of(selection, column)
                (count,) = connection.execute(f"SELECT count(*) FROM {table}{where}", parameters).fetchone()
                total += int(count)
        return total

    def each(self, selection: Selection = EVERYTHING) -> Iterator[LifeContent]:
        """Yield lives, recalls, supersessions and merges, each sort in the order of its ids."""
        with self._database.read() as connection:
            where, parameters = _of(selection, "id")
            yield from life_rows(connection, f"{where} ORDER BY id", parameters)
            for identifier, session, at in connection.execute(
                f"SELECT id, session, recalled_at FROM recalled_in{where} ORDER BY id, session", parameters
            ):
                yield Recall(identifier, session, from_stamp(at))
            where, parameters = _of(selection, "older")
            for older, newer, older_at, newer_at, rule, reason, made_at in connection.execute(
                "SELECT older, newer, older_at, newer_at, rule, reason, made_at"
                f" FROM supersessions{where} ORDER BY older",
                parameters,
            ):
                yield Supersession(
                    older,
                    newer,
                    from_stamp(older_at),
                    from_stamp(newer_at),
                    rule,
                    reason,
                    from_stamp(made_at),
                )
            where, parameters = _of(selection, "merged")
            for row in connection.execute(
                f"SELECT merged, original, run FROM merged_from{where} ORDER BY merged, original", parameters
            ):
                yield MergedFrom(*row)

    def clear(self) -> None:
        """Forget all of it, to be written anew in the same transaction."""
        with self._database.write() as connection:
            for table, _ in _TABLES:
                connection.execute(f"DELETE FROM {table}")

    def write(self, items: Iterable[LifeContent], *, now: datetime) -> int:
        """Add what is not known yet and return how much came; of a life that is known a pin is added.

        A pinned memory is superseded by none.
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
