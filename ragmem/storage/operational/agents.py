"""The rows of agents that have checked in."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ragmem.domain.sessions.agents import STOPPED, Agent
from ragmem.storage.sql.database import Connection
from ragmem.storage.sql.rows import from_stamp, to_stamp

_COLUMNS = (
    "id, config_name, project_path, host, pid, status, current_task, progress, joined_at, seen_at, stale,"
    " should_stop, stop_reason, paused, pause_reason"
)
_WAITING = "(SELECT count(*) FROM messages AS m WHERE m.agent = agents.id AND m.settled_at IS NULL)"


def agent_of(connection: Connection, name: str) -> Agent | None:
    """Return an agent, None if it has not checked in."""
    row = connection.execute(f"SELECT {_COLUMNS}, {_WAITING} FROM agents WHERE id = ?", (name,)).fetchone()
    return _agent(row) if row else None


def all_agents(connection: Connection) -> list[Agent]:
    """Return all agents, the last active one first."""
    rows = connection.execute(f"SELECT {_COLUMNS}, {_WAITING} FROM agents ORDER BY seen_at DESC, id")
    return [_agent(row) for row in rows]


def names(connection: Connection) -> list[str]:
    """Return the ids of all agents, in order."""
    return [name for (name,) in connection.execute("SELECT id FROM agents ORDER BY id")]


def count(connection: Connection) -> int:
    """Return how many agents there are."""
    return int(connection.execute("SELECT count(*) FROM agents").fetchone()[0])


def put(connection: Connection, agent: Agent, *, told_event: int) -> None:
    """Write an agent; `told_event` is only used for a new one."""
    values = (
        agent.id, agent.config_name, agent.project_path, agent.host, agent.pid, agent.status,
        agent.current_task, agent.progress, to_stamp(agent.joined), to_stamp(agent.last_seen), agent.stale,
        agent.should_stop, agent.stop_reason, agent.paused, agent.pause_reason,
    )  # fmt: skip
    connection.execute(
        f"INSERT INTO agents ({_COLUMNS}, told_event) VALUES ({', '.join('?' * len(values))}, ?)"
        " ON CONFLICT (id) DO UPDATE SET config_name = excluded.config_name,"
        " project_path = excluded.project_path, host = excluded.host, pid = excluded.pid,"
        " status = excluded.status, current_task = excluded.current_task, progress = excluded.progress,"
        " seen_at = excluded.seen_at, stale = excluded.stale, should_stop = excluded.should_stop,"
        " stop_reason = excluded.stop_reason, paused = excluded.paused, pause_reason = excluded.pause_reason",
        (*values, told_event),
    )


def silent_since(connection: Connection, moment: datetime) -> list[str]:
    """Return the agents without activity since a moment that have neither ended nor are marked as stale."""
    rows = connection.execute(
        "SELECT id FROM agents WHERE stale = 0 AND seen_at < ? AND status <> ? ORDER BY id",
        (to_stamp(moment), STOPPED),
    )
    return [name for (name,) in rows]


def mark_stale(connection: Connection, agents: Sequence[str]) -> None:
    """Mark agents as stale."""
    connection.executemany("UPDATE agents SET stale = 1 WHERE id = ?", [(name,) for name in agents])


def least_missed(connection: Connection) -> str:
    """Return the agent to forget first: stale or ended, without messages, longest inactive; or ""."""
    row = connection.execute(
        f"SELECT id FROM agents WHERE (stale = 1 OR status = ?) AND {_WAITING} = 0"
        " ORDER BY seen_at, id LIMIT 1",
        (STOPPED,),
    ).fetchone()
    return str(row[0]) if row else ""


def forget(connection: Connection, name: str) -> None:
    """Delete an agent with all that was sent to it."""
    connection.execute("DELETE FROM agents WHERE id = ?", (name,))


def last_event(connection: Connection, name: str) -> int:
    """Return the last event that a known agent has received."""
    return int(connection.execute("SELECT told_event FROM agents WHERE id = ?", (name,)).fetchone()[0])


def tell_event(connection: Connection, name: str, event: int) -> None:
    """Record the last event that an agent has received; the number never decreases."""
    connection.execute(
        "UPDATE agents SET told_event = ? WHERE id = ? AND told_event < ?", (event, name, event)
    )


def _agent(row: Sequence[Any]) -> Agent:
    *others, joined, seen, stale, stop, why, paused, why_paused, waiting = row
    moments, flags = (from_stamp(joined), from_stamp(seen)), (bool(stale), bool(stop))
    values = [*others, *moments, *flags, why, bool(paused), why_paused, waiting]
    return Agent(*values)
