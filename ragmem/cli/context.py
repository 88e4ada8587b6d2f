"""`ragmem context`: print what a session should know when it begins."""

from typing import Annotated

import typer

from ragmem.cli.common import JsonOption, QuietOption, SourcesFileOption, open_memory, say, say_json, tell
from ragmem.errors import EXIT_NO, EXIT_OK, UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem context
  ragmem context "speed up the departures query" --budget 1500

\b
Exit codes:
  0  there was something to tell
  1  nothing
  2  usage or configuration
  6  the store is damaged
"""


@app.command(epilog=EPILOG)
def context(
    task: Annotated[
        str,
        typer.Argument(metavar="[TASK]", help="What the session is about; without it, what always holds."),
    ] = "",
    budget: Annotated[
        int | None,
        typer.Option("--budget", "-b", metavar="TOKENS", min=100, help="Tokens at most, estimated."),
    ] = None,
    max_chars: Annotated[
        int | None,
        typer.Option("--max-chars", min=200, help="Characters at most; 9000 unless there is a budget."),
    ] = None,
    project: Annotated[
        list[str] | None,
        typer.Option("--project", "-p", help="Only this project: name, id or path."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", "-a", help="All projects, not only this one and yours.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    sources_file: SourcesFileOption = None,
) -> int:
    """Print what a session should know when it begins."""
    from ragmem.services.shapes import memory_shape

    if every and project:
        raise UsageError("--all and --project exclude each other", hint="give one of them")
    with open_memory(sources_file=sources_file, quiet=quiet) as memory:
        memory.require()
        projects = memory.named_projects(project) if project else None if every else memory.default_projects()
        block = memory.session_context(
            task, projects=projects or (), everywhere=projects is None, tokens=budget, max_chars=max_chars
        )
    if as_json:
        say_json(
            {
                "schema": 1,
                "task": task.strip(),
                "projects": list(projects) if projects is not None else None,
                "text": block.text,
                "tokens": block.tokens,
                "left_out": block.left_out,
                "memories": [memory_shape(item) for item in block.memories],
            }
        )
    elif block.text:
        say(block.text)
    if not block.text and not quiet:
        tell(block.why_empty)
    return EXIT_OK if block.text else EXIT_NO
