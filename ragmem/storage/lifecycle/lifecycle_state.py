"""The lifecycle states of memories: the input of the rules, and the decisions of rules and people.

A memory without a row is unchanged since it was stored. Rows are keyed by id, because they outlast a memory's
time in the archive.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from ragmem.domain.model import UNASSIGNED
from ragmem.domain.model.lifecycle import Approval, Decision, Entry, LifecyclePolicy, LifecycleState
from ragmem.domain.model.supersession import MARKS
from ragmem.domain.sessions.transcript import SOURCE
from ragmem.frozen import dataclass
from ragmem.storage.sql.batches import batches, marks, padded
from ragmem.storage.sql.database import Connection, Database, delete_in
from ragmem.storage.sql.rows import SELECT_MEMORY, from_stamp, memory_from, to_stamp

_COLUMNS = tuple("id life pinned reprieves checked_age feedback reason approval changed_at".split())
_INSERT = (
    f"INSERT INTO lives ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
    " ON CONFLICT (id) DO UPDATE SET"
)
_REPLACE = f"{_INSERT} {', '.join(f'{column} = excluded.{column}' for column in _COLUMNS[1:])}"
_ENTRY = (
    f"SELECT m.n, l.life, l.pinned, l.reprieves, l.checked_age, l.feedback, r.sessions, s.newer, s.rule,"
    f" l.approval, {SELECT_MEMORY} FROM memories m LEFT JOIN lives l ON l.id = m.id"
    " LEFT JOIN (SELECT id, count(*) AS sessions FROM recalled_in{recalled} GROUP BY id) r ON r.id = m.id"
    " LEFT JOIN supersessions s ON s.older = m.id"
)

_SESSION = {
    "sqlite": "json_extract({0}.metadata, '$.session')",
    "postgres": "({0}.metadata::json ->> 'session')",
}
_COUNTED = {
    dialect: f"CASE WHEN {{0}}.source = '{SOURCE}' AND {session} <> ''"
    f" THEN 'session ' || {session} ELSE {{0}}.id END"
    for dialect, session in _SESSION.items()
}
"""The SQL of `counted_as`."""

_LIVES = {life.value: life for life in LifecycleState}
"""The values of the column; an empty text and those of a newer ragmem are not among them."""

_APPROVALS = {approval.value: approval for approval in Approval}


@dataclass(frozen=True, slots=True)
class LifeRow:
    """The stored state of a memory; `life` None: the default of its source."""

    id: str
    life: LifecycleState | None = None
    pinned: bool = False
    reprieves: int = 0
    checked_age: int = 0
    feedback: int = 0
    reason: str = ""
    approval: Approval = Approval.NONE


@dataclass(frozen=True, slots=True)
class Recall:
    """A recall of a memory by a session."""

    id: str
    session: str
    at: datetime


class Lives:
    """The lifecycle states of memories in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(self, projects: Sequence[str] | None = None, *, policy: LifecyclePolicy) -> list[Entry]:
        """Return all memories of these projects (None: all) for the rules, in the order of entry."""
        statement = _ENTRY.format(recalled="")
        where = "" if projects is None else f" WHERE m.project IN ({marks(projects)})"
        rows = self._database.select(f"{statement}{where} ORDER BY m.n", list(projects or ()))
        return [_entry(row, policy) for row in rows]

    def entry(self, identifier: str, *, policy: LifecyclePolicy) -> Entry | None:
        """Return one memory for the rules; None if there is no memory with this full id."""
        statement = _ENTRY.format(recalled=" WHERE id = ?1")
        row = self._database.select_row(f"{statement} WHERE m.id = ?1", (identifier,))
        return None if row is None else _entry(row, policy)

    def find_entries(self, ids: Iterable[str], *, policy: LifecyclePolicy) -> dict[str, Entry]:
        """Return those of the memories that exist for the rules, by id."""
        statement = _ENTRY.format(recalled=" WHERE id IN ({0})")
        found: dict[str, Entry] = {}
        with self._database.read() as connection:
            for batch in batches(ids):
                rows = connection.execute(
                    f"{statement.format(marks(batch))} WHERE m.id IN ({marks(batch)})", [*batch, *batch]
                )
                found |= {entry.id: entry for entry in (_entry(row, policy) for row in rows)}
        return found

    def of(self, ids: Iterable[str]) -> dict[str, LifeRow]:
        """Return the stored states of these ids, archived memories included."""
        found: dict[str, LifeRow] = {}
        with self._database.read() as connection:
            for batch in map(padded, batches(ids)):
                found |= {
                    row.id: row for row in life_rows(connection, f"WHERE id IN ({marks(batch)})", batch)
                }
        return found

    def all(self) -> list[LifeRow]:
        """Return all stored states, by id."""
        with self._database.read() as connection:
            return life_rows(connection, "ORDER BY id")

    def low_rated_ids(self, at_most: int) -> list[str]:
        """Return the ids of the memories whose feedback is this low or lower."""
        return self._database.select_column(
            "SELECT id FROM lives WHERE feedback <= ? ORDER BY id", (at_most,)
        )

    def put(self, rows: Iterable[LifeRow], *, now: datetime) -> None:
        """Replace the states of these ids; the memories need not exist."""
        stamp = to_stamp(now)
        with self._database.write() as connection:
            connection.executemany(_REPLACE, [_values(row, stamp) for row in rows])

    def forget(self, ids: Iterable[str]) -> None:
        """Delete the states and recalls of memories that are gone for good."""
        with self._database.write() as connection:
            gone = list(ids)
            for table in ("lives", "recalled_in"):
                delete_in(connection, table, "id", gone)

    def change(self, decisions: Iterable[Decision], *, now: datetime) -> None:
        """Store decisions about states: a reprieve is counted with its age, a new state replaces the old one.

        Other decisions (to merge or archive a memory) are carried out elsewhere.
        """
        made, stamp = list(decisions), to_stamp(now)
        with self._database.write() as connection:
            _change(
                connection,
                "reprieves = lives.reprieves + 1, checked_age = excluded.checked_age",
                [
                    LifeRow(one.id, reprieves=1, checked_age=one.age, reason=one.reason)
                    for one in made
                    if one.action == "reprieve"
                ],
                stamp,
            )
            _change(
                connection,
                "life = excluded.life",
                [LifeRow(one.id, life=one.life, reason=one.reason) for one in made if one.life is not None],
                stamp,
            )

    def postpone(self, ids: Iterable[str], *, reason: str, now: datetime) -> None:
        """Postpone the next check of memories until as many newer ones exist as for a reprieve."""
        stamp = to_stamp(now)
        with self._database.write() as connection:
            _change(
                connection,
                "reprieves = excluded.reprieves, checked_age = excluded.checked_age",
                [
                    LifeRow(identifier, reprieves=1, checked_age=self.count_newer(identifier), reason=reason)
                    for identifier in ids
                ],
                stamp,
            )

    def pin(self, identifier: str, *, pinned: bool, now: datetime) -> None:
        """Pin or unpin a memory; a pinned one never expires, and unpinning restores its former state."""
        reason = "pinned" if pinned else "no longer pinned"
        row = LifeRow(identifier, pinned=pinned, reason=reason)
        with self._database.write() as connection:
            _change(connection, "pinned = excluded.pinned", [row], to_stamp(now))

    def set_approval(self, ids: Iterable[str], approval: Approval, *, now: datetime) -> None:
        """Store whether memories count; the rest of their state stays as it is."""
        rows = [LifeRow(identifier, approval=approval, reason=approval.value) for identifier in ids]
        with self._database.write() as connection:
            _change(connection, "approval = excluded.approval", rows, to_stamp(now))

    def add_recalls(self, recalls: Iterable[Recall], *, patience: float | None = None) -> int:
        """Record recalls of memories, each session once; return how many were new.

        Missing memories are skipped. Raises StoreBusyError after `patience` seconds (None: the configured
        ones).
        """
        fresh = 0
        with self._database.write(patience=patience) as connection:
            for one in recalls:
                added = connection.execute(
                    "INSERT INTO recalled_in (id, session, recalled_at)"
                    " SELECT id, ?2, ?3 FROM memories WHERE id = ?1 ON CONFLICT (id, session) DO NOTHING",
                    (one.id, one.session, to_stamp(one.at)),
                )
                if added.rowcount > 0:
                    connection.execute("UPDATE memories SET recalls = recalls + 1 WHERE id = ?", (one.id,))
                    fresh += 1
        return fresh

    def recalls(self, ids: Iterable[str] | None = None) -> list[Recall]:
        """Return the recalls of these memories (None: all), by id and session."""
        statement = "SELECT id, session, recalled_at FROM recalled_in"
        if ids is None:
            found = self._database.select(f"{statement} ORDER BY id, session")
        else:
            of_these = f"{statement} WHERE id IN ({{}}) ORDER BY id, session"
            found = self._database.select_in(of_these, sorted(set(ids)))
        return [Recall(identifier, session, from_stamp(at)) for identifier, session, at in found]

    def remove_recall(self, identifier: str, session: str) -> None:
        """Delete the recall of a memory that was useless to a session."""
        with self._database.write() as connection:
            gone = connection.execute(
                "DELETE FROM recalled_in WHERE id = ? AND session = ?", (identifier, session)
            )
            if gone.rowcount > 0:
                connection.execute(
                    "UPDATE memories SET recalls = recalls - 1 WHERE id = ? AND recalls > 0", (identifier,)
                )

    def count_newer(self, identifier: str) -> int:
        """Return how many newer memories its project has, by event time, then by entry.

        The exchanges of a session count as one, and not at all for each other.
        """
        counted, own = (_COUNTED[self._database.dialect].format(one) for one in "om")
        return self._database.select_int(
            f"SELECT count(DISTINCT {counted}) FROM memories m JOIN memories o ON o.project = m.project"
            " AND (o.event_at > m.event_at OR (o.event_at = m.event_at AND o.n > m.n))"
            f" WHERE m.id = ? AND {counted} <> {own}",
            (identifier,),
        )

    def rate(self, identifier: str, value: int, *, now: datetime) -> None:
        """Add to the feedback on a memory: 1 for good, -1 for bad."""
        row = LifeRow(identifier, feedback=value, reason="good" if value > 0 else "bad")
        with self._database.write() as connection:
            _change(connection, "feedback = lives.feedback + excluded.feedback", [row], to_stamp(now))


