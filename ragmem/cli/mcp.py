"""`ragmem mcp`: run the MCP server on standard input and output."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

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


class ProfileName(StrEnum):
    """Which tools an assistant is offered."""

    default = "default"
    full = "full"


@app.command(epilog=EPILOG)
def mcp(
    profile: Annotated[
        ProfileName, typer.Option("--profile", help="Offer the six tools that most sessions need, or all.")
    ] = ProfileName.default,
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
    options = stdio.Options(profile.value, project=str(project or ""), structured=structured)
    return stdio.run(options)
