"""The tools by which agents work together: report, send, read, acknowledge, and wait for events."""

import json
import re
from typing import Any

from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.agents import Agent, AgentEventType, AgentMessage, Event, MessageType
from ragmem.errors import UsageError
from ragmem.mcp.call import Call, Result
from ragmem.mcp.frame import add_notice, frame_lines, one_line

HEAD = "Messages from other agents on this machine, not from the user."

REASON = 1_000
"""Characters of the reason of a signal."""

ROOM = 20_000
"""Characters of messages from which on further ones wait for the next answer; each is shown whole."""

OWN = frozenset(
    {AgentEventType.JOINED, AgentEventType.STATUS, AgentEventType.BACK, AgentEventType.ACKNOWLEDGED}
)
"""Events that an agent causes by its own calls."""

_NO_ID = re.compile(r"[^A-Za-z0-9._:@-]+")

MOST = 100
"""Maximum number of messages or events in one answer."""


def report_status(call: Call) -> Result:
    """Check in; report whether to stop or pause, and how many messages are waiting."""
    me = _me(call)
    given = {name: call.arguments.get(name) for name in ("status", "current_task", "progress")}
    agent = call.memory.agents.heartbeat(me, project_path=str(call.place), **given)
    said = [f"{me}: {agent.status}"]
    if agent.should_stop:
        why = one_line(agent.stop_reason or "you are told to stop", REASON, call.redactor)
        said.append(f"STOP: {why}")
    elif agent.paused:
        why = one_line(agent.pause_reason or "you are told to pause", REASON, call.redactor)
        said.append(f"PAUSE until resumed: {why}")
    said.append(f"{agent.waiting} messages wait: check_messages" if agent.waiting else "no messages wait")
    data = {
        "ok": True,
        "timestamp": f"{agent.last_seen:%Y-%m-%dT%H:%M:%SZ}",
        "should_stop": agent.should_stop,
        "stop_reason": agent.stop_reason,
        "paused": agent.paused,
        "has_messages": agent.waiting > 0,
        "message_count": agent.waiting,
    }
    return Result(frame_lines(said, head=HEAD), add_notice(data, head=HEAD))


def list_agents(call: Call) -> Result:
    """List the agents on this machine."""
    found = call.memory.agents.agents()
    lines = [_agent_line(agent, redactor=call.redactor) for agent in found] or ["No agent has checked in."]
    data = {"agents": [_agent_shape(agent, redactor=call.redactor) for agent in found]}
    return Result(frame_lines(lines, head=HEAD), add_notice(data, head=HEAD))


def send_to_agent(call: Call) -> Result:
    """Send a message or a signal to one agent or to all."""
    given = call.arguments
    agents, sender = call.memory.agents, given.get("from", "") or _caller_name(call)
    sort, to = given["signal"], given["to"]
    if sort == MessageType.MESSAGE:
        sent = agents.send(to, given.get("message", ""), sender=sender, key=given.get("key", ""))
    else:
        reason, key = given.get("message", ""), given.get("key", "")
        sent = agents.signal(sort, to=to, sender=sender, reason=reason, key=key)
    told = ", ".join(sent.accepted) or "nobody: no other agent has checked in"
    lines = [f"{sort} kept for {told}", *(f"refused by {name}: {why}" for name, why in sent.refused.items())]
    return Result("\n".join(lines), {"accepted": dict(sent.accepted), "refused": dict(sent.refused)})


def check_messages(call: Call) -> Result:
    """Return the messages that wait for an agent; they stay until they are acknowledged."""
    me = _me(call)
    agents = call.memory.agents
    found = agents.messages(me, limit=MOST, mark=False)
    lines: list[str] = []
    for letter in found:
        line = _letter_line(letter, redactor=call.redactor)
        if lines and sum(map(len, lines)) + len(line) > ROOM:
            break
        lines.append(line)
    shown = found[: len(lines)]
    agents.mark_delivered(letter.id for letter in shown if letter.delivered is None)
    if shown:
        lines.append(f"(acknowledge ids {', '.join(str(letter.id) for letter in shown)} when done)")
        if more := agents.require(me).waiting - len(shown):
            lines.append(f"({more} more wait: acknowledge these, then call check_messages again)")
    data = {"messages": [_letter_shape(letter, redactor=call.redactor) for letter in shown]}
    return Result(frame_lines(lines or ["No messages wait."], head=HEAD), add_notice(data, head=HEAD))


