"""`ragmem inspect connections` and `history`: the connections and the history of a memory."""

from typing import Annotated

import typer

from ragmem.cli.common import (
    bold,
    dim,
    moment,
    open_memory,
    plural,
    say,
    say_json,
    select_projects,
    table,
    tell,
    tell_rest,
)
from ragmem.cli.options import AllOption, JsonOption, LimitOption, MemoryArgument, ProjectOption
from ragmem.errors import EXIT_NO, EXIT_OK, UsageError

DEFAULT_LIMIT = 20


def connections(
    identifier: Annotated[
        str,
        typer.Argument(
            metavar="[ID]", help="A memory's id or a prefix of it; without one, the most connected memories."
        ),
    ] = "",
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show the connections of a memory, strongest first; without an id, the most connected memories.

    Exit code 1 if there is no connection.
    """
    from ragmem.services.connections.connection_list import (
        connected_memories,
        connected_memory_shape,
        hub_shape,
        hubs,
    )

    if identifier and (project or every):
        raise UsageError(
            "--project and --all cannot be combined with an id",
            hint="the connections of one memory do not depend on a project",
        )
    most = limit or DEFAULT_LIMIT
    with open_memory() as memory:
        if not identifier:
            projects = select_projects(memory, project, every=every)
            found = [
                hub_shape(one, redactor=memory.redactor)
                for one in hubs(memory.catalog, projects=projects, limit=most)
            ]
            if as_json:
                say_json({"schema": 1, "memories": found})
            elif found:
                table(
                    ("id", "connections", "date", "kind", "source", "title"),
                    [
                        (
                            one["id"],
                            one["connections"],
                            one["event_time"][:10],
                            one["kind"],
                            one["source"],
                            one["title"],
                        )
                        for one in found
                    ],
                )
            else:
                tell("there are no connections: `ragmem gc --dry-run` compares memories")
            return EXIT_OK if found else EXIT_NO
        whole = memory.memory(identifier)
        links = [
            connected_memory_shape(one, redactor=memory.redactor)
            for one in connected_memories(memory.catalog, whole.id)
        ]
    shown = links[:most]
    title = memory.redactor.redact(whole.title or whole.uri)[0]
    if as_json:
        of = {"id": whole.short_id, "full_id": whole.id, "title": title}
        say_json({"schema": 1, "memory": of, "total": len(links), "connections": shown})
        return EXIT_OK if links else EXIT_NO
    if not links:
        tell(f"{whole.short_id} has no connections")
        return EXIT_NO
    say(f"{bold(title)}  {dim(plural(len(links), 'connection'))}")
    table(
        ("id", "strength", "cosine", "shared", "date", "kind", "title"),
        [
            (
                one["id"],
                f"{one['strength']:.2f}",
                f"{one['cosine']:.2f}",
                f"{one['shared']:.2f}",
                one["event_time"][:10],
                one["kind"],
                one["title"],
            )
            for one in shown
        ],
    )
    tell_rest(len(links) - len(shown), "connection")
    return EXIT_OK


def history(
    identifier: MemoryArgument,
    as_json: JsonOption = False,
) -> int:
    """Show the history of a memory, oldest first, also of an archived one."""
    from ragmem.services.reporting.memory_history import find_memory, list_events

    with open_memory() as memory:
        memory.require()
        found = find_memory(memory.catalog, identifier)
        told = [
            {"at": moment(one.at), "what": one.what, "detail": memory.redactor.redact(one.detail)[0]}
            for one in list_events(memory.catalog, found)
        ]
    if as_json:
        say_json({"schema": 1, "id": found.short_id, "full_id": found.id, "history": told})
        return EXIT_OK
    table(("at", "what", "detail"), [(one["at"], one["what"], one["detail"]) for one in told])
    return EXIT_OK
