"""`ragmem models resume`: make the vectors of the configured model, or continue making them."""

import os
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.api.memory import Ragmem, now
from ragmem.cli.common import Bar, moment, open_memory, plural, say, say_json, tell
from ragmem.cli.options import JsonOption, QuietOption
from ragmem.errors import EXIT_BACKEND, EXIT_FAILED, EXIT_OK

if TYPE_CHECKING:
    from ragmem.services.models.reembed import ReembedReport
    from ragmem.services.processes.progress import Progress

EPILOG = """\b
Examples:
  ragmem models resume

\b
Exit codes:
  0    all vectors are of the configured model
  2    nothing is stored, or the store holds vectors of only one model
  3    the model rejects some texts, which only full text finds
  4    the model does not answer
  5    another process already makes these vectors
  130  interrupted; run it again to continue
"""

NICENESS = 10
"""Niceness of the background process."""

LINE_EVERY_S = 10.0
"""Seconds between two lines of a log."""


def resume(
    background: Annotated[bool, typer.Option("--background", hidden=True)] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Resume making the vectors of the configured model.

    Does nothing if they are complete. You can interrupt it at any time and run it again.
    """
    if background:
        # The person's own work comes first.
        os.nice(NICENESS)
    with open_memory(quiet=quiet or as_json) as memory:
        done = reembed(memory, quiet=quiet or as_json, background=background)
    document = {"schema": 1, "vectors": "made" if done.finished else "stopped", **asdict(done)}
    if as_json:
        say_json(document)
    else:
        if background:
            say(moment(now()))
        say_made(document)
    return exit_code(document)


def reembed(memory: Ragmem, *, quiet: bool, background: bool = False) -> "ReembedReport":
    """Make the missing vectors of the configured model, and show the progress."""
    with ExitStack() as stack:
        progress: Progress = Lines() if background else stack.enter_context(Bar(quiet=quiet))
        return memory.vectors.reembed(progress=progress)


def say_made(document: dict[str, Any]) -> None:
    """Write how many vectors were made; `document` is a ReembedReport as JSON, with its end in `vectors`."""
    for problem in document["problems"]:
        tell(f"failed: {problem}")
    made, model = document["made"], document["model"]
    if document["vectors"] == "stopped":
        say(f"{plural(made, 'vector')} made, then: {document['note']}")
        tell(f"hint: {document['hint'] or 'ragmem models resume goes on'}")
    elif made:
        say(f"{plural(made, 'vector')} made in {document['seconds']:.1f} s; {model} answers now")
    else:
        say(f"nothing to make: {document['note'] or f'the vectors are those of {model}'}")


def exit_code(document: dict[str, Any]) -> int:
    """Return the exit code of a command that made the vectors of `document`, or was to make them."""
    if document.get("vectors") == "stopped":
        return EXIT_BACKEND
    return EXIT_FAILED if document.get("problems") else EXIT_OK


class Lines:
    """Progress for a log: a line with the time every LINE_EVERY_S seconds."""

    def __init__(self) -> None:
        self._total = self._done = 0
        self._told = 0.0

    def begin(self, label: str, total: int, *, unit: str = "") -> None:
        """Start a phase of `total` steps."""
        del unit
        self._total, self._done, self._told = total, 0, time.monotonic()
        self._tell(f"{label}: {total:,} to go")

    def advance(self, steps: int = 1, *, told: str = "") -> None:
        """Count finished steps, and print a line if the last one is old enough."""
        del told
        self._done += steps
        if time.monotonic() - self._told > LINE_EVERY_S:
            self._told = time.monotonic()
            self._tell(f"{self._done:,} of {self._total:,}")

    def _tell(self, text: str) -> None:
        tell(f"{moment(now())} {text}")
        sys.stderr.flush()
