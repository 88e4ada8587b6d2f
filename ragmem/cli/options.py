"""The options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from ragmem.config.variables import SESSION_VARIABLE
from ragmem.domain.model import Category, Kind
from ragmem.domain.records.record_types import RecordType

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
JsonLinesOption = Annotated[bool, typer.Option("--jsonl", help="One JSON object a line.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Errors only on standard error.")]
LimitOption = Annotated[
    int | None, typer.Option("--limit", "-n", min=1, max=10_000, help="Maximum number of results.")
]
SourcesFileOption = Annotated[
    Path | None,
    typer.Option("--sources", metavar="FILE", help="Use this sources.toml alone.", dir_okay=False),
]
SessionOption = Annotated[
    str,
    typer.Option(
        "--session",
        metavar="ID",
        envvar=SESSION_VARIABLE,
        help="The assistant's session; memories that answer it count as recalled.",
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, change nothing.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
ForceOption = Annotated[bool, typer.Option("--force", "-f", help="Replace the file if there is one.")]
ExplainOption = Annotated[
    bool, typer.Option("--explain", help="With --dry-run: show all reasons, not the first alone.")
]
SvgOption = Annotated[
    Path | None,
    typer.Option("--svg", metavar="FILE", help="Draw a picture into this file; - is standard output."),
]
MemoryArgument = Annotated[str, typer.Argument(metavar="ID", help="A memory's id or the start of it.")]

ProjectOption = Annotated[
    list[str] | None, typer.Option("--project", "-p", help="Only this project: name, id or path.")
]
AllOption = Annotated[bool, typer.Option("--all", "-a", help="All projects, not only this one and yours.")]
SinceOption = Annotated[
    str, typer.Option("--since", help="Only what happened since: 2026-03-15, 7d, 3w, 6m.")
]
UntilOption = Annotated[
    str, typer.Option("--until", help="Only what happened before this time, written like --since.")
]
FromOption = Annotated[str, typer.Option("--since", help="Only since this time: 2026-03-15, 7d, yesterday.")]
SourceOption = Annotated[
    list[str] | None, typer.Option("--source", "-s", help="Only memories of this source; repeatable.")
]
TagOption = Annotated[list[str] | None, typer.Option("--tag", "-t", help="Only with this tag; repeatable.")]
KindOption = Annotated[
    list[Kind] | None, typer.Option("--kind", "-k", help="Only memories of this kind; repeatable.")
]
CategoryOption = Annotated[
    list[Category] | None, typer.Option("--category", help="Only knowledge of this category; repeatable.")
]
TypeOption = Annotated[
    list[RecordType] | None, typer.Option("--type", help="Only records of this type; repeatable.")
]
SpecOption = Annotated[str, typer.Option("--spec", help="Only this spec of the project.")]
OwnSpecOption = Annotated[str, typer.Option("--spec", help="The spec within the project.")]
EventTimeOption = Annotated[str, typer.Option("--at", help="When it happened: 2026-03-15, 7d, yesterday.")]
