"""`ragmem disconnect`: remove ragmem's hooks and MCP server from an assistant."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from ragmem.cli.common import say, tell
from ragmem.cli.connections import AssistantsArgument, ScopeOption
from ragmem.cli.options import DryRunOption, JsonOption, QuietOption
from ragmem.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.assistants.assistant import Assistant
    from ragmem.assistants.places import Scope
    from ragmem.services.wiring.connect import ConnectContext

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem disconnect claude-code
  ragmem disconnect codex --dry-run
  ragmem disconnect --all

\b
Exit codes:
  0  done, or nothing to do
  2  usage, or settings that cannot be read
  3  settings that cannot be written, or one of several assistants failed
  5  another program keeps changing the settings
"""


@app.command(epilog=EPILOG)
def disconnect(
    assistants: AssistantsArgument = None,
    every: Annotated[bool, typer.Option("--all", help="All assistants, also in projects.")] = False,
    scope: ScopeOption = "user",
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Remove ragmem's hooks and MCP server from an assistant.

    Restores the settings, except for what others have changed since. Stored memories stay.
    """
    from ragmem.assistants import load_assistant
    from ragmem.cli.connections import connect_context, run_each
    from ragmem.services.wiring.connect import Outcome, disconnect, find_connections

    if assistants and every:
        raise UsageError("--all and a name are mutually exclusive", hint="ragmem disconnect --all")
    if not assistants and not every:
        raise UsageError("name an assistant, or use --all", hint="ragmem disconnect claude-code")
    desk = connect_context()
    chosen = (
        find_connections(desk)
        if every
        else [(load_assistant(name), scope, desk) for name in dict.fromkeys(assistants or ())]
    )

    changed: list[Outcome] = []

    def act(at: "ConnectContext", one: "Assistant", scope: "Scope") -> Outcome:
        outcome = disconnect(at, one, scope, dry_run=dry_run)
        changed.extend([outcome] * outcome.is_changed)
        return outcome

    def tell_of(outcome: Outcome) -> None:
        if outcome.is_changed:
            changed = dict.fromkeys(change.path for change in outcome.changes if change.is_changed)
            places = ", ".join(f'"{path}"' for path in changed)
            say(f"{outcome.assistant.title}: disconnected, in {places}")
        elif not every:
            say(f"{outcome.assistant.title}: is not connected")

    code = run_each(
        [(one, partial(act, at, one, scope)) for one, scope, at in chosen],
        tell_of,
        dry_run=dry_run,
        as_json=as_json,
        quiet=quiet,
    )
    if every and code == EXIT_OK and not (changed or as_json or quiet):
        tell("no assistant is connected")
    return code
