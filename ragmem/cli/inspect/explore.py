"""`ragmem inspect explore`: explore the memory in the terminal."""

import os
import sys
from importlib.util import find_spec
from typing import Annotated, Literal

import typer

from ragmem.cli.common import open_memory, tell
from ragmem.errors import EXIT_OK, BackendError, UsageError

INSTALL = 'pip install "ragmem[explore]"'

ThemeName = Literal["auto", "dark", "light"]
"""The colours; auto reads the terminal's variable COLORFGBG, and is dark without it."""


def explore(
    theme: Annotated[ThemeName, typer.Option("--theme", help="The colours; t changes them.")] = "auto",
) -> int:
    """Browse memories in the terminal by keyboard or mouse; ? shows the keys.

    It needs a terminal and Textual. Each view is also available as a command with --json.
    """
    if not _on_terminal():
        raise UsageError(
            "the explorer needs a terminal",
            hint="`ragmem inspect` prints statistics, and each view is also a command: ragmem inspect --help",
        )
    if not _has_textual():
        raise BackendError("the explorer needs Textual, which is not installed", hint=INSTALL)
    return run_explorer(theme)


def run_explorer(theme: ThemeName = "auto") -> int:
    """Run the explorer until it is left; an error that ends it is raised.

    A home without memories opens as well, and shows the next steps.
    """
    from ragmem.cli.explorer.app import Explorer
    from ragmem.cli.explorer.reader import Reader

    if not os.environ.get("NO_COLOR"):
        os.environ.pop("NO_COLOR", None)  # an empty value means nothing, but Textual heeds it
    # Most terminals do not tell their background.
    is_light = os.environ.get("COLORFGBG", "").rpartition(";")[2] in {"7", "15"}
    with open_memory() as memory:
        if memory.is_stored():
            memory.prepare()
        with Reader(memory) as reader:
            app = Explorer(reader, light=theme == "light" or (theme == "auto" and is_light))
            app.run()
            if app.trouble is not None:
                raise app.trouble
    return EXIT_OK


def can_explore() -> bool:
    """Return whether there is a terminal and Textual; print a hint if only Textual is missing."""
    if not _on_terminal() or os.environ.get("CI"):
        return False
    if _has_textual():
        return True
    tell(f"hint: {INSTALL} adds an interactive explorer")
    return False


def _on_terminal() -> bool:
    # Textual draws on standard error; a closed stream is None.
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream and stream.isatty() for stream in streams) and os.environ.get("TERM", "dumb") != "dumb"


def _has_textual() -> bool:
    return find_spec("textual") is not None
