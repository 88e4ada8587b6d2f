"""Violations of a person's rules by assistants, and whether the session was informed."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from ragmem.frozen import dataclass
from ragmem.storage.sql import meta
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.migrations import select_from
from ragmem.storage.sql.rows import from_stamp, to_stamp

KEEP = timedelta(days=30)
MAX_VIOLATIONS = 2_000
"""The latest violations that are kept."""

CHECKS_KEY = "checks_judged"
"""In the catalog's table `meta`: the day (UTC), and how many texts a language model has judged on it."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation with its session; `told_at` is None until the session was informed."""

    number: int
    found_at: datetime
    session: str
    agent: str
    assistant: str
    project: str
    rule: str
    statement: str
    excerpt: str
    told_at: datetime | None = None


class Violations:
    """The violations of the last weeks; none where the catalog is older than this table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(
        self,
        found: Sequence[tuple[str, str, str]],
        *,
        session: str,
        agent: str = "",
        assistant: str = "",
        project: str = "",
        now: datetime,
    ) -> int:
        """Store (rule, statement, excerpt) of a session; return how many were new."""
        rows = [(to_stamp(now), session, agent, assistant, project, *one) for one in found]
        with self._database.write() as connection:
            before = _count(connection.execute("SELECT count(*) FROM violations").fetchone())
            connection.executemany(
                "INSERT INTO violations"
                " (found_at, session, agent, assistant, project, rule, statement, excerpt)"
                " VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (session, rule, excerpt) DO NOTHING",
                rows,
            )
            new = _count(connection.execute("SELECT count(*) FROM violations").fetchone()) - before
            connection.execute("DELETE FROM violations WHERE found_at < ?", (to_stamp(now - KEEP),))
            connection.execute(
                "DELETE FROM violations WHERE n NOT IN"
                " (SELECT n FROM violations ORDER BY found_at DESC, n DESC LIMIT ?)",
                (MAX_VIOLATIONS,),
            )
        return new

    def unreported(self, session: str, *, limit: int) -> list[Violation]:
        """Return the violations that a session was not informed of yet, latest first."""
        return self._some("WHERE session = ? AND told_at IS NULL", (session,), limit)

    def report(
        self, session: str, *, limit: int, now: datetime, patience: float | None = None
    ) -> list[Violation]:
        """Return the latest unreported violations of a session, and mark all of them as reported.

        Each is returned to one caller only. Raises StoreBusyError after `patience` seconds.
        """
        with self._database.write(patience=patience) as connection:
            found = self.unreported(session, limit=limit)
            connection.execute(
                "UPDATE violations SET told_at = ? WHERE session = ? AND told_at IS NULL",
                (to_stamp(now), session),
            )
        return found

    def latest(self, *, session: str = "", limit: int = 20) -> list[Violation]:
        """Return the latest violations, of one session or of all."""
        return self._some("WHERE session = ?", (session,), limit) if session else self._some("", (), limit)

    def spend(self, most: int, *, now: datetime) -> bool:
        """Count one text for a language model to judge; return False if today's limit is reached."""
        day = f"{now:%Y-%m-%d}"
        with self._database.write() as connection:
            known, _, count = (meta.get(connection, CHECKS_KEY) or "").partition(" ")
            used = int(count) if known == day and count.isdecimal() else 0
            if used >= most:
                return False
            meta.put(connection, CHECKS_KEY, f"{day} {used + 1}")
        return True

    def _some(self, where: str, parameters: tuple[str, ...], limit: int) -> list[Violation]:
        statement = (
            "SELECT n, found_at, session, agent, assistant, project, rule, statement, excerpt, told_at"
            f" FROM violations {where} ORDER BY found_at DESC, n DESC LIMIT ?"
        )
        rows = select_from(self._database, "violations", statement, (*parameters, limit))
        return [_from(row) for row in rows]


def _from(row: Sequence[Any]) -> Violation:
    number, found, *others, told = row
    values = [number, from_stamp(found), *others, None if told is None else from_stamp(told)]
    return Violation(*values)


def _count(row: Sequence[int] | None) -> int:
    return int(row[0]) if row else 0
