"""The MCP server of ragmem in the settings of assistants: writing its entry and recognizing it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragmem.assistants.assistant import Assistant
from ragmem.services.wiring.command import Program

NAME = "ragmem"
COMMAND = "mcp"


@dataclass(frozen=True, slots=True)
class Server:
    """An entry of ours: the program, the variables that locate its home, and options that a person added."""

    words: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    options: tuple[str, ...] = ()


def make_entry(assistant: Assistant, program: Program, *, options: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the entry for an assistant, with options that a person has added to the command."""
    return assistant.server_entry([*program.words, COMMAND, *options], dict(program.variables))


def read_server(value: Any) -> Server | None:
    """Parse an entry that starts `ragmem mcp`, whoever wrote it; return None for any other."""
    if not isinstance(value, Mapping):
        return None
    command, more = value.get("command"), value.get("args", [])
    words = [command, *more] if isinstance(command, str) and isinstance(more, list) else command
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words) or not words:
        return None
    if words[1:4] == ["-m", NAME, COMMAND] and Path(words[0]).name.startswith("python"):
        program, options = words[:3], words[4:]
    elif Path(words[0]).name == NAME and words[1:2] == [COMMAND]:
        program, options = words[:1], words[2:]
    else:
        return None
    variables = value.get("env", value.get("environment")) or {}
    if not isinstance(variables, Mapping):
        return None
    led = tuple((str(name), str(said)) for name, said in variables.items())
    return Server(tuple(program), led, tuple(options))


def is_ours(value: Any, program: Program) -> bool:
    """Return whether an entry uses the same home as a program, whichever version wrote it."""
    found = read_server(value)
    return (
        found is not None
        and set(program.variables) <= set(found.variables)
        and _home(found) == _home(program)
    )


def _home(one: Server | Program) -> tuple[tuple[str, str], ...]:
    places = ("RAGMEM_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    return tuple(sorted(pair for pair in one.variables if pair[0] in places))


def update_entry(value: Mapping[str, Any], assistant: Assistant, program: Program) -> dict[str, Any]:
    """Update an entry of ours, keeping all that a person has added to it."""
    found = read_server(value)
    options = found.options if found is not None else ()
    wanted = make_entry(assistant, program, options=options)
    kept = {name: said for name, said in value.items() if name not in ("command", "args")}
    return {**wanted, **kept}
