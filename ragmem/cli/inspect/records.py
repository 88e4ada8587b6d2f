"""`ragmem inspect records`: show the typed records, newest first."""

from ragmem.cli.common import moment, open_memory, say_json, table, tell
from ragmem.cli.options import (
    AllOption,
    JsonOption,
    LimitOption,
    ProjectOption,
    SinceOption,
    SpecOption,
    TypeOption,
)
from ragmem.errors import EXIT_OK, UsageError

DEFAULT_LIMIT = 20


def records(
    type_: TypeOption = None,
    project: ProjectOption = None,
    spec: SpecOption = "",
    since: SinceOption = "",
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """List typed records, newest first; `query --type` searches them."""
    from ragmem.api.memory import now
    from ragmem.services.processes.dates import parse_moment
    from ragmem.services.records.records import record_shape

    if every and project:
        raise UsageError("--all and --project are mutually exclusive", hint="give one of them")
    with open_memory() as memory:
        memory.require()
        found = memory.records.get(
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
    if not found:
        is_filtered = type_ or project or spec or since
        tell(
            "no such record" if is_filtered else "there are no records; store one: ragmem record gotcha TEXT"
        )
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
                memory.redactor.redact(item.record.title(memory.redactor))[0],
            )
            for item in found
        ],
    )
    return EXIT_OK
