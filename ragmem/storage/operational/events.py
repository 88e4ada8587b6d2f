"""The rows of events among agents, limited by age and number."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from ragmem.domain.sessions.agents import Event
from ragmem.storage.operational.schema import last_number
from ragmem.storage.sql.database import Connection
from ragmem.storage.sql.rows import from_stamp, to_stamp


def add(connection: Connection, type_: str, agent: str, data: Mapping[str, Any], moment: datetime) -> int:
    """Store an event and return its number."""
    (number,) = connection.execute(
        "INSERT INTO events (at, type, agent, data) VALUES (?,?,?,?) RETURNING id",
        (to_stamp(moment), type_, agent, orjson.dumps(data).decode()),
    ).fetchone()
    return int(number)


def after(connection: Connection, number: int, *, types: Sequence[str], limit: int) -> list[Event]:
    """Return the events after a number, oldest first, of these types (none: of all)."""
    wanted = f" AND type IN ({', '.join('?' * len(types))})" if types else ""
    rows = connection.execute(
        f"SELECT id, at, type, agent, data FROM events WHERE id > ?{wanted} ORDER BY id LIMIT ?",
        (number, *types, limit),
    )
    return [Event(n, from_stamp(at), type_, agent, orjson.loads(data)) for n, at, type_, agent, data in rows]


def bounds(connection: Connection) -> tuple[int, int]:
    """Return the lowest stored number and the highest ever used; (1, 0) for none."""
    (lowest,) = connection.execute("SELECT min(id) FROM events").fetchone()
    given = last_number(connection, "events")
    return (given + 1 if lowest is None else int(lowest)), given


def prune(connection: Connection, *, before: datetime, most: int) -> None:
    """Delete events before a moment, and the oldest beyond `most`."""
    connection.execute("DELETE FROM events WHERE at < ?", (to_stamp(before),))
    connection.execute(
        "DELETE FROM events WHERE id <= (SELECT id FROM events ORDER BY id DESC LIMIT 1 OFFSET ?)", (most,)
    )
