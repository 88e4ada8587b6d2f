"""Functions that `connect` and `disconnect` share: the context of this machine, and the output."""

import os
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.assistants import NAMES
from ragmem.assistants.places import Scope
from ragmem.cli.common import SCHEMA, moment, printable, say, say_json, tell
from ragmem.errors import EXIT_FAILED, EXIT_OK, RagmemError

if TYPE_CHECKING:
    from ragmem.assistants.assistant import Assistant
    from ragmem.services.wiring.connect import ConnectContext, FileChange, Outcome

Name = StrEnum("Name", {name.replace("-", "_"): name for name in NAMES})  # type: ignore[misc]

AssistantsArgument = Annotated[list[Name] | None, typer.Argument(metavar="[ASSISTANT]", help="By name.")]
ScopeOption = Annotated[
    Scope, typer.Option("--scope", help="For all projects, or only for the project of this folder.")
]

Action = tuple["Assistant", Callable[[], "Outcome"]]


def connect_context() -> "ConnectContext":
    """Return the places, the state folder and the program of this process."""
    from ragmem.api.memory import now
    from ragmem.assistants.places import Places
    from ragmem.config.places import find_places
    from ragmem.services.wiring.command import this_program
    from ragmem.services.wiring.connect import ConnectContext

    home, cwd = Path.home(), Path.cwd()
    return ConnectContext(
        Places(os.environ, home, cwd),
        this_program(sys.executable, os.environ, home=str(home), cwd=str(cwd)),
        find_places(os.environ, home=home, cwd=cwd).state,
        moment(now()),
    )


def run_each(
    acts: Sequence[Action],
    tell_of: "Callable[[Outcome], None]",
    *,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run the action of each assistant and print its outcome; a failure does not stop the others.

    The error of a single assistant is raised; with several it is printed, and the exit code is 3.
    """
    shapes: list[dict[str, Any]] = []
    code = EXIT_OK
    for assistant, act in acts:
        try:
            outcome = act()
        except RagmemError as error:
            if len(acts) == 1:
                raise
            tell(f"{assistant.title}: {error.full_message}")
            shapes.append({"assistant": assistant.name, "error": str(error), "hint": error.hint})
            code = EXIT_FAILED
            continue
        shapes.append(_shape(outcome))
        if as_json:
            continue
        if dry_run:
            for change in outcome.changes:
                for line in redact_diff(change):
                    say(line)
        if not dry_run or not outcome.is_changed:
            tell_of(outcome)
        if not quiet:
            for note in outcome.notes:
                tell(f"note: {note}")
    if as_json:
        say_json({"schema": SCHEMA, "dry_run": dry_run, "assistants": shapes})
    return code


def redact_diff(change: "FileChange") -> list[str]:
    """Return the lines of the unified diff of a change, without secrets."""
    from ragmem.domain.secrets.redaction import DEFAULT

    return [printable(DEFAULT.redact(line)[0]) for line in change.diff()]


def _shape(outcome: "Outcome") -> dict[str, Any]:
    return {
        "assistant": outcome.assistant.name,
        "scope": outcome.scope,
        "changed": outcome.is_changed,
        "files": [
            {"path": change.path, "changed": change.is_changed, "diff": redact_diff(change)}
            for change in outcome.changes
        ],
        "kept": list(outcome.kept),
        "plugin": outcome.plugin,
        "notes": list(outcome.notes),
    }
