"""`ragmem mcp`: run the MCP server on standard input and output."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from ragmem.cli.common import tell

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem mcp
  ragmem mcp --profile full
  ragmem mcp --project .

\b
Exit codes:
  0    the client has disconnected
  2    usage
  130  interrupted
"""


@app.command(epilog=EPILOG)
def mcp(
    profile: Annotated[
        Literal["default", "full"],
        typer.Option("--profile", help="Offer the six tools that most sessions need, or all."),
    ] = "default",
    project: Annotated[
        Path | None,
        typer.Option(
            "--project",
            metavar="FOLDER",
            exists=True,
            file_okay=False,
            help="The project to use; by default the one that the client has open.",
        ),
    ] = None,
    structured: Annotated[
        bool,
        typer.Option("--structured", help="Also return structured data; a model then sees only that."),
    ] = False,
) -> int:
    """Run the MCP server on standard input and output."""
    from ragmem.mcp import stdio

    if sys.stdin.isatty():
        tell("assistants start this server and speak JSON to it, see `ragmem connect`; end with ^D")
    options = stdio.Options(profile, project=str(project or ""), structured=structured)
    return stdio.run(options)
