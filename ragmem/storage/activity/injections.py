"""What was injected into which session, when and why; the latest of it, as far as the settings keep it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import orjson

from ragmem.storage.sql.database import Database, delete_in
from ragmem.storage.sql.migrations import table_exists
from ragmem.storage.sql.rows import from_stamp, to_stamp

_COLUMNS = (
    "injected_at",
    "session",
    "agent",
    "assistant",
    "event",
    "project",
    "memory",
    "score",
    "tokens",
    "question",
    "reason",
    "detail",
)


LAST = "\U0010ffff"
"""Stands behind every character that a session's id may have."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long injections are kept, and how many of them at most."""

    age: timedelta = timedelta(days=30)
    most: int = 5000


@dataclass(frozen=True, slots=True)
class Injection:
    """One memory that was injected; `memory` is empty for a text that came from none, such as a rule's.

    `agent` is empty for the session itself, `score` None where the memory was not searched for, `question`
    the beginning of what was asked, without secrets. `detail` is JSON that says how it was chosen: its place,
    the terms of its score, the floor, and which others were found.
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


class Injections:
    """The log of injections in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, items: Iterable[Injection], *, now: datetime, kept: Retention | None = None) -> None:
        """Write injections, and forget those that are too old or too many; joins a transaction that runs."""
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

        Of a session, or one whose id begins so; of a memory by its full id; since a moment. None where the
        catalog is older than this table.
        """
        conditions, values = ["1 = 1"], list[Any]()
        if session:
            conditions.append("session >= ? AND session < ?")
            values += [session, session + LAST]
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
        with self._database.read() as connection:
            if not table_exists(self._database, connection, "injections"):
                return []
            return [_from(row) for row in connection.execute(statement, values)]

    def forget(self, memory_ids: Iterable[str]) -> None:
        """Forget where memories were injected that are gone for good."""
        with self._database.write() as connection:
            delete_in(connection, "injections", "memory", memory_ids)

    def count(self) -> int:
        """Return how many injections are kept."""
        (count,) = self._database.select_row("SELECT count(*) FROM injections")
        return int(count)


def _values(item: Injection) -> tuple[Any, ...]:
    return (
        to_stamp(item.injected_at),
        item.session,
        item.agent,
        item.assistant,
        item.event,
        item.project,
        item.memory,
        item.score,
        item.tokens,
        item.question,
        item.reason,
        orjson.dumps(item.detail).decode(),
    )


def _from(row: Sequence[Any]) -> Injection:
    at, session, agent, assistant, event, project, memory, score, tokens, question, reason, detail = row
    return Injection(
        from_stamp(at),
        session,
        event,
        memory,
        agent,
        assistant,
        project,
        score,
        tokens,
        question,
        reason,
        _detail(detail),
    )


def _detail(text: str) -> Mapping[str, Any]:
    """Return the JSON object; an empty one for what is none, for the row tells the rest."""
    try:
        loaded = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return loaded if isinstance(loaded, dict) else {}
