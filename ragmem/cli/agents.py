"""`ragmem agents`: list agents, send signals and messages, wait for events."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.cli.common import command_group, moment, open_memory, say, say_json, table, tell
from ragmem.cli.options import JsonOption, QuietOption
from ragmem.errors import EXIT_NO, EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.domain.sessions.agents import Agent, AgentMessage, Event

EPILOG = """\b
Examples:
  ragmem agents heartbeat builder --status working --task "build main"
  ragmem agents
  ragmem agents signal message builder "the tests are green" --from reviewer
  ragmem agents messages builder --ack
  ragmem agents publish build_done --from builder
  ragmem agents events --after 0 --type build_done
  ragmem agents signal pause all "a release is being made"

\b
Exit codes:
  0  done; an agent may continue
  1  nothing came, or an agent should stop or pause
  2  usage, or an unknown agent
  3  an inbox is full
"""

app = command_group(
    "agents",
    about="List agents, send signals and messages, wait for events.",
    epilog=EPILOG,
    default="show",
)

_Agent = Annotated[str, typer.Argument(metavar="AGENT", help="The id of an agent.")]
_Wait = Annotated[
    float,
    typer.Option("--wait", metavar="SECONDS", min=0, max=300, help="How long to wait for the first message."),
]
_After = Annotated[
    int | None, typer.Option("--after", metavar="NUMBER", min=0, help="Only messages with a higher number.")
]
_Sender = Annotated[str, typer.Option("--from", metavar="AGENT", help="The agent that sends it.")]


@app.command()
def show(as_json: JsonOption = False) -> int:
    """List all agents, the most recently seen first."""
    with open_memory() as memory:
        found = memory.agents.agents()
    if as_json:
        say_json({"schema": 1, "agents": [_shape(agent) for agent in found]})
    elif not found:
        say("no agents are known")
    else:
        table(
            ("agent", "state", "task", "last seen (UTC)", "waiting"),
            (
                (one.id, _state(one), one.current_task, moment(one.last_seen), one.waiting or "-")
                for one in found
            ),
        )
    return EXIT_OK


@app.command()
def heartbeat(
    agent: _Agent,
    status: Annotated[
        str | None,
        typer.Option("--status", help="Any word; `starting` resets the agent, `stopped` ends it."),
    ] = None,
    task: Annotated[str | None, typer.Option("--task", help="What it is working on.")] = None,
    progress: Annotated[int | None, typer.Option("--progress", min=0, max=100, help="Percent.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Record that an agent is alive; print whether it should stop or pause, and its messages."""
    with open_memory() as memory:
        found = memory.agents.heartbeat(agent, status=status, current_task=task, progress=progress)
    if as_json:
        say_json({"schema": 1, **_shape(found)})
    else:
        if found.should_stop:
            say(f"stop: {found.stop_reason}")
        if found.paused:
            say(f"pause: {found.pause_reason}")
        if found.waiting:
            say(f"waiting: {found.waiting}")
    return EXIT_NO if found.should_stop or found.paused else EXIT_OK


@app.command()
def signal(
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="stop, pause, resume or message.")],
    to: Annotated[str, typer.Argument(metavar="TO", help="The id of an agent, or all.")],
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="The message, or the reason.")] = "",
    sender: _Sender = "",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Send a signal or a message to one agent or to all; print each recipient and message number."""
    if not to:
        # Most likely an unset variable of a shell, not a request to stop all agents.
        raise UsageError("the recipient is empty", hint='give its id, or "all"')
    with open_memory(quiet=quiet) as memory:
        if type_ == "message":
            sent = memory.agents.send(to, text, sender=sender)
        else:
            sent = memory.agents.signal(type_, to=to, sender=sender, reason=text)
    if as_json:
        say_json({"schema": 1, "accepted": sent.accepted, "refused": sent.refused})
    else:
        for name, number in sent.accepted.items():
            say(f"{number}  {name}")
        for name, why in () if quiet else sent.refused.items():
            tell(f"not to {name}: {why}")
        if not (quiet or sent.accepted or sent.refused):
            tell("there is no recipient")
    return EXIT_OK if sent.accepted else EXIT_NO


@app.command()
def messages(
    agent: _Agent,
    after: _After = None,
    wait: _Wait = 0.0,
    ack: Annotated[
        bool, typer.Option("--ack", help="Acknowledge the printed messages; they are not delivered again.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Print the messages of an agent, oldest first."""
    with open_memory() as memory:
        found = memory.agents.messages(agent, after=after or 0, timeout=wait)
        if as_json:
            say_json({"schema": 1, "messages": [_message(letter) for letter in found]})
        for letter in () if as_json else found:
            said = f"{letter.sort.value}  {letter.text}".rstrip()
            # Indented, so that no line of a text looks like another message.
            line = f"{letter.id}  {letter.sender or '-'}  {said}"
            say(line.replace("\n", "\n    "))
        if ack and found:
            memory.agents.acknowledge(agent, [letter.id for letter in found])
    return EXIT_OK if found else EXIT_NO


