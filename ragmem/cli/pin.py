"""`ragmem pin`: let a memory never expire."""

from typing import Annotated

import typer

from ragmem.cli.common import JsonOption, open_memory, printable, say, say_json
from ragmem.errors import EXIT_OK

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem pin 3q7hn2zk5x4m
  ragmem pin 3q7hn2zk5x4m --off

\b
Exit codes:
  0  done
  2  usage or configuration, no such id
  5  the store is busy
"""


@app.command(epilog=EPILOG)
def pin(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="A memory's id or the start of it.")],
    off: Annotated[bool, typer.Option("--off", help="Take the pin away again.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Let a memory never expire nor be merged."""
    with open_memory() as opened:
        memory = opened.pin(identifier, pinned=not off)
        standing = opened.standing(memory.id)
    if as_json:
        from ragmem.services.lifecycle.feedback import life_shape

        say_json({"schema": 1, "id": memory.id, "life": life_shape(standing)})
        return EXIT_OK
    title = printable(opened.redactor.redact(memory.title or memory.uri)[0])
    say(f"{memory.short_id}  {title}: {'no longer pinned' if off else 'pinned'}")
    return EXIT_OK
