"""`ragmem inspect entities`: entities by a prefix of their names, most connected first."""

from typing import Annotated

import typer

from ragmem.cli.common import open_memory, say_json, select_projects, tell
from ragmem.cli.inspect.lines import say_entities
from ragmem.cli.options import AllOption, JsonOption, LimitOption, ProjectOption
from ragmem.errors import EXIT_NO, EXIT_OK

DEFAULT_LIMIT = 20


def entities(
    name: Annotated[
        str, typer.Argument(metavar="[PREFIX]", help="Prefix of the names, in any case; without it, all.")
    ] = "",
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """List entities by a prefix of their names, most connected first; `inspect entity` shows one.

    Exit code 1 if no name matches.
    """
    from ragmem.services.graph.shapes import top_shape

    with open_memory() as memory:
        views = memory.graph(select_projects(memory, project, every=every))
        shape = top_shape(views.scope.top(limit or DEFAULT_LIMIT, name), redactor=memory.redactor)
        titles = memory.catalog.projects.names()
    found = shape["entities"]
    if as_json:
        say_json({"schema": 1, **shape})
        return EXIT_OK if found else EXIT_NO
    if not found:
        tell(f'no entity begins with "{name}"' if name else "there is no entity")
        return EXIT_NO
    say_entities(found, titles)
    return EXIT_OK
