"""The command of a hook: writing it and recognizing it."""

import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from ragmem.assistants.assistant import HOOK_PATH
from ragmem.config.folders import HOME_VARIABLE, XDG, expand_tilde, folder_of
from ragmem.hooks import limits

if TYPE_CHECKING:
    from ragmem.assistants.assistant import Assistant, Handler

MIN_TIMEOUT_S = 5
"""Seconds until an assistant stops a hook: more than the deadlines that a hook enforces itself.

A hook that writes gets the same, because on a busy machine Python alone takes a second to start.
"""

MARGIN_S = 2
"""Seconds that an assistant waits beyond the deadline of a hook."""

_CACHES = ("/.cache/uv/", "/uv/archive-v", "/pipx/.cache/", "/.cache/pipx/")
_ASSIGNMENT = re.compile(r"([A-Z_]+)=(.*)", re.DOTALL)
_PYTHON = re.compile(r"python[0-9.]*(?:\.exe)?\Z")
_ADDRESS = re.compile(rf"http://[^/?#]+{HOOK_PATH}/([\w-]+)/(\w+)(?:\?([^#]*))?")
_LIKE_OURS = re.compile(r"ragmem\b.{0,80}\bhooks?\b", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Program:
    """The ragmem to call, the variables that locate its home, and its time limit."""

    words: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()
    allowed_s: int = MIN_TIMEOUT_S
    handler: "Handler | None" = None
    """What the hooks within a session are; None: what they are already, else a command."""
    server: str = ""
    """The address of `ragmem serve`."""

    def entry(self, assistant: "Assistant", event: str) -> dict[str, object]:
        """Return the entry of an event in the settings; a handler that the assistant lacks is a command."""
        handler = self.handler or "command"
        if handler not in assistant.handlers or not assistant.asks_within_session(event):
            handler = "command"
        if handler == "http":
            query = f"?{urlencode(self.variables)}" if self.variables else ""
            target = f"{self.server}{HOOK_PATH}/{assistant.name}/{event}{query}"
        else:
            # The server of the tool has a program of its own.
            program = self if handler == "command" else Program(("ragmem",), self.variables)
            target = program.line(event, assistant.name)
        return assistant.handler_entry(handler, event, target, self.allowed_s)

    def line(self, event: str, assistant: str) -> str:
        """Return the shell command that calls this hook of this assistant."""
        led = [f"{name}={shlex.quote(value)}" for name, value in self.variables]
        return " ".join((*led, shlex.join((*self.words, "hook", event, "--for", assistant))))


@dataclass(frozen=True, slots=True)
class Call:
    """A parsed command of ragmem."""

    program: Program
    event: str
    assistant: str


def is_in_cache(program: Program) -> bool:
    """Return whether a program is in the cache of a tool that runs it once, so that it may vanish."""
    return any(part in program.words[0] for part in _CACHES)


def read_call(command: str) -> Call | None:
    """Parse a command that `connect` has written, or an address; return None for any other."""
    if found := _ADDRESS.fullmatch(command):
        return Call(Program((), tuple(parse_qsl(found[3] or ""))), found[2], found[1])
    if "ragmem" not in command:  # splitting is slow, and settings may be long
        return None
    try:
        words = shlex.split(command)
    except ValueError:  # quotes that nobody closes are not ours
        return None
    variables = []
    while words and (found := _ASSIGNMENT.fullmatch(words[0])):
        variables.append((found[1], found[2]))
        del words[0]
    if words[1:3] == ["-m", "ragmem"] and _PYTHON.match(Path(words[0]).name):
        program, rest = words[:3], words[3:]
    elif words and Path(words[0]).name == "ragmem":
        program, rest = words[:1], words[1:]
    else:
        return None
    match rest:
        case ["hook", event, "--for", assistant]:
            return Call(Program(tuple(program), tuple(variables)), event, assistant)
    return None


def looks_like_ours(command: str) -> bool:
    """Return whether a command calls a hook of ragmem in any form."""
    return _LIKE_OURS.search(command) is not None


def variables_of(environ: Mapping[str, str], *, home: str, cwd: str) -> tuple[tuple[str, str], ...]:
    """Return the variables that a command needs to find this home from anywhere.

    An assistant that was started from the desktop does not have the variables of a shell's profile.
    """
    chosen = environ.get(HOME_VARIABLE, "")
    if chosen:
        return ((HOME_VARIABLE, str(Path(cwd, expand_tilde(chosen, home)))),)
    return tuple(
        (variable, value)
        for variable, default in XDG.values()
        if Path(value := environ.get(variable, "")).is_absolute() and Path(value) != Path(home, default)
    )


def this_program(executable: str, environ: Mapping[str, str], *, home: str, cwd: str) -> Program:
    """Return the ragmem of this environment: its own command where there is one, else Python with -m.

    [hooks] of config.toml sets the time limit of its hooks.
    """
    deadline = limits.read_limits(
        limits.config_file(folder_of("config", environ, home=home, cwd=cwd)), environ
    )
    beside = Path(executable).with_name("ragmem")
    words = (str(beside),) if beside.is_file() else (executable, "-m", "ragmem")
    seconds = max(MIN_TIMEOUT_S, math.ceil(deadline.query_deadline_s) + MARGIN_S)
    return Program(words, variables_of(environ, home=home, cwd=cwd), seconds)
