"""The table of commands; each module is imported only when its command runs."""

import importlib
import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer
import typer.core
import typer.main
from typer.exceptions import TyperException

from ragmem.cli.declaration import Command, Parameter
from ragmem.errors import EXIT_INTERRUPTED, EXIT_OK, UsageError
from ragmem.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A command: the module of its Typer app, and its help line (a test compares it with the module's)."""

    module: str
    help: str


GROUPS: dict[str, dict[str, Entry]] = {
    "Start": {
        "setup": Entry("ragmem.cli.setup", "Index your notes and connect the assistants on this machine."),
        "demo": Entry("ragmem.cli.demo", "Run three queries on example notes."),
        "seed": Entry("ragmem.cli.seed", "Index new and changed files of the configured sources."),
        "help": Entry("ragmem.cli.manual", "Read the documentation offline."),
        "completions": Entry(
            "ragmem.cli.completions", "Print or install shell completions for bash, zsh and fish."
        ),
    },
    "Query": {
        "query": Entry("ragmem.cli.query", "Find the memories that answer a question."),
        "context": Entry("ragmem.cli.context", "Print the memories that a new session or a task needs."),
        "check": Entry("ragmem.cli.check", "Check an assistant's answer against your rules."),
    },
    "Store": {
        "ingest": Entry("ragmem.cli.ingest", "Store files, folders or standard input."),
        "record": Entry("ragmem.cli.record", "Store what a session learnt as a typed record."),
        "import": Entry("ragmem.cli.import_", "Import an export, or the memories of another tool."),
        "share": Entry("ragmem.cli.share", "Share memories with a team over the git remote of a project."),
        "approve": Entry("ragmem.cli.approve", "Accept or reject proposed memories and skills."),
        "pin": Entry("ragmem.cli.pin", "Protect a memory from expiry and folding."),
        "feedback": Entry("ragmem.cli.feedback", "Rate a memory as useful or not, or report a problem."),
    },
    "Explore": {
        "inspect": Entry("ragmem.cli.inspect.inspect", "Explore memories, graph, code, settings and costs."),
        "projects": Entry("ragmem.cli.projects", "List, join, split, rename and move projects."),
        "agents": Entry("ragmem.cli.agents", "List agents, send signals and messages, wait for events."),
    },
    "Connect": {
        "connect": Entry("ragmem.cli.connect", "Add ragmem's hooks and MCP server to an assistant."),
        "disconnect": Entry(
            "ragmem.cli.disconnect", "Remove ragmem's hooks and MCP server from an assistant."
        ),
        "refresh": Entry("ragmem.cli.refresh", "Write proven memories into an assistant's memory file."),
        "serve": Entry("ragmem.cli.serve", "Run the HTTP server on this machine."),
        "mcp": Entry("ragmem.cli.mcp", "Run the MCP server on standard input and output."),
        "warm": Entry("ragmem.cli.warm", "Show or stop the background process that answers hooks."),
    },
    "Maintain": {
        "doctor": Entry("ragmem.cli.doctor", "Find problems and repair them."),
        "gc": Entry("ragmem.cli.gc", "Archive duplicates and noise, or undo a run."),
        "forget": Entry("ragmem.cli.forget", "Archive chosen memories, or delete them permanently."),
        "scrub": Entry("ragmem.cli.scrub", "Remove secrets, or any other text, from all stored data."),
        "backup": Entry("ragmem.cli.backup", "Back up the ragmem home to one verified file."),
        "restore": Entry("ragmem.cli.restore", "Restore a backup; keep the data that it replaces."),
        "export": Entry("ragmem.cli.export", "Export all memories verbatim as JSON Lines."),
        "store": Entry("ragmem.cli.store", "Show where memories are stored, or migrate to another store."),
        "models": Entry("ragmem.cli.models.models", "List, choose, download and test models."),
    },
}
"""The commands by what a person wants: the titles of `ragmem --help` and the reference."""

COMMANDS = {name: entry for entries in GROUPS.values() for name, entry in entries.items()}

OTHER_TOOLS = {
    "query": "ask find recall retrieve search",
    "ingest": "add remember save",
    "forget": "delete remove rm",
    "inspect": "config get list ls settings show stats",
    "doctor": "health status",
    "gc": "clean prune undo",
    "seed": "index init load update",
    "setup": "install",
    "share": "pull push sync",
    "serve": "server start",
}
"""Command -> what other tools call it."""

HELP = """Memory for AI coding assistants, on this machine.

Index the notes, decisions and sessions on your disk, and query them in milliseconds."""

EPILOG = """\b
Exit codes:
  0    success; query found something
  1    success, but the answer is no
  2    usage or configuration
  3    failed, or some inputs could not be read
  4    a backend is missing
  5    the store is busy
  6    the store is damaged
  70   a bug
  130  interrupted
"""


class LazyGroup(typer.core.TyperGroup):
    """A group that knows its commands' help lines and imports a command only to run it."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - Click's signature
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - Click's signature
        """Return a placeholder with the help line; `resolve_command` imports the command."""
        return _placeholder(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Click's signature
        """Write the commands group by group, with their help lines in one column."""
        width = max(map(len, COMMANDS))
        for title, entries in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), entry.help) for name, entry in entries.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Import the named command; an unknown name raises UsageError with the nearest one."""
        meant = [command for command, words in OTHER_TOOLS.items() if args[0] in words.split()]
        if meant and args[0] not in COMMANDS:
            raise UsageError(f"no such command '{args[0]}'", hint=f"ragmem {meant[0]} --help")
        name, _, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name else None, rest


def _placeholder(name: str) -> Any:
    return typer.core.TyperCommand(name=name, help=COMMANDS[name].help, rich_markup_mode=None)


@cache
def load_command(name: str) -> Any:
    """Return the real command of the table."""
    command = typer.main.get_command(_for_typer(importlib.import_module(COMMANDS[name].module).app))
    command.name = name
    _keep_summaries(command)
    _refuse_empty_values(command)
    return command


def _for_typer(app: Command | typer.Typer) -> typer.Typer:
    """Return an app in which all that is declared without Typer is declared with it."""
    if isinstance(app, Command):
        made = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
        made.command(epilog=app.epilog)(app.function)
        app = made
    for one in [*app.registered_commands, app.registered_callback]:
        if one and one.callback:
            hints = one.callback.__annotations__
            one.callback.__annotations__ = {key: _hint_for_typer(hint) for key, hint in hints.items()}
    for group in app.registered_groups:
        if group.typer_instance:
            _for_typer(group.typer_instance)
    return app


def _hint_for_typer(hint: Any) -> Any:
    match getattr(hint, "__metadata__", ()):
        # With two it is declared with Typer already.
        case [Parameter() as parameter]:
            make = typer.Option if parameter.names else typer.Argument
            return Annotated[hint, make(*parameter.names, **parameter.settings)]
    return hint


def _keep_summaries(group: Any) -> None:
    """Let a group's help show the whole first sentence of each command, which Typer cuts to fit one line."""
    for command in getattr(group, "commands", {}).values():
        command.short_help = command.get_short_help_str(limit=sys.maxsize)
        _keep_summaries(command)


def _refuse_empty_values(command: Any) -> None:
    """Let no option take an empty value: an unset variable in a script must not widen what a command does."""

    def refuse(ctx: Any, parameter: Any, value: Any) -> Any:
        given = value if isinstance(value, list | tuple) else (value,)
        if "" in given and ctx.get_parameter_source(parameter.name).name == "COMMANDLINE":
            raise UsageError(f"{parameter.opts[0]} is empty", hint="give a value, or leave the option out")
        return value

    for parameter in command.params:
        if parameter.param_type_name == "option" and parameter.callback is None:
            parameter.callback = refuse
    for inner in getattr(command, "commands", {}).values():
        _refuse_empty_values(inner)


def build() -> LazyGroup:
    """Return the whole command line."""
    return LazyGroup(
        name="ragmem",
        help=HELP,
        epilog=EPILOG,
        commands={name: _placeholder(name) for name in COMMANDS},
        params=[
            typer.core.TyperOption(
                param_decls=["--version"], is_flag=True, help="Show the version and exit.", expose_value=False
            ),
            # Handled before this module is imported; listed here only for the help.
            typer.core.TyperOption(
                param_decls=["--offline"],
                is_flag=True,
                help="Refuse all network connections; put it before the command.",
                expose_value=False,
            ),
        ],
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )


_LOOSE = {
    "ragmem query": 'a question is one argument: ragmem query "two words"',
    "ragmem seed": "seed reads the sources; a file or folder of your own: ragmem ingest PATH",
}
"""Hints for commands with an argument too many."""


def run_command_line(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; raises UsageError if it cannot be parsed."""
    for argument in arguments:
        if not argument.isascii() and argument != argument.encode("utf-8", "replace").decode():
            # Neither the database nor JSON can store such a text, even as a file name.
            raise UsageError(f'"{argument}" is not UTF-8', hint="rename the file, or convert the text")
    try:
        result = build().main(args=list(arguments) or ["--help"], prog_name="ragmem", standalone_mode=False)
    except TyperException as error:
        context = getattr(error, "ctx", None)
        # Click does not say where an option lacks its value.
        path = context.command_path if context is not None else " ".join(["ragmem", *arguments[:1]])
        message = _uncapitalize(error.format_message())
        hint = (_LOOSE.get(path) if "unexpected extra argument" in message else None) or f"{path} --help"
        if "no such option: --offline" in message:
            hint = "put it before the command: ragmem --offline COMMAND"
        raise UsageError(message, hint=hint) from error
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit:
        # The only case in which Click exits itself: the reader of a pipe has left.
        raise BrokenPipeError from None
    if result == EXIT_INTERRUPTED:
        # Click swallows ^C; `__main__` reports what was stored.
        raise KeyboardInterrupt
    return result if isinstance(result, int) else EXIT_OK


def _uncapitalize(message: str) -> str:
    text = message.strip().rstrip(".")
    return text[:1].lower() + text[1:]
