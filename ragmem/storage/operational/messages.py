"""What was sent to agents, as rows: waiting until it is acknowledged, or made void by a later signal."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import orjson

from ragmem.domain.sessions.agents import Letter, MessageType
from ragmem.storage.operational.schema import last_number
from ragmem.storage.sql.database import Connection
from ragmem.storage.sql.rows import from_stamp, to_stamp

_COLUMNS = "id, agent, sender, sort, text, data, created_at, delivered_at"


def add(connection: Connection, letter: Letter, key: str = "") -> int:
    """Store what is sent, under the next number, which is returned."""
    (number,) = connection.execute(
        "INSERT INTO messages (agent, sender, sort, text, data, created_at, key) VALUES (?,?,?,?,?,?,?)"
        " RETURNING id",
        (
            letter.to,
            letter.sender,
            letter.sort.value,
            letter.text,
            orjson.dumps(letter.data).decode(),
            to_stamp(letter.created),
            key,
        ),
    ).fetchone()
    return int(number)


def sent_before(connection: Connection, agent: str, sender: str, key: str) -> Letter | None:
    """Return what this sender sent to an agent with this key, if that is kept."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM messages WHERE agent = ? AND sender = ? AND key = ? AND key <> ''",
        (agent, sender, key),
    ).fetchone()
    return _letter(row) if row else None


def waiting(connection: Connection, agent: str, *, after: int, limit: int) -> list[Letter]:
    """Return what waits for an agent after a number, oldest first; a number that was never given is 0."""
    # It is from a file that was here before: to go on after it would hide what was sent since.
    after = after if after <= last(connection) else 0
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM messages WHERE agent = ? AND settled_at IS NULL AND id > ?"
        " ORDER BY id LIMIT ?",
        (agent, after, limit),
    )
    return [_letter(row) for row in rows]


def count_messages(connection: Connection, agent: str) -> int:
    """Return how many messages, signals apart, wait for an agent."""
    (count,) = connection.execute(
        "SELECT count(*) FROM messages WHERE agent = ? AND settled_at IS NULL AND sort = ?",
        (agent, MessageType.MESSAGE.value),
    ).fetchone()
    return int(count)


def mark_delivered(connection: Connection, ids: Iterable[int], moment: datetime) -> None:
    """Note when messages were handed out; the first time counts."""
    connection.executemany(
        "UPDATE messages SET delivered_at = ? WHERE id = ? AND delivered_at IS NULL",
        [(to_stamp(moment), number) for number in ids],
    )


def settle(connection: Connection, agent: str, ids: Iterable[int], moment: datetime) -> list[int]:
    """Take what an agent acknowledges out of what waits; return the numbers that still waited."""
    done: list[int] = []
    for number in ids:
        rows = connection.execute(
            "UPDATE messages SET settled_at = ? WHERE id = ? AND agent = ? AND settled_at IS NULL",
            (to_stamp(moment), number, agent),
        )
        if rows.rowcount:
            done.append(number)
    return done


def known(connection: Connection, agent: str, ids: Iterable[int]) -> list[int]:
    """Return which of the numbers were ever given to what was sent to an agent and is kept."""
    return [
        number
        for number in ids
        if connection.execute("SELECT 1 FROM messages WHERE id = ? AND agent = ?", (number, agent)).fetchone()
    ]


def supersede(
    connection: Connection, agent: str, sorts: Sequence[MessageType], moment: datetime
) -> list[int]:
    """Make signals void that wait for an agent; return their numbers."""
    places = ", ".join("?" * len(sorts))
    rows = connection.execute(
        "UPDATE messages SET settled_at = ?, superseded = 1"
        f" WHERE agent = ? AND settled_at IS NULL AND sort IN ({places}) RETURNING id",
        (to_stamp(moment), agent, *(sort.value for sort in sorts)),
    ).fetchall()
    return sorted(number for (number,) in rows)


def last(connection: Connection) -> int:
    """Return the highest number that was given, 0 for none."""
    return last_number(connection, "messages")


def receivers(connection: Connection, *, after: int) -> list[str]:
    """Return to whom anything was sent after a number."""
    rows = connection.execute("SELECT DISTINCT agent FROM messages WHERE id > ?", (after,))
    return [agent for (agent,) in rows]


def prune(connection: Connection, *, before: datetime, most: int) -> None:
    """Delete what was settled before a moment, and the oldest of the settled beyond so many."""
    connection.execute("DELETE FROM messages WHERE settled_at < ?", (to_stamp(before),))
    connection.execute(
        "DELETE FROM messages WHERE settled_at IS NOT NULL AND id <= ("
        "SELECT id FROM messages WHERE settled_at IS NOT NULL ORDER BY id DESC LIMIT 1 OFFSET ?)",
        (most,),
    )


def _letter(row: Sequence[Any]) -> Letter:
    number, agent, sender, sort, text, data, created, delivered = row
    return Letter(
        id=number,
        to=agent,
        sender=sender,
        sort=MessageType(sort),
        text=text,
        data=orjson.loads(data),
        created=from_stamp(created),
        delivered=None if delivered is None else from_stamp(delivered),
    )
