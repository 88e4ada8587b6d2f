"""`ragmem inspect entities`: the entities whose names begin with a text, most connected first."""

from typing import Annotated

import typer

from ragmem.cli.common import JsonOption, LimitOption, open_memory, say_json, table, tell
from ragmem.cli.inspect.lines import AllOption, ProjectOption, asked_projects, first_said
from ragmem.errors import EXIT_NO, EXIT_OK

DEFAULT_LIMIT = 20


def entities(
    name: Annotated[
        str, typer.Argument(metavar="[PREFIX]", help="How the names begin, in any case; all without.")
    ] = "",
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """List the entities whose names begin so, most connected first; `inspect entity` shows one whole.

    Exit code 1 where no name begins so.
    """
    from ragmem.services.graph.shapes import top_shape

    with open_memory() as memory:
        views = memory.graph(asked_projects(memory, project, every=every))
        shape = top_shape(views.scope.top(limit or DEFAULT_LIMIT, name), redactor=memory.redactor)
        titles = memory.catalog.projects.names()
    found = shape["entities"]
    if as_json:
        say_json({"schema": 1, **shape})
        return EXIT_OK if found else EXIT_NO
    if not found:
        tell(f'no entity begins with "{name}"' if name else "there is no entity")
        return EXIT_NO
    several = len({one["project"] for one in found}) > 1
    table(
        ("entity", "type", "relations", *(["project"] if several else []), "said"),
        [
            (
                one["name"],
                one["type"],
                one["degree"],
                *([titles.get(one["project"], one["project"])] if several else []),
                first_said(one),
            )
            for one in found
        ],
    )
    return EXIT_OK
