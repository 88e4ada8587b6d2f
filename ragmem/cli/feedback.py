"""`ragmem feedback`: rate whether a memory was useful."""

from typing import Annotated, Literal

import typer

from ragmem.cli.common import open_memory, printable, say, say_json
from ragmem.cli.options import JsonOption, MemoryArgument, SessionOption
from ragmem.errors import EXIT_OK

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem feedback 3q7hn2zk5x4m good
  ragmem feedback 3q7hn2zk5x4m bad --session 5f2c

\b
Exit codes:
  0  kept
  2  usage or configuration, no such id
  5  the store is busy
"""


@app.command(epilog=EPILOG)
def feedback(
    identifier: MemoryArgument,
    verdict: Annotated[
        Literal["good", "bad"],
        typer.Argument(metavar="good|bad", help="good keeps an isolated one, bad takes a reprieve."),
    ],
    session: SessionOption = "",
    as_json: JsonOption = False,
) -> int:
    """Rate whether a memory was useful."""
    with open_memory() as opened:
        memory = opened.lifecycle.rate(identifier, verdict, session=session)
        standing = opened.lifecycle.status(memory.id)
    if as_json:
        from ragmem.services.lifecycle.feedback import life_shape

        say_json({"schema": 1, "id": memory.id, "verdict": verdict, "life": life_shape(standing)})
        return EXIT_OK
    title = printable(opened.redactor.redact(memory.title or memory.uri)[0])
    say(f"{memory.short_id}  {title}: {verdict} (feedback {standing.entry.feedback:+d})")
    return EXIT_OK