@app.command()
def acknowledge(
    agent: _Agent,
    numbers: Annotated[list[int], typer.Argument(metavar="NUMBER...", help="Messages of the agent.")],
    as_json: JsonOption = False,
) -> int:
    """Remove messages from an agent's inbox."""
    with open_memory() as memory:
        done = memory.agents.acknowledge(agent, numbers)
    if as_json:
        say_json({"schema": 1, **asdict(done)})
    else:
        for number in done.unknown:
            tell(f"{number} was never sent to {agent}, or was deleted")
    return EXIT_NO if done.unknown else EXIT_OK


@app.command()
def publish(
    type_: Annotated[str, typer.Argument(metavar="TYPE", help="Any name, such as build_done.")],
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="A description.")] = "",
    sender: _Sender = "",
) -> int:
    """Publish an event to all listeners; print its number."""
    with open_memory() as memory:
        say(str(memory.agents.publish(type_, agent=sender, data={"text": text} if text else None)))
    return EXIT_OK


@app.command()
def events(
    type_: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Only of this type; repeatable.")
    ] = None,
    after: _After = None,
    wait: _Wait = 0.0,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until interrupted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document per line.")] = False,
) -> int:
    """Print the events of agents: from now on, or after a number."""
    found = False
    with open_memory() as memory:
        cursor = after
        while True:
            came = memory.agents.events(type_ or (), after=cursor, timeout=60.0 if follow else wait)
            cursor = came.cursor
            for event in came.events:
                found = True
                if as_json:
                    say_json(_event_shape(event), lines=True)
                else:
                    say(f"{event.id}  {moment(event.at)}  {event.type}  {_describe_event(event)}".rstrip())
            if not follow:
                return EXIT_OK if found else EXIT_NO


@app.command()
def forget(agent: _Agent) -> int:
    """Remove an agent and all its messages."""
    with open_memory() as memory:
        memory.agents.forget(agent)
    return EXIT_OK


def _state(agent: "Agent") -> str:
    marks = [name for name in ("stale", "paused") if getattr(agent, name)]
    if agent.should_stop:
        marks.append("to stop")
    return ", ".join([agent.status or "-", *marks])


def _describe_event(event: "Event") -> str:
    said = ", ".join(f"{name} {value}" for name, value in event.data.items() if value not in ("", None))
    return "  ".join(part for part in (event.agent, said) if part)


def _shape(agent: "Agent") -> Mapping[str, Any]:
    return {**asdict(agent), "joined": moment(agent.joined), "last_seen": moment(agent.last_seen)}


def _message(letter: "AgentMessage") -> Mapping[str, Any]:
    return {
        "id": letter.id,
        "to": letter.to,
        "from": letter.sender,
        "type": letter.sort.value,
        "text": letter.text,
        "data": letter.data,
        "created": moment(letter.created),
    }


def _event_shape(event: "Event") -> Mapping[str, Any]:
    return {
        "id": event.id,
        "at": moment(event.at),
        "type": event.type,
        "agent": event.agent,
        "data": event.data,
    }