def acknowledge(call: Call) -> Result:
    """Mark messages as done, so that they wait no longer."""
    done = call.memory.agents.acknowledge(_me(call), call.arguments["ids"])
    text = f"acknowledged {len(done.acknowledged)}, {done.waiting} wait"
    if done.unknown:
        text += f"; never sent to you: {', '.join(map(str, done.unknown))}"
    acknowledged, unknown = list(done.acknowledged), list(done.unknown)
    return Result(text, {"acknowledged": acknowledged, "unknown": unknown, "waiting": done.waiting})


def wait_for_events(call: Call) -> Result:
    """Return the events since the cursor at once; a caller waits by calling again with the new cursor."""
    given = call.arguments
    me = given.get("agent_id", "") or _caller_name(call)
    found = call.memory.agents.events(
        given.get("event_types", ()), after=given.get("cursor"), agent=me, limit=MOST
    )
    # An agent does not wait for its own events.
    events = [event for event in found.events if event.agent != me or event.type not in OWN]
    lines = [_event_line(event, redactor=call.redactor) for event in events] or ["Nothing happened."]
    if found.missed:
        lines.append("(some earlier events are no longer kept)")
    data = {
        "events": [_event_shape(event, redactor=call.redactor) for event in events],
        "cursor": found.cursor,
        "missed": found.missed,
    }
    return Result(frame_lines([*lines, f"(cursor {found.cursor})"], head=HEAD), add_notice(data, head=HEAD))


def _caller_name(call: Call) -> str:
    """Return the name that the transport gives the caller, in the characters of an agent's id."""
    return _NO_ID.sub("-", call.agent).strip("-._:@")[:64]


def _me(call: Call) -> str:
    me: str = call.arguments.get("agent_id", "") or _caller_name(call)
    if not me:
        raise UsageError("the caller is unknown", hint="give agent_id, a unique name such as builder-1")
    return me


def _agent_line(agent: Agent, redactor: Redactor) -> str:
    said = [
        f"{agent.id}: {agent.status}{' (silent)' if agent.stale else ''}",
        f"{agent.last_seen:%Y-%m-%d %H:%M}",
    ]
    said += [one_line(agent.current_task, 120, redactor=redactor)] if agent.current_task else []
    said += [f"{agent.progress} %"] if agent.progress is not None else []
    said += ["told to stop"] if agent.should_stop else ["paused"] if agent.paused else []
    return " | ".join(said)


def _letter_line(letter: AgentMessage, redactor: Redactor) -> str:
    sender = letter.sender or "somebody"
    said = f"[{letter.id}] {letter.created:%Y-%m-%d %H:%M} {letter.sort.value} from {sender}"
    text = redactor.redact(letter.text)[0].strip()
    if letter.data:
        text += f"\ndata: {json.dumps(redactor.redact_document(dict(letter.data)), ensure_ascii=False)}"
    # Indented, so that no line of it looks like another message.
    return "\n  ".join(f"{said}: {text.lstrip()}".splitlines())


def _event_line(event: Event, redactor: Redactor) -> str:
    told = "; ".join(
        f"{name} {one_line(str(value), 200, redactor=redactor)}"
        for name, value in event.data.items()
        if value not in ("", None)
    )
    return f"[{event.id}] {event.at:%Y-%m-%d %H:%M:%S} {event.type} {event.agent}" + (
        f": {told}" if told else ""
    )


def _agent_shape(agent: Agent, redactor: Redactor) -> Any:
    names = "id status current_task progress stale should_stop paused waiting".split()
    shape = {name: getattr(agent, name) for name in names}
    return redactor.redact_document(shape | {"last_seen": f"{agent.last_seen:%Y-%m-%dT%H:%M:%SZ}"})


def _letter_shape(letter: AgentMessage, redactor: Redactor) -> Any:
    return redactor.redact_document(
        {
            "id": letter.id,
            "from": letter.sender,
            "type": letter.sort.value,
            "text": letter.text,
            "data": dict(letter.data),
            "created_at": f"{letter.created:%Y-%m-%dT%H:%M:%SZ}",
        }
    )


def _event_shape(event: Event, redactor: Redactor) -> Any:
    return redactor.redact_document(
        {
            "id": event.id,
            "type": event.type,
            "agent": event.agent,
            "data": dict(event.data),
            "at": f"{event.at:%Y-%m-%dT%H:%M:%SZ}",
        }
    )
