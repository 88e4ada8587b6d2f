"""Supersessions of memories by newer ones; the rows outlast both memories' time in the archive.

A row with one of the rules MARKS is a mark: it hides nothing and is no part of a chain.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ragmem.domain.model import Memory, Supersession
from ragmem.domain.model.supersession import MARKS
from ragmem.storage.sql.batches import batches, marks, padded
from ragmem.storage.sql.database import Connection, Database, delete_in, select_in
from ragmem.storage.sql.rows import from_stamp, to_stamp

__all__ = ["Supersession", "Supersessions"]

_COLUMNS = ("older", "newer", "older_at", "newer_at", "rule", "reason", "made_at")
_SELECT = ", ".join(f"s.{column}" for column in _COLUMNS)
_UPSERT = (
    f"INSERT INTO supersessions ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
    f" ON CONFLICT (older) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[1:])}"
)
_HIDES = f"rule NOT IN {MARKS}"
# A merged successor is replaced by the merged memory.
_STEP = (
    f"SELECT {_SELECT}, CASE WHEN m.id IS NULL THEN (SELECT o.merged FROM merged_from o"
    " JOIN memories k ON k.id = o.merged WHERE o.original = s.newer LIMIT 1) ELSE m.id END"
    f" FROM supersessions s LEFT JOIN memories m ON m.id = s.newer WHERE s.{_HIDES} AND s.older IN ({{}})"
)

_LONGEST = 100
"""Steps of a chain that are followed; put() prevents circles, but a damaged file may have one."""


class Supersessions:
    """The supersessions of one database; a memory has one successor or none."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, items: Iterable[Supersession]) -> int:
        """Write supersessions and marks, replacing those of the same older memories, in one transaction.

        One that would close a circle is skipped; returns how many were written.
        """
        written = 0
        with self._database.write() as connection:
            for item in items:
                if _leads_to(connection, item.newer, item.older):
                    continue
                values = (
                    item.older,
                    item.newer,
                    to_stamp(item.older_at),
                    to_stamp(item.newer_at),
                    item.rule,
                    item.reason,
                    to_stamp(item.made_at),
                )
                connection.execute(_UPSERT, values)
                written += 1
        return written

    def all(self) -> list[Supersession]:
        """Return all supersessions and marks, by the older memory's id, missing memories included."""
        rows = self._database.select(f"SELECT {_SELECT} FROM supersessions s ORDER BY s.older")
        return [supersession_from(row) for row in rows]

    def of(self, ids: Iterable[str]) -> list[Supersession]:
        """Return the supersessions and marks with any of these memories on either side, oldest first."""
        found: dict[str, Supersession] = {}
        with self._database.read() as connection:
            for batch in batches(ids):
                for column in ("older", "newer"):
                    sql = f"SELECT {_SELECT} FROM supersessions s WHERE s.{column} IN ({{}})"
                    found |= {row[0]: supersession_from(row) for row in select_in(connection, sql, batch)}
        return sorted(found.values(), key=lambda item: (item.older_at, item.older))

    def replaced_by(self, ids: Sequence[str]) -> dict[str, list[Supersession]]:
        """Return newer memory -> its direct supersessions, latest first."""
        found: dict[str, list[Supersession]] = {}
        for row in self._database.select(
            f"SELECT {_SELECT} FROM supersessions s WHERE s.{_HIDES} AND s.newer IN ({marks(ids)})"
            " ORDER BY s.older_at DESC, s.older",
            list(ids),
        ):
            item = supersession_from(row)
            found.setdefault(item.newer, []).append(item)
        return found

    def drop(self, older: Iterable[str]) -> int:
        """Remove the supersessions and marks of these older memories; return how many there were."""
        with self._database.write() as connection:
            return delete_in(connection, "supersessions", "older", older)

    def forget(self, ids: Iterable[str]) -> None:
        """Delete memories that are gone for good from all chains, joining their neighbours."""
        with self._database.write() as connection:
            for identifier in ids:
                row = connection.execute(
                    f"SELECT newer FROM supersessions WHERE older = ? AND {_HIDES}", (identifier,)
                ).fetchone()
                if row is None:
                    connection.execute("DELETE FROM supersessions WHERE newer = ?", (identifier,))
                else:
                    connection.execute(
                        "UPDATE supersessions SET newer = ? WHERE newer = ?", (row[0], identifier)
                    )
                connection.execute("DELETE FROM supersessions WHERE older = ?", (identifier,))

    def in_force(self, ids: Iterable[str]) -> dict[str, Supersession]:
        """Return id -> its present supersession, with the last memory of its chain as the newer one.

        Archived or missing memories replace nothing: a chain continues after them, and if it leads to no
        existing memory the older one is valid again. A merged memory counts as the one it was merged into.
        """
        found: dict[str, Supersession] = {}
        at: dict[str, list[str]] = {identifier: [identifier] for identifier in ids}
        with self._database.read() as connection:
            for _ in range(_LONGEST):
                further: dict[str, list[str]] = {}
                for batch in map(padded, batches(at)):
                    for *row, last in connection.execute(_STEP.format(marks(batch)), batch):
                        step = supersession_from(row)
                        further.setdefault(step.newer, []).extend(at[step.older])
                        for start in at[step.older]:
                            if last and start != last:
                                found[start] = _extend_chain(found.get(start), step, start, last)
                if not further:
                    break
                at = further
        return found

    def perhaps_outdated(self, ids: Iterable[str]) -> dict[str, Supersession]:
        """Return id -> its mark, with the memory that holds in the place of the newer one.

        A mark counts while the newer memory exists.
        """
        sql = f"SELECT {_SELECT} FROM supersessions s JOIN memories m ON m.id = s.newer WHERE NOT s.{_HIDES}"
        found: dict[str, Supersession] = {}
        with self._database.read() as connection:
            for batch in batches(ids):
                rows = select_in(connection, f"{sql} AND s.older IN ({{}})", batch)
                found |= {row[0]: supersession_from(row) for row in rows}
        later = self.in_force(mark.newer for mark in found.values())
        return {
            older: replace(mark, newer=later[mark.newer].newer) if mark.newer in later else mark
            for older, mark in found.items()
        }


def forget_former_text(connection: Connection, memory: Memory) -> None:
    """Drop the supersessions of a memory whose text has changed: they were about the former text."""
    connection.execute(
        "DELETE FROM supersessions WHERE (older = ?1 OR newer = ?1)"
        " AND EXISTS (SELECT 1 FROM memories WHERE id = ?1 AND content_hash <> ?2)",
        (memory.id, memory.content_hash),
    )


def _extend_chain(before: Supersession | None, step: Supersession, start: str, last: str) -> Supersession:
    """Return the supersession of the start of a chain by the newer memory of a later step."""
    if before is None and last == step.newer:
        return step
    return replace(before or step, older=start, newer=last, newer_at=step.newer_at)


def _leads_to(connection: Connection, start: str, end: str) -> bool:
    """Return whether the chain of successors of one memory contains the other."""
    seen: set[str] = set()
    while start not in seen:
        if start == end:
            return True
        seen.add(start)
        row = connection.execute("SELECT newer FROM supersessions WHERE older = ?", (start,)).fetchone()
        if row is None:
            return False
        start = row[0]
    return False


def supersession_from(row: Sequence[Any]) -> Supersession:
    """Return the supersession of a row."""
    older, newer, older_at, newer_at, rule, reason, made_at = row
    return Supersession(
        older, newer, from_stamp(older_at), from_stamp(newer_at), rule, reason, from_stamp(made_at)
    )
