"""`ragmem inspect memories`: list memories by their properties, latest first."""

from typing import Annotated, Literal

import typer

from ragmem.cli.common import (
    one_line,
    open_memory,
    printable,
    say_json,
    select_projects,
    table,
    tell,
    tell_rest,
)
from ragmem.cli.options import (
    AllOption,
    CategoryOption,
    JsonOption,
    LimitOption,
    ProjectOption,
    SinceOption,
    TagOption,
    UntilOption,
)
from ragmem.domain.model import Kind, State, Tier
from ragmem.errors import EXIT_NO, EXIT_OK

DEFAULT_LIMIT = 20

TITLE = 70
"""Characters of a title in the table."""


def memories(
    title: Annotated[
        str, typer.Argument(metavar="[TEXT]", help="Only memories whose title contains this, in any case.")
    ] = "",
    kind: Annotated[
        list[Kind] | None, typer.Option("--kind", "-k", help="Only of this kind; repeatable.")
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option("--source", "-s", help="Only of this source; repeatable.")
    ] = None,
    state: Annotated[
        list[State] | None, typer.Option("--state", help="Only in this state; repeatable.")
    ] = None,
    tier: Annotated[list[Tier] | None, typer.Option("--tier", help="Only of this tier; repeatable.")] = None,
    category: CategoryOption = None,
    tag: TagOption = None,
    since: SinceOption = "",
    until: UntilOption = "",
    order: Annotated[
        Literal["newest", "oldest", "changed"], typer.Option("--order", help="What comes first.")
    ] = "newest",
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """List memories by their properties, latest first; `query` searches their content.

    Exit code 1 if none matches.
    """
    from ragmem.api.memory import now
    from ragmem.services.ingestion.scope import require_sources
    from ragmem.services.processes.dates import parse_span
    from ragmem.services.retrieval.shapes import memory_shape
    from ragmem.storage.memories.memory_list import Filter, count_memories, list_page

    first, end = parse_span(since, until, now=now())
    with open_memory() as memory:
        projects = select_projects(memory, project, every=every)
        wanted = Filter(
            projects=projects,
            kinds=tuple(kind or ()),
            categories=tuple(category or ()),
            tiers=tuple(tier or ()),
            states=tuple(state or ()),
            sources=require_sources(memory.catalog, memory.settings, source or ()),
            tags=tuple(tag or ()),
            since=first,
            until=end,
            title=title,
        )
        database = memory.catalog.database
        found, _ = list_page(database, wanted, order=order, limit=limit or DEFAULT_LIMIT)
        total = count_memories(database, wanted)
        names = memory.catalog.projects.names()
    if as_json:
        say_json(
            {
                "schema": 1,
                "memories": [memory_shape(one, redactor=memory.redactor) for one in found],
                "total": total,
                "left_out": total - len(found),
            }
        )
        return EXIT_OK if found else EXIT_NO
    if not found:
        tell(
            "no memory matches"
            + (
                ""
                if projects is None
                else " in this project and your own memories: --all searches all projects"
            )
        )
        return EXIT_NO
    table(
        ("id", "date", "kind", "tier", "state", "source", "project", "title"),
        [
            (
                one.short_id,
                one.event_time.strftime("%Y-%m-%d"),
                one.kind.value,
                one.tier.value,
                one.state.value,
                one.source,
                names.get(one.scope.project, one.scope.project),
                one_line(printable(memory.redactor.redact(one.title or one.uri)[0]), TITLE),
            )
            for one in found
        ],
    )
    tell_rest(total - len(found), "memory", "memories")
    return EXIT_OK
