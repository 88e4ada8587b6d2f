"""The rows of messages to agents: pending until acknowledged, or superseded by a later signal."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import orjson

from ragmem.domain.sessions.agents import AgentMessage, MessageType
from ragmem.storage.operational.schema import last_number
from ragmem.storage.sql.database import Connection
from ragmem.storage.sql.rows import from_stamp, to_stamp

_COLUMNS = "id, agent, sender, sort, text, data, created_at, delivered_at"


def add(connection: Connection, letter: AgentMessage, key: str = "") -> int:
    """Store a message and return its number."""
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


def find_sent_message(connection: Connection, agent: str, sender: str, key: str) -> AgentMessage | None:
    """Return the stored message of a sender to an agent with this key."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM messages WHERE agent = ? AND sender = ? AND key = ? AND key <> ''",
        (agent, sender, key),
    ).fetchone()
    return _letter(row) if row else None


def pending_messages(connection: Connection, agent: str, *, after: int, limit: int) -> list[AgentMessage]:
    """Return the pending messages of an agent after a number, oldest first; an unknown number counts as 0."""
    # An unknown number is from a deleted file: continuing after it would hide new messages.
    after = after if after <= last(connection) else 0
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM messages WHERE agent = ? AND settled_at IS NULL AND id > ?"
        " ORDER BY id LIMIT ?",
        (agent, after, limit),
    )
    return [_letter(row) for row in rows]


def count_messages(connection: Connection, agent: str) -> int:
    """Return how many messages, without signals, are pending for an agent."""
    (count,) = connection.execute(
        "SELECT count(*) FROM messages WHERE agent = ? AND settled_at IS NULL AND sort = ?",
        (agent, MessageType.MESSAGE.value),
    ).fetchone()
    return int(count)


def mark_delivered(connection: Connection, ids: Iterable[int], moment: datetime) -> None:
    """Record when messages were delivered; the first time counts."""
    connection.executemany(
        "UPDATE messages SET delivered_at = ? WHERE id = ? AND delivered_at IS NULL",
        [(to_stamp(moment), number) for number in ids],
    )


def settle(connection: Connection, agent: str, ids: Iterable[int], moment: datetime) -> list[int]:
    """Settle the messages that an agent acknowledges; return the numbers that were pending."""
    done: list[int] = []
    for number in ids:
        rows = connection.execute(
            "UPDATE messages SET settled_at = ? WHERE id = ? AND agent = ? AND settled_at IS NULL",
            (to_stamp(moment), number, agent),
        )
        if rows.rowcount:
            done.append(number)
    return done


def stored_numbers(connection: Connection, agent: str, ids: Iterable[int]) -> list[int]:
    """Return which of the numbers are those of stored messages to an agent."""
    return [
        number
        for number in ids
        if connection.execute("SELECT 1 FROM messages WHERE id = ? AND agent = ?", (number, agent)).fetchone()
    ]


def supersede(
    connection: Connection, agent: str, sorts: Sequence[MessageType], moment: datetime
) -> list[int]:
    """Supersede the pending signals of an agent; return their numbers."""
    places = ", ".join("?" * len(sorts))
    rows = connection.execute(
        "UPDATE messages SET settled_at = ?, superseded = 1"
        f" WHERE agent = ? AND settled_at IS NULL AND sort IN ({places}) RETURNING id",
        (to_stamp(moment), agent, *(sort.value for sort in sorts)),
    ).fetchall()
    return sorted(number for (number,) in rows)


def last(connection: Connection) -> int:
    """Return the highest number ever used, 0 for none."""
    return last_number(connection, "messages")


def receivers(connection: Connection, *, after: int) -> list[str]:
    """Return the agents to whom messages were sent after a number."""
    rows = connection.execute("SELECT DISTINCT agent FROM messages WHERE id > ?", (after,))
    return [agent for (agent,) in rows]


def prune(connection: Connection, *, before: datetime, most: int) -> None:
    """Delete messages settled before a moment, and the oldest settled ones beyond `most`."""
    connection.execute("DELETE FROM messages WHERE settled_at < ?", (to_stamp(before),))
    connection.execute(
        "DELETE FROM messages WHERE settled_at IS NOT NULL AND id <= ("
        "SELECT id FROM messages WHERE settled_at IS NOT NULL ORDER BY id DESC LIMIT 1 OFFSET ?)",
        (most,),
    )


def _letter(row: Sequence[Any]) -> AgentMessage:
    number, agent, sender, sort, text, data, created, delivered = row
    return AgentMessage(
        id=number,
        to=agent,
        sender=sender,
        sort=MessageType(sort),
        text=text,
        data=orjson.loads(data),
        created=from_stamp(created),
        delivered=None if delivered is None else from_stamp(delivered),
    )
