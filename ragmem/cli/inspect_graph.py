"""`ragmem inspect entity`, `path`, `communities`, `timeline` and `graph`: what the knowledge graph tells."""

import re
import sys
import textwrap
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.cli.common import (
    JsonOption,
    LimitOption,
    bold,
    dim,
    open_memory,
    plural,
    printable,
    say,
    say_json,
    table,
    tell,
)
from ragmem.errors import EXIT_NO, EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.memory import Ragmem
    from ragmem.services.graph_export import Exported

SAID = 110
"""Characters of a sentence in a table."""

MEMBERS = 10
"""Names of a community's entities below it."""

WIDTH = 110

_MARKER = re.compile(r"^(?:(?:[-*+>]|#{1,6}|\d{1,3}[.)]) )+")
"""What a list item or heading begins with."""

ProjectOption = Annotated[
    list[str] | None, typer.Option("--project", "-p", help="Only this project: name, id or path.")
]
AllOption = Annotated[bool, typer.Option("--all", "-a", help="All projects, not only this one and yours.")]
EntityArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="An entity's name, in any case, or the start of it.")
]


class ExportForm(StrEnum):
    """The formats of a graph for other programs."""

    GRAPHML = "graphml"
    JSON = "json"
    MERMAID = "mermaid"


def entity(
    name: EntityArgument,
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show an entity: its type, what is said of it and in which memories, and its neighbours."""
    from ragmem.services.graph_shapes import entity_shape

    with open_memory() as memory:
        views = memory.graph(_projects(memory, project, every=every))
        found = views.entity(name, limit=limit or 20)
        shape = entity_shape(found, views.scope.elsewhere(found[0].place.entity.name))
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
        say(f"{bold(printable(place['name']))}  {dim(', '.join(facts))}")
        if place["aliases"]:
            also = ", ".join(f"{one['name']} ({one['rule']})" for one in place["aliases"])
            say(textwrap.fill(printable(f"also {also}"), WIDTH, initial_indent="  ", subsequent_indent="  "))
        told = [one for one in shape["memories"] if one["project"] == place["project"]]
        near = [one for one in shape["neighbours"] if one["project"] == place["project"]]
        if told:
            say()
            _say_told(told)
        if near:
            say()
            table(
                ("neighbour", "type", "weight", "how", "said"),
                [(n["name"], n["type"], f"{n['weight']:g}", _how(n["keywords"]), _first(n)) for n in near],
            )
        if place["spellings"]:
            tell(f"other things of this name: {printable(', '.join(place['spellings']))}")
        _tell_rest((place["memories"] or 0) - len(told), "memory", "memories")
        _tell_rest(place["degree"] - len(near), "neighbour")
    _tell_elsewhere(shape["entity"]["also_in"], titles)
    return EXIT_OK


def path(
    start: Annotated[str, typer.Argument(metavar="FROM", help="The entity to begin with.")],
    goal: Annotated[str, typer.Argument(metavar="TO", help="The entity to end with.")],
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show how two entities are connected: the most telling ways, each step with what says it.

    A way over what everything is connected with loses against one over few and rare things. Exit code 1 where
    there is none.
    """
    from ragmem.services.graph_shapes import path_shape

    with open_memory() as memory:
        found = memory.graph(_projects(memory, project, every=every)).path(start, goal, count=limit or 3)
        titles = memory.catalog.projects.names()
    shape = path_shape(start, goal, found)
    if as_json:
        say_json({"schema": 1, **shape})
        return EXIT_OK if found else EXIT_NO
    if not found:
        tell(f'no path connects "{printable(start)}" and "{printable(goal)}" within one project')
        return EXIT_NO
    several = len({one["project"] for one in shape["paths"]}) > 1
    for number, one in enumerate(shape["paths"]):
        if number:
            say()
        facts = [plural(len(one["steps"]), "step"), f"cost {one['cost']:.1f}"]
        if several:
            facts.append("project " + titles.get(one["project"], one["project"]))
        say(f"{bold(printable(' - '.join(one['names'])))}  {dim(', '.join(facts))}")
        table(
            ("step", "how", "date", "memory", "said"),
            [
                (f"{step['from']} - {step['to']}", _how(step["keywords"]), *_cells(step["memory"]))
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
    """Show groups of entities that belong together, the largest first, with memories that tell of them.

    Cohesion is the share of their relations, by weight, that stays within the group.
    """
    from ragmem.services.graph_shapes import communities_shape

    with open_memory() as memory:
        views = memory.graph(_projects(memory, project, every=every))
        shape = communities_shape(views.communities(limit=limit or 20, around=around))
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
        say(f"{bold(printable(one['name']))}  {dim(', '.join(facts))}")
        members = one["members"] if around else one["members"][:MEMBERS]
        rest = one["size"] - len(members)
        names = printable(", ".join(members)) + (f", and {rest:,} more" if rest else "")
        say(textwrap.fill(names, WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False))
        for told in one["memories"]:
            date, identifier, text = _cells(told)
            say(f"  {date}  {dim(identifier)}  {printable(text)}")
    if not around:
        _tell_rest(shape["total"] - len(shape["communities"]), "community", "communities")
        if shape["alone"]:
            tell(f"{plural(shape['alone'], 'entity', 'entities')} of {shape['entities']:,} have no relation")
    return EXIT_OK


def timeline(
    name: EntityArgument,
    since: Annotated[str, typer.Option("--since", help="From here on: 2026-03-15, 7d, yesterday.")] = "",
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show when an entity was spoken of, in the order of the events, each with the sentence.

    With more than --limit of them (50) the latest. Exit code 1 where nothing was said since then.
    """
    from ragmem.memory import now
    from ragmem.services.graph_shapes import timeline_shape
    from ragmem.services.when import parse_moment

    moment = parse_moment(since, now=now()) if since else None
    with open_memory() as memory:
        views = memory.graph(_projects(memory, project, every=every))
        shape = timeline_shape(views.timeline(name, since=moment, limit=limit or 50))
        titles = memory.catalog.projects.names()
    if as_json:
        say_json({"schema": 1, **shape})
        return EXIT_OK if shape["total"] else EXIT_NO
    one = shape["entity"]
    if not shape["total"]:
        tell(f'nothing tells of "{printable(one["name"])}"' + (f" since {since}" if since else ""))
        return EXIT_NO
    facts = [
        one["type"],
        plural(shape["total"], "memory", "memories"),
        f"first {shape['first'][:10]}",
        f"last {shape['last'][:10]}",
    ]
    say(f"{bold(printable(one['name']))}  {dim(', '.join(facts))}")
    say()
    _say_told(shape["events"], titles if len(one["projects"]) > 1 else None)
    _tell_rest(shape["total"] - len(shape["events"]), "earlier memory", "earlier memories")
    return EXIT_OK


def graph(
    export: Annotated[
        ExportForm | None, typer.Option("--export", "-e", help="Write the graph itself, for another program.")
    ] = None,
    around: Annotated[
        str, typer.Option("--around", metavar="NAME", help="Export what is around this entity.")
    ] = "",
    depth: Annotated[
        int | None, typer.Option("--depth", min=1, max=10, help="So many steps around it; 2 unless given.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Export into a new file.", dir_okay=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace that file.")] = False,
    project: ProjectOption = None,
    every: AllOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show the most connected entities, or export the graph as GraphML, node-link JSON or Mermaid.

    An export has all entities, of a Mermaid diagram the 60 most connected, unless --limit says how many.
    """
    from ragmem.services.graph_shapes import top_shape

    if export is None:
        for name, given in (("--around", around), ("--depth", depth), ("--out", out), ("--force", force)):
            if given:
                raise UsageError(f"{name} goes with --export", hint="say --export graphml, json or mermaid")
    elif as_json:
        raise UsageError(
            "--json and --export exclude each other", hint="--export json writes the graph as JSON"
        )
    if depth and not around:
        raise UsageError("--depth goes with --around", hint="name the entity: --around NAME")
    if force and out is None:
        raise UsageError("--force goes with --out", hint="name the file: --out FILE")
    with open_memory() as memory:
        projects = _projects(memory, project, every=every)
        if export is not None:
            done = _export(memory, projects, export, around, depth or 2, limit, out, force=force)
            _tell_exported(done, out)
            return EXIT_OK
        shape = top_shape(memory.graph(projects).top(limit=limit or 20))
        titles = memory.catalog.projects.names()
    if as_json:
        say_json({"schema": 1, **shape})
        return EXIT_OK
    top = shape["entities"]
    several = len({one["project"] for one in top}) > 1
    table(
        ("entity", "type", "relations", *(["project"] if several else []), "said"),
        [
            (
                one["name"],
                one["type"],
                one["degree"],
                *([titles.get(one["project"], one["project"])] if several else []),
                _first(one),
            )
            for one in top
        ],
    )
    return EXIT_OK


def _projects(memory: "Ragmem", names: list[str] | None, *, every: bool) -> tuple[str, ...] | None:
    """Return the projects that are asked, as `query` does: those named, all, or this one and the user's."""
    if every and names:
        raise UsageError("--all and --project exclude each other", hint="give one of them")
    memory.require()
    return memory.named_projects(names) if names else None if every else memory.default_projects()


def _export(
    memory: "Ragmem",
    projects: tuple[str, ...] | None,
    form: ExportForm,
    around: str,
    depth: int,
    limit: int | None,
    out: Path | None,
    *,
    force: bool,
) -> "Exported":
    from ragmem.services.new_file import new_file

    views = memory.graph(projects)
    if out is None:
        sys.stdout.flush()
        done = views.export(form.value, sys.stdout.buffer, around=around, depth=depth, limit=limit)
        sys.stdout.buffer.flush()
        return done
    with new_file(out, force=force) as file:
        return views.export(form.value, file, around=around, depth=depth, limit=limit)


def _tell_exported(done: "Exported", out: Path | None) -> None:
    sizes = f"{plural(done.entities, 'entity', 'entities')}, {plural(done.relations, 'relation')}"
    if out is not None:
        tell(f'wrote "{out}": {sizes}')
    if done.truncated:
        tell(f"note: the graph has more than these {sizes}; -n sets how many entities")


def _say_told(told: list[dict[str, Any]], titles: dict[str, str] | None = None) -> None:
    table(
        ("date", "memory", *(["project"] if titles is not None else []), "said"),
        [
            (
                date,
                identifier,
                *([titles.get(one["project"], one["project"])] if titles is not None else []),
                text,
            )
            for one in told
            for date, identifier, text in [_cells(one)]
        ],
    )


def _cells(told: dict[str, Any] | None) -> tuple[str, str, str]:
    """Return the date, the id and the sentence of a memory; where there is none, nothing of each."""
    return (told["event_time"][:10], told["id"], _short(told["text"])) if told else ("", "", "")


def _how(keywords: str) -> str:
    return ", ".join(part.strip() for part in keywords.split(",") if part.strip())


def _first(one: dict[str, Any]) -> str:
    return _short(one["descriptions"][0]) if one["descriptions"] else ""


def _short(text: str) -> str:
    line = _MARKER.sub("", " ".join(text.split()))
    return line if len(line) <= SAID else line[: SAID - 1] + "…"


def _tell_rest(count: int, noun: str, nouns: str = "") -> None:
    if count > 0:
        tell(f"{plural(count, noun, nouns)} more; -n shows them")


def _tell_elsewhere(projects: list[str], titles: dict[str, str]) -> None:
    if projects:
        names = ", ".join(titles.get(one, one) for one in projects)
        tell(f"also in {names}: --all shows it there")
