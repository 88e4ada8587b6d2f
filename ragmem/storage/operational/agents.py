"""The agents that have checked in, as rows."""

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
    """Return an agent, None where none of this id has checked in."""
    row = connection.execute(f"SELECT {_COLUMNS}, {_WAITING} FROM agents WHERE id = ?", (name,)).fetchone()
    return _agent(row) if row else None


def all_agents(connection: Connection) -> list[Agent]:
    """Return all agents, the one heard of last first."""
    rows = connection.execute(f"SELECT {_COLUMNS}, {_WAITING} FROM agents ORDER BY seen_at DESC, id")
    return [_agent(row) for row in rows]


def names(connection: Connection) -> list[str]:
    """Return the ids of all agents, in order."""
    return [name for (name,) in connection.execute("SELECT id FROM agents ORDER BY id")]


def count(connection: Connection) -> int:
    """Return how many agents there are."""
    return int(connection.execute("SELECT count(*) FROM agents").fetchone()[0])


def put(connection: Connection, agent: Agent, *, told_event: int) -> None:
    """Write what an agent says of itself; `told_event` counts for a new one alone."""
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
    """Return who was not heard of since, has not ended, and is not known as stale yet."""
    rows = connection.execute(
        "SELECT id FROM agents WHERE stale = 0 AND seen_at < ? AND status <> ? ORDER BY id",
        (to_stamp(moment), STOPPED),
    )
    return [name for (name,) in rows]


def mark_stale(connection: Connection, agents: Sequence[str]) -> None:
    """Mark agents as not heard of for too long."""
    connection.executemany("UPDATE agents SET stale = 1 WHERE id = ?", [(name,) for name in agents])


def least_missed(connection: Connection) -> str:
    """Return who can be forgotten: stale or ended, with nothing waiting, longest silent; else empty."""
    row = connection.execute(
        f"SELECT id FROM agents WHERE (stale = 1 OR status = ?) AND {_WAITING} = 0"
        " ORDER BY seen_at, id LIMIT 1",
        (STOPPED,),
    ).fetchone()
    return str(row[0]) if row else ""


def forget(connection: Connection, name: str) -> None:
    """Delete an agent with all that was sent to it."""
    connection.execute("DELETE FROM agents WHERE id = ?", (name,))


def told_event(connection: Connection, name: str) -> int:
    """Return the last event that a known agent was told of."""
    return int(connection.execute("SELECT told_event FROM agents WHERE id = ?", (name,)).fetchone()[0])


def tell_event(connection: Connection, name: str, event: int) -> None:
    """Note the last event that an agent was told of; it never goes back."""
    connection.execute(
        "UPDATE agents SET told_event = ? WHERE id = ? AND told_event < ?", (event, name, event)
    )


def _agent(row: Sequence[Any]) -> Agent:
    (name, config, project, host, pid, status, task, progress, joined, seen, stale, stop, why, paused,
     why_paused, waiting) = row  # fmt: skip
    return Agent(
        id=name,
        config_name=config,
        project_path=project,
        host=host,
        pid=pid,
        status=status,
        current_task=task,
        progress=progress,
        joined=from_stamp(joined),
        last_seen=from_stamp(seen),
        stale=bool(stale),
        should_stop=bool(stop),
        stop_reason=why,
        paused=bool(paused),
        pause_reason=why_paused,
        waiting=waiting,
    )
