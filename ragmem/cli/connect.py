"""`ragmem connect`: add ragmem's hooks and MCP server to an assistant."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragmem.cli.common import SCHEMA, plural, say, say_json, table, tell
from ragmem.cli.connections import AssistantsArgument, ScopeOption
from ragmem.cli.options import DryRunOption, JsonOption, QuietOption
from ragmem.errors import EXIT_NO, EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.services.wiring.command import Program

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem connect
  ragmem connect claude-code
  ragmem connect codex gemini --dry-run
  ragmem connect claude-code --scope project
  ragmem connect cursor --no-mcp
  ragmem connect claude-code --handlers mcp
  ragmem connect --all

\b
Exit codes:
  0  done, or nothing to do
  1  --all found no assistant on this machine
  2  usage, or settings that cannot be read
  3  settings that cannot be written, or one of several assistants failed
  5  another program keeps changing the settings
"""

HandlerName = Literal["command", "mcp", "http"]
"""What the hooks within a session are."""


@app.command(epilog=EPILOG)
def connect(
    assistants: AssistantsArgument = None,
    every: Annotated[bool, typer.Option("--all", help="All assistants on this machine.")] = False,
    scope: ScopeOption = "user",
    no_mcp: Annotated[bool, typer.Option("--no-mcp", help="Add only hooks, no MCP server.")] = False,
    handlers: Annotated[
        HandlerName | None,
        typer.Option("--handlers", help="Type of the hooks within a session; initially command."),
    ] = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Add ragmem's hooks and MCP server to an assistant.

    The rest of its settings is left as it is. Without a name it lists the assistants and which are connected.
    """
    from ragmem.assistants import load_assistant, load_assistants
    from ragmem.assistants.places import SERVER_FORMS
    from ragmem.cli.connections import connect_context, run_each
    from ragmem.services.wiring.connect import Outcome, connect, is_installed

    if not assistants and not every:
        return _show(as_json=as_json)
    if assistants and every:
        raise UsageError("--all and a name are mutually exclusive", hint="ragmem connect --all")
    if handlers == "mcp" and no_mcp:
        raise UsageError("--handlers mcp needs the MCP server", hint="leave --no-mcp out")
    desk = connect_context()
    if handlers is not None:
        desk = replace(desk, program=_handled(desk.program, handlers))
    chosen = [load_assistant(name) for name in dict.fromkeys(assistants or ())]
    if every:
        chosen = [one for one in load_assistants() if is_installed(one, desk.places)]
        if not chosen:
            if as_json:
                say_json({"schema": SCHEMA, "dry_run": dry_run, "assistants": []})
            else:
                tell("no assistant was found on this machine; name one")
            return EXIT_NO

    def tell_of(outcome: Outcome) -> None:
        if outcome.plugin:
            say(
                f"{outcome.assistant.title}: the plug-in {outcome.plugin} already has the hooks; "
                "nothing to write"
            )
            return
        first = outcome.changes[0]
        where = f'"{first.path}"'
        if not outcome.is_changed:
            say(f"{outcome.assistant.title}: already connected, in {where}")
            return
        say(f"{outcome.assistant.title}: {plural(len(outcome.assistant.hook_events()), 'hook')} in {where}")
        for change in outcome.changes:
            if change.form in SERVER_FORMS and change.is_changed:
                say(f'{outcome.assistant.title}: the MCP server in "{change.path}"')
        if quiet:
            return
        for kept in outcome.kept:
            tell(f'previous version: "{kept}"')
        if outcome.assistant.note:
            tell(f"note: {outcome.assistant.note}")
        if not is_installed(outcome.assistant, desk.places):
            tell(f"note: {outcome.assistant.title} was not found on this machine")
        if scope == "project":
            tell("note: the commands work only on this machine; do not commit the file")

    return run_each(
        [(one, partial(connect, desk, one, scope, server=not no_mcp, dry_run=dry_run)) for one in chosen],
        tell_of,
        dry_run=dry_run,
        as_json=as_json,
        quiet=quiet,
    )


def _handled(program: "Program", handlers: HandlerName) -> "Program":
    """Return the program with the handler of its hooks, for "http" with the address of `ragmem serve`."""
    program = replace(program, handler=handlers)
    if handlers != "http":
        return program
    from ragmem.api.home import Home

    settings = Home.open().settings.serve
    if settings.tls_cert:
        raise UsageError("hooks cannot reach a server with TLS", hint="--handlers mcp needs no server")
    return replace(program, server=f"http://127.0.0.1:{settings.port}")


def _show(*, as_json: bool) -> int:
    from ragmem.assistants import load_assistants
    from ragmem.cli.connections import connect_context
    from ragmem.services.wiring.connect import connection_states, is_installed
    from ragmem.services.wiring.installed_plugins import find_plugin

    desk = connect_context()
    plugins = {one.name: find_plugin(one, desk.places) for one in load_assistants()}
    rows = [(one, is_installed(one, desk.places), connection_states(desk, one)) for one in load_assistants()]
    if as_json:
        say_json(
            {
                "schema": SCHEMA,
                "assistants": [
                    {
                        "assistant": one.name,
                        "found": found,
                        "plugin": plugins[one.name],
                        "connections": [
                            {
                                "scope": at.scope,
                                "path": at.path,
                                "state": at.state,
                                "problem": at.problem,
                                "handlers": at.handler,
                            }
                            for at in where
                        ],
                    }
                    for one, found, where in rows
                ],
            }
        )
        return EXIT_OK
    lines = []
    for one, found, where in rows:
        told = [
            f"{at.state} ({at.scope}{'' if at.handler == 'command' else f', {at.handler}'})"
            for at in where
            if at.state != "no"
        ]
        told += ["plug-in"] * bool(plugins[one.name])
        lines.append((one.name, "found" if found else "-", ", ".join(told) or "no"))
    table(("assistant", "here", "connected"), lines)
    for one, _, where in rows:
        for at in where:
            if at.problem:
                tell(f"{one.title}: {at.problem}")
            elif at.state == "out of date":
                tell(f"hint: ragmem connect {one.name}" + (" --scope project" * (at.scope == "project")))
    free = [
        one
        for one, found, where in rows
        if found and not plugins[one.name] and all(at.state == "no" for at in where)
    ]
    if free:
        tell(f"hint: ragmem connect {free[0].name}" if len(free) == 1 else "hint: ragmem connect --all")
    return EXIT_OK
