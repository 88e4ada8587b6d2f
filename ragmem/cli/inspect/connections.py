"""`ragmem inspect connections` and `history`: what a memory is connected with, and what happened to it."""

from typing import Annotated

import typer

from ragmem.cli.common import (
    JsonOption,
    LimitOption,
    bold,
    dim,
    moment,
    open_memory,
    plural,
    say,
    say_json,
    table,
    tell,
)
from ragmem.cli.inspect.lines import AllOption, ProjectOption, asked_projects
from ragmem.errors import EXIT_NO, EXIT_OK, UsageError

DEFAULT_LIMIT = 20


def connections(
    identifier: Annotated[
        str,
        typer.Argument(metavar="[ID]", help="A memory's id or the start of it; without, the most connected."),
    ] = "",
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show what a memory is connected with, strongest first; without an id the most connected memories.

    Exit code 1 where there is no connection.
    """
    from ragmem.services.connections.connection_list import hub_shape, hubs, linked, linked_shape

    if identifier and (project or every):
        raise UsageError("--project and --all go without an id", hint="a memory's connections are its own")
    most = limit or DEFAULT_LIMIT
    with open_memory() as memory:
        if not identifier:
            projects = asked_projects(memory, project, every=every)
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
                tell("no memory is connected with another: `ragmem gc --dry-run` compares them")
            return EXIT_OK if found else EXIT_NO
        whole = memory.memory(identifier)
        links = [linked_shape(one, redactor=memory.redactor) for one in linked(memory.catalog, whole.id)]
    shown = links[:most]
    title = memory.redactor.redact(whole.title or whole.uri)[0]
    if as_json:
        of = {"id": whole.short_id, "full_id": whole.id, "title": title}
        say_json({"schema": 1, "memory": of, "total": len(links), "connections": shown})
        return EXIT_OK if links else EXIT_NO
    if not links:
        tell(f"{whole.short_id} is connected with no other memory")
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
    if len(links) > len(shown):
        tell(f"{plural(len(links) - len(shown), 'connection')} more; -n shows them")
    return EXIT_OK


def history(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="A memory's id or the start of it.")],
    as_json: JsonOption = False,
) -> int:
    """Tell what happened to a memory, oldest first; also of one that lies in the archive."""
    from ragmem.services.reporting.memory_history import happenings, known

    with open_memory() as memory:
        memory.require()
        found = known(memory.catalog, identifier)
        told = [
            {"at": moment(one.at), "what": one.what, "detail": memory.redactor.redact(one.detail)[0]}
            for one in happenings(memory.catalog, found)
        ]
    if as_json:
        say_json({"schema": 1, "id": found.short_id, "full_id": found.id, "history": told})
        return EXIT_OK
    table(("at", "what", "detail"), [(one["at"], one["what"], one["detail"]) for one in told])
    return EXIT_OK