def _change(connection: Connection, update: str, rows: Iterable[LifeRow], stamp: int) -> None:
    """Insert rows, or apply `update` to existing ones, with their reason and date."""
    changed = f"{update}, reason = excluded.reason, changed_at = excluded.changed_at"
    connection.executemany(f"{_INSERT} {changed}", [_values(row, stamp) for row in rows])


def _values(row: LifeRow, stamp: int) -> tuple[Any, ...]:
    return (
        row.id,
        row.life.value if row.life else "",
        int(row.pinned),
        row.reprieves,
        row.checked_age,
        row.feedback,
        row.reason,
        row.approval.value,
        stamp,
    )


def life_rows(connection: Connection, where: str, parameters: Sequence[Any] = ()) -> list[LifeRow]:
    """Return the rows of `lives` for an SQL condition and order."""
    rows = connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM lives {where}", parameters)
    return [
        LifeRow(
            identifier,
            _LIVES.get(life),
            bool(pinned),
            reprieves,
            checked_age,
            feedback,
            reason,
            _APPROVALS.get(approval, Approval.NONE),
        )
        for identifier, life, pinned, reprieves, checked_age, feedback, reason, approval, _ in rows
    ]


def _entry(row: Sequence[Any], policy: LifecyclePolicy) -> Entry:
    number, life, pinned, reprieves, checked_age, feedback, sessions, newer, rule, approval = row[:10]
    memory = memory_from(row[10:])
    approved = _APPROVALS.get(approval, Approval.NONE)
    curated = memory.source in policy.curated and not approved.is_withheld
    lived = (
        LifecycleState.PERMANENT
        if pinned
        else _LIVES.get(life) or (LifecycleState.PROVEN if curated else LifecycleState.BUFFER)
    )
    return Entry(
        memory=memory,
        number=number,
        life=lived,
        pinned=bool(pinned),
        curated=curated,
        reprieves=reprieves or 0,
        checked_age=checked_age or 0,
        sessions=sessions or 0,
        feedback=feedback or 0,
        superseded_by="" if rule in MARKS else newer or "",
        perhaps_outdated=newer if rule in MARKS else "",
        approval=approved,
    )


