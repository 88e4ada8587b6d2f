"""`ragmem inspect entities`, `entity`, `path`, `communities` and `timeline`: views of the knowledge graph."""

import textwrap
from typing import Annotated

import typer

from ragmem.cli.common import (
    bold,
    dim,
    open_memory,
    plural,
    printable,
    say,
    say_json,
    select_projects,
    table,
    tell,
    tell_rest,
)
from ragmem.cli.inspect.lines import (
    evidence_cells,
    first_description,
    relation_label,
    say_entities,
    say_evidence,
)
from ragmem.cli.options import AllOption, FromOption, JsonOption, LimitOption, ProjectOption
from ragmem.errors import EXIT_NO, EXIT_OK

MEMBERS = 10
"""Names of entities that are shown of a community."""

WIDTH = 110
"""Characters of a line of names."""

EntityArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="An entity's name or a prefix of it, in any case.")
]


def entity(
    name: EntityArgument,
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show an entity: its type, its mentions in memories, and its neighbours."""
    from ragmem.services.graph.shapes import entity_shape

    with open_memory() as memory:
        views = memory.graph(select_projects(memory, project, every=every))
        found = views.entity(name, limit=limit or 20)
        shape = entity_shape(
            found, views.scope.elsewhere(found[0].place.entity.name), redactor=memory.redactor
        )
        titles = memory.catalog.projects.names()
    if as_json:
        say_json({"schema": 1, **shape})
        return EXIT_OK
    places = shape["entity"]["projects"]
    for number, place in enumerate(places):
        if number:
            say()
        facts = [place["type"], plural(place["degree"], "relation")]
        if place["memories"] is not None:
            facts.append("in " + plural(place["memories"], "memory", "memories"))
        if len(places) > 1:
            facts.append("project " + titles.get(place["project"], place["project"]))
        say(f"{bold(place['name'])}  {dim(', '.join(facts))}")
        if place["aliases"]:
            also = ", ".join(f"{one['name']} ({one['rule']})" for one in place["aliases"])
            say(_fill_line(f"also {also}"))
        told = [one for one in shape["memories"] if one["project"] == place["project"]]
        near = [one for one in shape["neighbours"] if one["project"] == place["project"]]
        if told:
            say()
            say_evidence(told)
        if near:
            say()
            table(
                ("neighbour", "type", "weight", "relation", "sentence"),
                [
                    (
                        n["name"],
                        n["type"],
                        f"{n['weight']:g}",
                        relation_label(n["keywords"], n["valid"]),
                        first_description(n),
                    )
                    for n in near
                ],
            )
        if place["spellings"]:
            tell(f"other entities of this name: {', '.join(place['spellings'])}")
        tell_rest((place["memories"] or 0) - len(told), "memory", "memories")
        tell_rest(place["degree"] - len(near), "neighbour")
    _tell_elsewhere(shape["entity"]["also_in"], titles)
    return EXIT_OK


def path(
    start: Annotated[str, typer.Argument(metavar="FROM", help="The first entity.")],
    goal: Annotated[str, typer.Argument(metavar="TO", help="The last entity.")],
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show how two entities are connected: the most specific paths, with evidence for each step.

    Paths through rare entities rank above paths through entities that are connected with everything. Exit
    code 1
    if there is none.
    """
    from ragmem.services.graph.shapes import path_shape

    with open_memory() as memory:
        found = memory.graph(select_projects(memory, project, every=every)).path(
            start, goal, count=limit or 3
        )
        titles = memory.catalog.projects.names()
    shape = path_shape(start, goal, found, redactor=memory.redactor)
    if as_json:
        say_json({"schema": 1, **shape})
        return EXIT_OK if found else EXIT_NO
    if not found:
        tell(f'no path connects "{start}" and "{goal}" within one project')
        return EXIT_NO
    several = len({one["project"] for one in shape["paths"]}) > 1
    for number, one in enumerate(shape["paths"]):
        if number:
            say()
        facts = [plural(len(one["steps"]), "step"), f"cost {one['cost']:.1f}"]
        if several:
            facts.append("project " + titles.get(one["project"], one["project"]))
        say(f"{bold(' - '.join(one['names']))}  {dim(', '.join(facts))}")
        table(
            ("step", "relation", "date", "memory", "sentence"),
            [
                (
                    f"{step['from']} - {step['to']}",
                    relation_label(step["keywords"], step["valid"]),
                    *evidence_cells(step["memory"]),
                )
                for step in one["steps"]
            ],
        )
    return EXIT_OK


def communities(
    around: Annotated[
        str, typer.Option("--around", metavar="NAME", help="Only the community of this entity.")
    ] = "",
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show communities of entities, the largest first, with memories that mention them.

    Cohesion is the share of relations, by weight, that stays within the community.
    """
    from ragmem.services.graph.shapes import communities_shape

    with open_memory() as memory:
        views = memory.graph(select_projects(memory, project, every=every))
        shape = communities_shape(
            views.communities(limit=limit or 20, around=around), redactor=memory.redactor
        )
        titles = memory.catalog.projects.names()
    if as_json:
        say_json({"schema": 1, **shape})
        return EXIT_OK
    several = len({one["project"] for one in shape["communities"]}) > 1
    for number, one in enumerate(shape["communities"]):
        if number:
            say()
        facts = [plural(one["size"], "entity", "entities"), f"cohesion {one['cohesion']:.2f}"]
        if several:
            facts.append("project " + titles.get(one["project"], one["project"]))
        say(f"{bold(one['name'])}  {dim(', '.join(facts))}")
        members = one["members"] if around else one["members"][:MEMBERS]
        rest = one["size"] - len(members)
        names = ", ".join(members) + (f", and {rest:,} more" if rest else "")
        say(_fill_line(names))
        for told in one["memories"]:
            date, identifier, text = evidence_cells(told)
            say(f"  {date}  {dim(identifier)}  {text}")
    if not around:
        tell_rest(shape["total"] - len(shape["communities"]), "community", "communities")
        if shape["alone"]:
            have = "has" if shape["alone"] == 1 else "have"
            tell(
                f"{shape['alone']:,} of {plural(shape['entities'], 'entity', 'entities')} {have} no relation"
            )
    return EXIT_OK


def timeline(
    name: EntityArgument,
    since: FromOption = "",
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show the mentions of an entity by date, each with its sentence.

    Shows the latest --limit (50) mentions. Exit code 1 if there is none.
    """
    from ragmem.api.memory import now
    from ragmem.services.graph.shapes import timeline_shape
    from ragmem.services.processes.dates import parse_moment

    moment = parse_moment(since, now=now()) if since else None
    with open_memory() as memory:
        views = memory.graph(select_projects(memory, project, every=every))
        shape = timeline_shape(
            views.timeline(name, since=moment, limit=limit or 50), redactor=memory.redactor
        )
        titles = memory.catalog.projects.names()
    if as_json:
        say_json({"schema": 1, **shape})
        return EXIT_OK if shape["total"] else EXIT_NO
    one = shape["entity"]
    if not shape["total"]:
        tell(f'nothing mentions "{one["name"]}"' + (f" since {since}" if since else ""))
        return EXIT_NO
    facts = [
        one["type"],
        plural(shape["total"], "memory", "memories"),
        f"first {shape['first'][:10]}",
        f"last {shape['last'][:10]}",
    ]
    say(f"{bold(one['name'])}  {dim(', '.join(facts))}")
    say()
    say_evidence(shape["events"], titles if len(one["projects"]) > 1 else None)
    tell_rest(shape["total"] - len(shape["events"]), "earlier memory", "earlier memories")
    return EXIT_OK


def _fill_line(names: str) -> str:
    """Return names in lines that are not broken at hyphens, which may be part of a name."""
    return textwrap.fill(
        printable(names),
        WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _tell_elsewhere(projects: list[str], titles: dict[str, str]) -> None:
    if projects:
        names = ", ".join(titles.get(one, one) for one in projects)
        tell(f"also in {names}: use --all")


_DEFAULT_LIMIT = 20


def entities(
    name: Annotated[
        str, typer.Argument(metavar="[PREFIX]", help="Prefix of the names, in any case; all by default.")
    ] = "",
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """List entities by name prefix, most connected first; `inspect entity` shows one.

    Exit code 1 if no name matches.
    """
    from ragmem.services.graph.shapes import top_shape

    with open_memory() as memory:
        views = memory.graph(select_projects(memory, project, every=every))
        shape = top_shape(views.scope.top(limit or _DEFAULT_LIMIT, name), redactor=memory.redactor)
        titles = memory.catalog.projects.names()
    found = shape["entities"]
    if as_json:
        say_json({"schema": 1, **shape})
        return EXIT_OK if found else EXIT_NO
    if not found:
        tell(f'no entity name starts with "{name}"' if name else "there are no entities")
        return EXIT_NO
    say_entities(found, titles)
    return EXIT_OK
