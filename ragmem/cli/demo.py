"""`ragmem demo`: run three queries on example notes."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ragmem.cli.app import run_command_line
from ragmem.cli.common import bold, say
from ragmem.config.places import HOME_VARIABLE, find_default
from ragmem.errors import EXIT_OK, RagmemError, StorageError, UsageError, os_reason

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem demo
  ragmem demo --keep ~/ragmem-demo

\b
Exit codes:
  0  done
  2  usage, or the folder of --keep is not empty
  3  the folder cannot be written
"""

QUESTIONS = (
    "why did the deploy answer 502",
    "why was SQLite not enough",
    "why do phones show an old timetable",
)
_INSIDE = "examples/home/repos/tideline/CLAUDE.md"
"""A shipped file, three levels below the home of the example."""


@app.command(epilog=EPILOG)
def demo(
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Keep the notes and the memory in this new folder."),
    ] = None,
) -> int:
    """Run three queries on example notes.

    The demo uses a temporary folder and removes it afterwards. It neither reads nor changes your own
    memories, notes and settings.
    """
    example = find_default(_INSIDE).parents[2]
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="ragmem-demo-", ignore_cleanup_errors=True) as folder:
            _show(example, Path(folder).resolve())
    else:
        _show(example, _new_folder(keep.expanduser()))
        say(f"\nThe notes and the memory of this demo are in {keep}.")
    say("\nNext, `ragmem setup` finds your own notes and sessions, and asks before it reads them.")
    return EXIT_OK


def _new_folder(folder: Path) -> Path:
    """Make a folder; raises UsageError if something is in it, StorageError if it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f'"{folder}" is not empty', hint="name a new folder")
    except FileExistsError as error:
        raise UsageError(f'"{folder}" is a file', hint="name a new folder") from error
    except OSError as error:
        reason = os_reason(error)
        raise StorageError(f'cannot write "{folder}": {reason}', hint="name another folder") from error
    return folder.resolve()


def _show(example: Path, folder: Path) -> None:
    home = folder / "home"
    shutil.copytree(example, home)
    say("This demo indexes the notes of an invented developer: decisions, incidents, session summaries.\n")
    with _as_person(home, folder / "memory"):
        _run(["seed", "--quiet"])
        for question in QUESTIONS:
            say()
            _run(["query", question, "--limit", "2"])


@contextmanager
def _as_person(home: Path, memory: Path) -> Iterator[None]:
    """Put a home folder and a memory into effect for this process, and nothing of the person's own."""
    before, here = dict(os.environ), Path.cwd()
    for name in before:
        if name.startswith(("RAGMEM_", "XDG_", "CLAUDE")) and name != "RAGMEM_OFFLINE":
            del os.environ[name]
    os.environ.update({"HOME": str(home), HOME_VARIABLE: str(memory)})
    os.chdir(home)
    try:
        yield
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(before)


def _run(words: list[str]) -> None:
    """Run a command as it is shown; in this process, because each start would load the model again."""
    shown = " ".join(f'"{word}"' if " " in word else word for word in words)
    say(bold(f"$ ragmem {shown}"))
    if (code := run_command_line(words)) != EXIT_OK:
        raise RagmemError(f"`ragmem {shown}` ended with exit code {code}", hint="ragmem doctor")
