"""The command tree as plain values, read once from the command line itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ragmem import errors
from ragmem.assistants import NAMES
from ragmem.cli.app import COMMANDS, EPILOG, GROUPS, HELP, build, load_command

PROGRAM = "ragmem"

# Parameters whose values the memory knows: the name of the parameter -> the KIND of `ragmem __complete`.
KNOWN = {
    "source": "source",
    "project": "project",
    "tag": "tag",
    "run": "run",
    "symbol": "symbol",
    "spec": "spec",
    "session": "session",
    "identifier": "memory",
    "name": "entity",
    "start": "entity",
    "goal": "entity",
    "around": "entity",
    "model": "model",
    "models": "model",
}
# The same for parameters whose name says something else in other commands: behind the path of theirs.
# The memory knows nothing of an empty one.
KNOWN_THERE = {
    "agents acknowledge agent": "agent",
    "agents events type_": "event",
    "agents forget agent": "agent",
    "agents heartbeat agent": "agent",
    "agents messages agent": "agent",
    "agents publish sender": "agent",
    "agents publish type_": "event",
    "agents signal sender": "agent",
    "agents signal to": "agent",
    "approve accept identifiers": "proposal",
    "approve reject identifiers": "proposal",
    "approve show identifier": "proposal",
    "forget ids": "memory",
    "forget ingest": "ingested",
    "forget undo": "run",
    "gc only": "rule",
    "gc restore": "archived",
    "gc show": "memory",
    "help topic": "topic",
    "inspect injections memory": "memory",
    "inspect merges redo": "undone",
    "inspect merges undo": "merge",
    "models bundle with_models": "model",
    "projects assign identifiers": "memory",
    "projects assign project": "project",
    "projects join into": "real-project",
    "projects join project": "real-project",
    "projects move old": "folder",
    "projects rename project": "real-project",
    "projects split name": "",
    "projects split project": "real-project",
    "projects split what": "part",
    "serve members add name": "",
    "serve members add projects": "project",
    "serve members remove name": "",
    "serve members rotate name": "",
    "share mute member": "member",
    "share push consent": "memory",
    "share push ids": "memory",
    "share review accept identifiers": "shared",
    "share review accept member": "member",
    "share review list member": "member",
    "share review reject identifiers": "shared",
    "share review reject member": "member",
    "share review show identifier": "shared",
    "share unmute member": "member",
    "share withdraw ids": "memory",
}
# Parameters whose few values are not declared: others are taken too, or refused with a hint of its own.
WORDS = {
    "agents signal type_": ("stop", "pause", "resume", "message"),
    "check assistant": NAMES,
    "refresh assistant": NAMES,
}
# Arguments that are paths without being declared as such, because `-` is one of their values.
PATHS = {"paths", "check file", "projects move new", "serve cert", "serve key"}


@dataclass(frozen=True, slots=True)
class Value:
    """What a parameter takes: one of `words`, something the memory knows (`known`), a path, or text."""

    form: Literal["words", "known", "file", "folder", "text"]
    shown: str
    words: tuple[str, ...] = ()
    known: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """An option with its names, the short one first; a flag has no value."""

    names: tuple[str, ...]
    help: str
    value: Value | None = None
    repeatable: bool = False
    default: str = ""


@dataclass(frozen=True, slots=True)
class Argument:
    """A positional argument."""

    help: str
    value: Value
    repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """A command or a group of commands; the path of the program itself is empty."""

    path: tuple[str, ...]
    summary: str
    description: str
    options: tuple[Option, ...]
    arguments: tuple[Argument, ...]
    commands: tuple["Command", ...]
    examples: tuple[str, ...]
    exit_codes: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The last word of the path."""
        return self.path[-1] if self.path else PROGRAM

    @property
    def usage(self) -> str:
        """The synopsis, in one line."""
        words = [PROGRAM, *self.path, "[OPTIONS]"]
        words += [item.value.shown + ("..." if item.repeatable else "") for item in self.arguments]
        if self.commands:
            # `ragmem inspect` alone means something; `ragmem` alone shows help.
            words.append("[COMMAND]" if self.path else "COMMAND")
        return " ".join(words)

    def walk(self) -> Iterator["Command"]:
        """Yield this command, then all below it."""
        yield self
        for command in self.commands:
            yield from command.walk()


