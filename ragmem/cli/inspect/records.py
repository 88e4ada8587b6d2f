"""`ragmem inspect records`: show the typed records, newest first."""

from typing import Annotated

import typer

from ragmem.cli.common import JsonOption, LimitOption, moment, open_memory, say_json, table
from ragmem.domain.records.record_types import RecordType
from ragmem.errors import EXIT_OK, UsageError

DEFAULT_LIMIT = 20


def records(
    type_: Annotated[
        list[RecordType] | None, typer.Option("--type", help="Only records of this type; repeatable.")
    ] = None,
    project: Annotated[
        list[str] | None, typer.Option("--project", "-p", help="Only this project: name, id or path.")
    ] = None,
    spec: Annotated[str, typer.Option("--spec", help="Only this spec of the project.")] = "",
    since: Annotated[
        str, typer.Option("--since", help="Only what happened since: 2026-03-15, 7d, 3w, 6m.")
    ] = "",
    every: Annotated[
        bool, typer.Option("--all", "-a", help="All projects, not only this one and yours.")
    ] = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show what sessions recorded, newest first; `query --type` finds it by a question."""
    from ragmem.api.memory import now
    from ragmem.services.processes.dates import parse_moment
    from ragmem.services.records.records import record_shape

    if every and project:
        raise UsageError("--all and --project exclude each other", hint="give one of them")
    with open_memory() as memory:
        memory.require()
        found = memory.get_records(
            type_ or (),
            projects=project or (),
            everywhere=every,
            spec=spec,
            since=parse_moment(since, now=now()) if since else None,
            limit=limit or DEFAULT_LIMIT,
        )
    if as_json:
        say_json({"schema": 1, "records": [record_shape(item, redactor=memory.redactor) for item in found]})
        return EXIT_OK
    table(
        ("id", "at", "type", "project", "spec", "record"),
        [
            (
                item.memory.short_id,
                moment(item.memory.event_time)[:10],
                item.type.value,
                item.memory.scope.project,
                item.memory.scope.spec,
                memory.redactor.redact(item.record.titled(memory.redactor))[0],
            )
            for item in found
        ],
    )
    return EXIT_OK