def promoted_ids(
    database: Database, *, projects: Sequence[str] | None, sources: Collection[str], sessions: int
) -> list[str]:
    """Return the ids of valid memories of these projects (None: all) that were promoted or are protected.

    A memory is promoted if it is of one of these `sources`, pinned, rated good, or recalled in this many
    `sessions`, and not while it waits for an approval. No text is read.
    """
    kept = sorted(sources)
    place = "m.project <> ?" if projects is None else f"m.project IN ({marks(projects)})"
    return database.select_column(
        f"SELECT m.id FROM memories m LEFT JOIN lives l ON l.id = m.id"
        f" WHERE {place}"
        f" AND (m.protected = 1 OR m.source IN ({marks(kept)}) OR l.pinned = 1 OR l.feedback > 0"
        " OR (SELECT count(*) FROM recalled_in r WHERE r.id = m.id) >= ?)"
        f" AND coalesce(l.approval, '') NOT IN ('{Approval.PROPOSED}', '{Approval.REJECTED}')"
        " AND NOT EXISTS (SELECT 1 FROM supersessions s"
        f" WHERE s.older = m.id AND s.rule NOT IN {MARKS})"
        " ORDER BY m.id",
        [*((UNASSIGNED,) if projects is None else projects), *kept, sessions],
    )
