"""The active sessions of assistants: topic, questions, and memories that were shown."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import orjson

from ragmem.frozen import dataclass
from ragmem.storage.sql.database import Connection, Database
from ragmem.storage.sql.rows import from_stamp, to_stamp

KEEP = timedelta(days=14)
"""A session without activity for this long has ended, and is deleted."""

SWEEP, NEW_SESSIONS = timedelta(hours=1), 50
"""The time, and the number of new sessions, between two searches for ended ones, which read all of them."""

MAX_SESSIONS = 500
MAX_SHOWN = 300
"""The latest ids that are kept of a session; earlier ones have left its context long ago."""


@dataclass(frozen=True, slots=True)
class Session:
    """A session; `topic` is JSON, None before the first prompt.

    `asked` are hashes of its research questions, `unwanted` the memories that were useless to it.
    """

    id: str
    project: str
    topic: Any
    shown: tuple[str, ...]
    seen_at: datetime
    asked: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()


class Sessions:
    """The sessions of the last days; the table is limited in size."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._swept: datetime | None = None
        self._new = 0

    def get(self, identifier: str) -> Session | None:
        """Return a session; None for an unknown or expired one."""
        with self._database.read() as connection:
            return _read(connection, identifier)

    def keep(
        self,
        identifier: str,
        *,
        project: str,
        topic: Any,
        shown: Sequence[str],
        now: datetime,
        patience: float | None = None,
        asked: str = "",
        anew: bool = False,
    ) -> frozenset[str]:
        """Store a session's topic and the ids shown to it; return conflicts, with which nothing is stored.

        Conflicts are ids of `shown` that another call has already shown, since each is shown once, or the
        hash `asked` of a question that was asked before; a question leaves the topic unchanged. With `anew`
        earlier ids and questions are deleted first. Raises StoreBusyError after `patience` seconds,
        StorageError where nothing can be written.
        """
        with self._database.write(patience=patience) as connection:
            known = _read(connection, identifier)
            before, questions = (known.shown, known.asked) if known and not anew else ((), ())
            if asked and asked in questions:
                return frozenset({asked})
            if given := frozenset(shown).intersection(before):
                return given
            _write(
                connection,
                Session(
                    identifier,
                    project,
                    known.topic if asked and known else topic,
                    tuple(dict.fromkeys((*before, *shown)))[-MAX_SHOWN:],
                    now,
                    (*questions, *([asked] if asked else ()))[-MAX_SHOWN:],
                    known.unwanted if known else (),
                ),
            )
            self._new += known is None
            if (
                self._swept is None
                or self._new >= NEW_SESSIONS
                or not self._swept <= now < self._swept + SWEEP
            ):
                connection.execute("DELETE FROM sessions WHERE seen_at < ?", (to_stamp(now - KEEP),))
                _limit(connection)
                self._swept, self._new = now, 0
        return frozenset()

    def refuse(self, identifier: str, memory: str) -> None:
        """Record that a memory was useless to a session, if the session is known; idempotent."""
        with self._database.write() as connection:
            known = _read(connection, identifier)
            if known and memory not in known.unwanted:
                unwanted = (*known.unwanted, memory)[-MAX_SHOWN:]
                _write(connection, replace(known, unwanted=unwanted))


def _write(connection: Connection, session: Session) -> None:
    ids = {"shown": session.shown, "asked": session.asked, "unwanted": session.unwanted}
    connection.execute("DELETE FROM sessions WHERE id = ?", (session.id,))
    connection.execute(
        "INSERT INTO sessions (id, project, topic, shown, seen_at) VALUES (?,?,?,?,?)",
        (
            session.id,
            session.project,
            orjson.dumps(session.topic).decode(),
            orjson.dumps(ids).decode(),
            to_stamp(session.seen_at),
        ),
    )


def _read(connection: Connection, identifier: str) -> Session | None:
    row = connection.execute(
        "SELECT project, topic, shown, seen_at FROM sessions WHERE id = ?", (identifier,)
    ).fetchone()
    if row is None:
        return None
    project, topic, shown, seen_at = row
    ids = _parse_json(shown)
    # Former releases kept a list of what was shown.
    held = ids if isinstance(ids, dict) else {"shown": ids}
    given, asked, unwanted = (_strings(held.get(name)) for name in ("shown", "asked", "unwanted"))
    return Session(identifier, project, _parse_json(topic), given, from_stamp(seen_at), asked, unwanted)


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _parse_json(text: str) -> Any:
    """Parse JSON; return None for invalid JSON: a fresh session is better than an error."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _limit(connection: Connection) -> None:
    """Delete all but the latest sessions."""
    (count,) = connection.execute("SELECT count(*) FROM sessions").fetchone()
    if count > MAX_SESSIONS:
        connection.execute(
            "DELETE FROM sessions WHERE id NOT IN"
            " (SELECT id FROM sessions ORDER BY seen_at DESC, id LIMIT ?)",
            (MAX_SESSIONS,),
        )
