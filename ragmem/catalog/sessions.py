"""The running sessions of assistants: what each is about, and which memories it was given."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson

from ragmem.catalog.database import Connection, Database
from ragmem.catalog.rows import from_stamp, to_stamp

KEEP = timedelta(days=14)
"""A session that was not seen for so long has ended, and is forgotten."""

MOST_SESSIONS = 500
MOST_SHOWN = 300
"""Ids that are kept of a session, the latest; who was given more has long lost the first from sight."""


@dataclass(frozen=True, slots=True)
class Session:
    """What is kept of a session; `topic` is JSON, None before anything was said."""

    id: str
    project: str
    topic: Any
    shown: tuple[str, ...]
    seen_at: datetime


class Sessions:
    """The sessions of the last days; small, however many there are and however long they run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, identifier: str) -> Session | None:
        """Return what is kept of a session; None for one that was never seen, or not for long."""
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
    ) -> frozenset[str]:
        """Keep a session's topic and add what it is given; return nothing, or why nothing was kept.

        That is those of `shown` that another call has given it already: what a session is given it is given
        once, whoever comes first. Raises StoreBusyError after `patience` seconds, StorageError where nothing
        can be written.
        """
        with self._database.write(patience=patience) as connection:
            known = _read(connection, identifier)
            before = known.shown if known else ()
            if given := frozenset(shown).intersection(before):
                return given
            ids = list(dict.fromkeys((*before, *shown)))[-MOST_SHOWN:]
            connection.execute("DELETE FROM sessions WHERE id = ?", (identifier,))
            connection.execute(
                "INSERT INTO sessions (id, project, topic, shown, seen_at) VALUES (?,?,?,?,?)",
                (
                    identifier,
                    project,
                    orjson.dumps(topic).decode(),
                    orjson.dumps(ids).decode(),
                    to_stamp(now),
                ),
            )
            _forget(connection, now)
        return frozenset()


def _read(connection: Connection, identifier: str) -> Session | None:
    row = connection.execute(
        "SELECT project, topic, shown, seen_at FROM sessions WHERE id = ?", (identifier,)
    ).fetchone()
    if row is None:
        return None
    project, topic, shown, seen_at = row
    ids = _loaded(shown)
    kept = tuple(map(str, ids)) if isinstance(ids, list) else ()
    return Session(identifier, project, _loaded(topic), kept, from_stamp(seen_at))


def _loaded(text: str) -> Any:
    """Return the JSON; None for what is none: a session that begins anew is better than an error."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _forget(connection: Connection, now: datetime) -> None:
    connection.execute("DELETE FROM sessions WHERE seen_at < ?", (to_stamp(now - KEEP),))
    connection.execute(
        "DELETE FROM sessions WHERE id NOT IN (SELECT id FROM sessions ORDER BY seen_at DESC, id LIMIT ?)",
        (MOST_SESSIONS,),
    )
