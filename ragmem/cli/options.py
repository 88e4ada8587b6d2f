"""The options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated

from ragmem.cli.declaration import argument, option
from ragmem.config.variables import SESSION_VARIABLE
from ragmem.domain.model import Category, Kind
from ragmem.domain.records.record_types import RecordType

JsonOption = Annotated[bool, option("--json", help="Print one JSON document.")]
JsonLinesOption = Annotated[bool, option("--jsonl", help="Print one JSON object per line.")]
QuietOption = Annotated[bool, option("--quiet", "-q", help="Print only errors to standard error.")]
LimitOption = Annotated[
    int | None, option("--limit", "-n", min=1, max=10_000, help="Maximum number of results.")
]
SourcesFileOption = Annotated[
    Path | None,
    option("--sources", metavar="FILE", help="Use only this sources.toml.", dir_okay=False),
]
SessionOption = Annotated[
    str,
    option(
        "--session",
        metavar="ID",
        envvar=SESSION_VARIABLE,
        help="The assistant's session; results count as recalled by it.",
    ),
]
DryRunOption = Annotated[bool, option("--dry-run", help="Show what would be done; change nothing.")]
YesOption = Annotated[bool, option("--yes", "-y", help="Do not ask.")]
ForceOption = Annotated[bool, option("--force", "-f", help="Replace the file if there is one.")]
ExplainOption = Annotated[
    bool, option("--explain", help="With --dry-run: show all reasons, not only the first.")
]
SvgOption = Annotated[
    Path | None,
    option("--svg", metavar="FILE", help="Write an SVG drawing; - is standard output."),
]
MemoryArgument = Annotated[str, argument(metavar="ID", help="A memory's id or a prefix of it.")]

ProjectOption = Annotated[
    list[str] | None, option("--project", "-p", help="Only this project: name, id or path.")
]
AllOption = Annotated[
    bool, option("--all", "-a", help="Search all projects, not only this one and your own memories.")
]
SinceOption = Annotated[str, option("--since", help="Only events since then: 2026-03-15, 7d, 3w, 6m.")]
UntilOption = Annotated[str, option("--until", help="Only events before then, in the format of --since.")]
FromOption = Annotated[str, option("--since", help="Only since then: 2026-03-15, 7d, yesterday.")]
SourceOption = Annotated[
    list[str] | None, option("--source", "-s", help="Only memories of this source; repeatable.")
]
TagOption = Annotated[list[str] | None, option("--tag", "-t", help="Only with this tag; repeatable.")]
KindOption = Annotated[
    list[Kind] | None, option("--kind", "-k", help="Only memories of this kind; repeatable.")
]
CategoryOption = Annotated[
    list[Category] | None, option("--category", help="Only knowledge of this category; repeatable.")
]
TypeOption = Annotated[
    list[RecordType] | None, option("--type", help="Only records of this type; repeatable.")
]
SpecOption = Annotated[str, option("--spec", help="Only this spec of the project.")]
OwnSpecOption = Annotated[str, option("--spec", help="The spec within the project.")]
EventTimeOption = Annotated[str, option("--at", help="When it happened: 2026-03-15, 7d, yesterday.")]
