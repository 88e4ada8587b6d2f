"""The log of injections into sessions, limited by the retention of the settings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields
from datetime import datetime, timedelta
from typing import Any

import orjson

from ragmem.frozen import dataclass
from ragmem.storage.sql.database import Database, delete_in
from ragmem.storage.sql.migrations import select_from
from ragmem.storage.sql.rows import from_stamp, to_stamp

HIGHEST = "\U0010ffff"
"""A character above all that a session's id may have."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The maximum age and number of stored injections."""

    age: timedelta = timedelta(days=30)
    most: int = 5000


@dataclass(frozen=True, slots=True)
class Injection:
    """One injected memory; `memory` is empty for a text without one, such as a rule's.

    `agent` is empty for the session itself, `score` None without a search, `question` the first words of the
    question, without secrets. `detail` is JSON with the reasons: its rank, the terms of its score, the floor,
    and the other matches.
    """

    injected_at: datetime
    session: str
    event: str
    memory: str = ""
    agent: str = ""
    assistant: str = ""
    project: str = ""
    score: float | None = None
    tokens: int = 0
    question: str = ""
    reason: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


_COLUMNS = tuple(column.name for column in fields(Injection))


class Injections:
    """The log of injections in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, items: Iterable[Injection], *, now: datetime, kept: Retention | None = None) -> None:
        """Write injections, and delete those beyond the retention; joins an open transaction."""
        limits = kept or Retention()
        rows = [_values(item) for item in items]
        if not rows:
            return
        with self._database.write() as connection:
            connection.executemany(
                f"INSERT INTO injections ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})",
                rows,
            )
            connection.execute("DELETE FROM injections WHERE injected_at < ?", (to_stamp(now - limits.age),))
            connection.execute(
                "DELETE FROM injections WHERE n <= (SELECT max(n) FROM injections) - ?", (limits.most,)
            )

    def list(
        self,
        *,
        session: str = "",
        memory: str = "",
        since: datetime | None = None,
        limit: int | None = None,
    ) -> list[Injection]:
        """Return injections, the latest first, those of one call in the order in which they were shown.

        `session` is an id or a prefix of one, `memory` a full id. An older catalog has none.
        """
        conditions, values = ["1 = 1"], list[Any]()
        if session:
            conditions.append("session >= ? AND session < ?")
            values += [session, session + HIGHEST]
        if memory:
            conditions.append("memory = ?")
            values.append(memory)
        if since is not None:
            conditions.append("injected_at >= ?")
            values.append(to_stamp(since))
        statement = (
            f"SELECT {', '.join(_COLUMNS)} FROM injections WHERE {' AND '.join(conditions)}"
            " ORDER BY injected_at DESC, n"
        )
        if limit is not None:
            statement += " LIMIT ?"
            values.append(limit)
        return [_from(row) for row in select_from(self._database, "injections", statement, values)]

    def forget(self, memory_ids: Iterable[str]) -> None:
        """Delete the injections of memories that are gone for good."""
        with self._database.write() as connection:
            delete_in(connection, "injections", "memory", memory_ids)

    def count(self) -> int:
        """Return how many injections are kept."""
        return self._database.select_int("SELECT count(*) FROM injections")


def _values(item: Injection) -> tuple[Any, ...]:
    at, *others, detail = (getattr(item, name) for name in _COLUMNS)
    return (to_stamp(at), *others, orjson.dumps(detail).decode())


def _from(row: Sequence[Any]) -> Injection:
    at, *others, detail = row
    values = [from_stamp(at), *others, _detail(detail)]
    return Injection(*values)


def _detail(text: str) -> Mapping[str, Any]:
    """Parse a JSON object; return an empty one for anything else, as the row is still useful."""
    try:
        loaded = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return loaded if isinstance(loaded, dict) else {}