def read_tree() -> Command:
    """Return the program with all its commands; imports every module of the command line."""
    commands = tuple(_command(load_command(name), (name,)) for name in COMMANDS)
    return Command(
        path=(),
        summary=HELP.splitlines()[0].rstrip("."),
        description=_joined(HELP.partition("\n\n")[2]),
        options=(*_options(build(), ()), HELP_OPTION),
        arguments=(),
        commands=commands,
        examples=(),
        exit_codes=_codes(EPILOG, ()),
    )


def groups(tree: Command) -> Iterator[tuple[str, tuple[Command, ...]]]:
    """Yield the groups of `ragmem --help`: the title, and the commands of the tree under it."""
    for title, names in GROUPS.items():
        yield title, tuple(item for item in tree.commands if item.name in names)


def exit_codes() -> Iterator[tuple[str, str]]:
    """Yield the exit codes of the table that the module of the errors opens with."""
    for line in (errors.__doc__ or "").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0].isdecimal():
            yield cells[0], cells[1]


HELP_OPTION = Option(("-h", "--help"), "Show the help and exit.")


def _command(command: Any, path: tuple[str, ...]) -> Command:
    below = getattr(command, "commands", {})
    epilog = command.epilog or ""
    summary, _, description = command.help.partition("\n\n")
    return Command(
        path=path,
        summary=_joined(summary),
        description=_joined(description),
        options=(*_options(command, path), HELP_OPTION),
        arguments=tuple(_arguments(command, path)),
        commands=tuple(_command(item, (*path, name)) for name, item in below.items()),
        examples=tuple(_list(epilog, "Examples", path)),
        exit_codes=_codes(epilog, path),
    )


def _options(command: Any, path: tuple[str, ...]) -> Iterator[Option]:
    for item in command.params:
        if item.param_type_name != "option" or item.hidden:
            continue
        value = None if item.is_flag else _value(item, path)
        default = "" if value is None or item.default in (None, "", ()) else str(item.default)
        yield Option(
            names=tuple(sorted((*item.opts, *item.secondary_opts), key=len)),
            help=_joined(item.help or ""),
            value=value,
            repeatable=bool(item.multiple),
            default=default,
        )


def _arguments(command: Any, path: tuple[str, ...]) -> Iterator[Argument]:
    for item in command.params:
        if item.param_type_name == "argument":
            value = _value(item, path)
            yield Argument(help=_joined(item.help or ""), value=value, repeatable=item.nargs == -1)


def _value(item: Any, path: tuple[str, ...]) -> Value:
    shown = (item.metavar or item.name.upper()).removesuffix("...")
    named = " ".join((*path, item.name))
    if choices := tuple(str(choice) for choice in getattr(item.type, "choices", None) or ()):
        return Value("words", item.metavar or "|".join(choices), words=choices)
    if words := WORDS.get(named):
        return Value("words", shown, words=words)
    if not {item.name, named}.isdisjoint(PATHS) or item.type.name in {"file", "path", "directory"}:
        return Value("file" if getattr(item.type, "file_okay", True) else "folder", shown)
    if known := KNOWN_THERE.get(named, KNOWN.get(item.name)):
        return Value("known", shown, known=known)
    return Value("text", "N" if item.type.name.startswith("int") else shown)


def _list(epilog: str, title: str, path: tuple[str, ...]) -> list[str]:
    """Return the lines under a title of an epilog; the commands below a group share the group's."""
    if not epilog and len(path) > 1:
        return []
    paragraphs = [part.strip().splitlines() for part in epilog.replace("\b", "").split("\n\n")]
    for first, *lines in filter(None, paragraphs):
        if first == f"{title}:" and lines:
            return [line.strip() for line in lines]
    raise ValueError(f'ragmem {" ".join(path)}: the epilog has no paragraph "{title}:" with one entry a line')


def _codes(epilog: str, path: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    cut = (line.partition(" ") for line in _list(epilog, "Exit codes", path))
    return tuple((code, meaning.strip()) for code, _, meaning in cut)


def _joined(text: str) -> str:
    return " ".join(text.split())
