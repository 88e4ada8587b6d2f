"""`ragmem inspect explore`: the memory as views that one walks through on a terminal."""

import os
import sys
from enum import StrEnum
from importlib.util import find_spec
from typing import Annotated

import typer

from ragmem.cli.common import tell
from ragmem.errors import BackendError, UsageError

INSTALL = 'pip install "ragmem[explore]"'


class ThemeName(StrEnum):
    """The colours; auto asks the terminal's variable COLORFGBG, and is dark without it."""

    AUTO = "auto"
    DARK = "dark"
    LIGHT = "light"


def explore(
    theme: Annotated[
        ThemeName, typer.Option("--theme", help="The colours; t changes them.")
    ] = ThemeName.AUTO,
) -> int:
    """Explore the memory in the terminal by keyboard or mouse; ? shows the keys.

    It needs a terminal and Textual. Every view is a command as well, with --json.
    """
    if not _on_terminal():
        raise UsageError(
            "the explorer needs a terminal",
            hint="`ragmem inspect` prints the numbers, and every view is a command: ragmem inspect --help",
        )
    if not _has_textual():
        raise BackendError("the explorer needs Textual, which is not installed", hint=INSTALL)
    return run_explorer(theme)


def run_explorer(theme: ThemeName = ThemeName.AUTO) -> int:
    """Run the explorer until it is left; return its exit code."""
    from ragmem.cli.explorer.opening import run

    return run(theme.value)


def can_explore() -> bool:
    """Tell whether a person sits here with Textual installed; tell one without how to get it."""
    if not _on_terminal() or os.environ.get("CI"):
        return False
    if _has_textual():
        return True
    tell(f"hint: {INSTALL} opens this as views to walk through")
    return False


def _on_terminal() -> bool:
    # Textual draws on standard error; one that was closed is None.
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream and stream.isatty() for stream in streams) and os.environ.get("TERM", "dumb") != "dumb"


def _has_textual() -> bool:
    return find_spec("textual") is not None
