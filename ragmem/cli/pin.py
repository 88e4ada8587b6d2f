"""`ragmem pin`: protect a memory from expiry and folding."""

from typing import Annotated

import typer

from ragmem.cli.common import open_memory, printable, say, say_json
from ragmem.cli.options import JsonOption, MemoryArgument
from ragmem.errors import EXIT_OK

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem pin 3q7hn2zk5x4m
  ragmem pin 3q7hn2zk5x4m --off

\b
Exit codes:
  0  done
  2  usage or configuration, or no such id
  5  the store is busy
"""


@app.command(epilog=EPILOG)
def pin(
    identifier: MemoryArgument,
    off: Annotated[bool, typer.Option("--off", help="Remove the pin.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Protect a memory from expiry and folding."""
    with open_memory() as opened:
        memory = opened.lifecycle.pin(identifier, pinned=not off)
        standing = opened.lifecycle.status(memory.id)
    if as_json:
        from ragmem.services.lifecycle.feedback import life_shape

        say_json({"schema": 1, "id": memory.id, "life": life_shape(standing)})
        return EXIT_OK
    title = printable(opened.redactor.redact(memory.title or memory.uri)[0])
    say(f"{memory.short_id}  {title}: {'no longer pinned' if off else 'pinned'}")
    return EXIT_OK
