"""`ragmem completions`: print or install shell completions for bash, zsh and fish."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from ragmem.cli.common import SCHEMA, run_default_command, say, say_json, table, tell
from ragmem.cli.options import DryRunOption, JsonOption
from ragmem.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.services.wiring.shell_completion import Installation

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem completions install
  ragmem completions install zsh --edit-rc
  ragmem completions install --dry-run
  ragmem completions show fish

\b
Exit codes:
  0  done
  2  usage: no such shell, or a file of another program is in the way
  3  a file cannot be written
"""

ShellName = Literal["bash", "zsh", "fish"]
ShellArgument = Annotated[
    ShellName | None, typer.Argument(metavar="[SHELL]", help="The shell; by default the one that you use.")
]


@app.callback(epilog=EPILOG, invoke_without_command=True)
def completions(context: typer.Context, as_json: JsonOption = False) -> int:
    """Print or install shell completions for bash, zsh and fish."""
    return run_default_command(context, _state, group="completions", as_json=as_json)


@app.command()
def show(shell: ShellArgument = None) -> int:
    """Print the completion script of a shell."""
    from ragmem.services.wiring.shell_completion import script_of

    sys.stdout.flush()
    sys.stdout.buffer.write(script_of(chosen_shell(shell)))
    sys.stdout.buffer.flush()
    return EXIT_OK


@app.command()
def install(
    shell: ShellArgument = None,
    edit_rc: Annotated[
        bool, typer.Option("--edit-rc", help="Also add the lines to the shell's start-up file.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove it, with the lines that --edit-rc added.")
    ] = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> int:
    """Install the completion script where the shell looks for it.

    Does not edit your start-up files: it shows the lines to add, or adds them with --edit-rc.
    """
    from ragmem.services.wiring.shell_completion import apply, plan_installation, plan_removal

    chosen, home = chosen_shell(shell), Path.home()
    plan = (
        plan_removal(chosen, os.environ, home=home)
        if remove
        else plan_installation(chosen, os.environ, home=home, edit=edit_rc)
    )
    if not dry_run:
        apply(plan)
    if as_json:
        say_json({"schema": SCHEMA, "dry_run": dry_run, **_shape(plan)})
        return EXIT_OK
    _say(plan, dry_run=dry_run)
    if not remove and shutil.which("ragmem") is None:
        tell("note: ragmem is not on your PATH, so completion does not work")
    return EXIT_OK


def _state(*, as_json: bool) -> int:
    from ragmem.services.wiring.shell_completion import plan_installation

    found = []
    for shell in get_args(ShellName):
        try:
            plan = plan_installation(shell, os.environ, home=Path.home())
        except UsageError as error:
            found.append({"shell": shell, "state": "another's", "file": "", "note": str(error)})
            continue
        state = "installed" if plan.change == "unchanged" else "older" if plan.file.exists() else "absent"
        note = (
            f"{plan.start_up} lacks the lines for it"
            if state != "absent" and plan.start_up_change == "needed"
            else ""
        )
        found.append({"shell": shell, "state": state, "file": str(plan.file), "note": note})
    if as_json:
        say_json({"schema": SCHEMA, "shells": found})
    else:
        table(("shell", "state", "file", "note"), [list(one.values()) for one in found])
    return EXIT_OK


def chosen_shell(given: ShellName | None) -> Any:
    """Return the named shell, else the one in use; raises UsageError if that is none of the three."""
    from ragmem.services.wiring.shell_completion import shell_in_use

    return given or shell_in_use(_parent_process(), os.environ)


def _parent_process() -> str:
    """Return the name of the parent process, "" if the system does not tell."""
    told = Path(f"/proc/{os.getppid()}/comm")
    if told.is_file():
        return told.read_text(encoding="utf-8", errors="replace").strip()
    try:
        done = subprocess.run(  # noqa: S603 - no part of it is input
            ["ps", "-o", "comm=", "-p", str(os.getppid())],  # noqa: S607 - wherever the system has it
            capture_output=True,
            text=True,
            check=False,
            timeout=5,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _shape(plan: "Installation") -> dict[str, Any]:
    return {
        "shell": plan.shell,
        "file": str(plan.file),
        "change": plan.change,
        "start_up": {"file": str(plan.start_up), "change": plan.start_up_change, "lines": list(plan.lines)},
    }


def _say(plan: "Installation", *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    said = {
        "written": f"{would}written",
        "removed": f"{would}removed",
        "unchanged": "up to date",
        "absent": "not there",
    }
    say(f"{plan.file}: {said[plan.change]}")
    match plan.start_up_change:
        case "written" | "removed":
            done = "added" if plan.start_up_change == "written" else "taken out"
            say(f"{plan.start_up}: lines {would}{done}")
        case "needed":
            tell(f"to enable it in {plan.shell}, add these lines to {plan.start_up} (or use --edit-rc):")
            for line in plan.lines:
                tell(f"  {line}")
        case "left":
            tell(f"note: {plan.start_up} still loads it, in a line that ragmem did not write")
    if plan.change in {"written", "unchanged"} and not dry_run and plan.start_up_change != "needed":
        if plan.shell == "bash" and not plan.lines:
            tell("completion works in every new bash that loads bash-completion")
        else:
            tell(f"completion works in every new {plan.shell}")
