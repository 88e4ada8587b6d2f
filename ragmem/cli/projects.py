"""`ragmem projects`: list, join, split, rename and move projects."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ragmem.cli.common import Bar, command_group, moment, open_memory, plural, say, say_json, table, tell
from ragmem.cli.options import DryRunOption, JsonOption, QuietOption
from ragmem.domain.model import UNASSIGNED
from ragmem.errors import EXIT_NO, EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.services.projects.projects import ProjectChange

EPILOG = """\b
Examples:
  ragmem projects
  ragmem projects list --json

\b
Exit codes:
  0  done
  1  there is no project, or nothing to do
  2  usage or configuration, no such project
  3  failed
  4  a backend is missing
  5  the store is busy
"""

app = command_group(
    "projects",
    about="List, join, split, rename and move projects.",
    epilog=EPILOG,
    default="list",
)

FOLDERS = 3
"""Folders and remotes of a project that are listed; `--json` has all."""

ProjectArgument = Annotated[str, typer.Argument(metavar="PROJECT", help="A project's name, id or folder.")]


@app.command("list")
def show(as_json: JsonOption = False) -> int:
    """List the projects with their folders, remotes and sizes."""
    from ragmem.services.projects.projects import list_projects

    with open_memory() as memory:
        memory.require()
        lines = list_projects(memory.catalog)
    if as_json:
        shapes = [
            {**asdict(one), "last_write": moment(one.last_write) if one.last_write else None} for one in lines
        ]
        say_json({"schema": 1, "projects": shapes})
        return EXIT_OK if lines else EXIT_NO
    if not lines:
        say("there are no projects yet")
        return EXIT_NO
    table(
        ("project", "id", "memories", "last write", "folders", "remotes"),
        [
            (
                one.name,
                one.id,
                one.memories,
                one.last_write or "-",
                _folder_list(one.folders),
                _folder_list(one.remotes),
            )
            for one in lines
        ],
    )
    return EXIT_OK


@app.command()
def join(
    project: Annotated[
        str,
        typer.Argument(metavar="PROJECT", help="The project to merge: a name, id or folder."),
    ],
    into: Annotated[str, typer.Argument(metavar="INTO", help="The project to merge into.")],
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Merge a project into another one.

    The old id keeps working as an alias. `ragmem projects split INTO ID`, with the old id, undoes it.
    """
    from ragmem.services.projects.projects import join as join_projects

    with open_memory(quiet=quiet) as memory, Bar(quiet=quiet or as_json) as bar:
        done = join_projects(memory.projects.changes(dry_run=dry_run, progress=bar), project, into)
    return _report_change(done, dry_run=dry_run, as_json=as_json, quiet=quiet)


@app.command()
def split(
    project: ProjectArgument,
    what: Annotated[
        str,
        typer.Argument(metavar="WHAT", help="A folder, a remote, or the id of a joined project."),
    ],
    name: Annotated[str, typer.Option("--name", help="Name of the new project.")] = "",
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Split a folder, a remote or a joined project off into a new project.

    From then on the folder belongs to the new project, although both share a first commit.
    """
    from ragmem.services.projects.projects import split as split_project

    with open_memory(quiet=quiet) as memory, Bar(quiet=quiet or as_json) as bar:
        done = split_project(
            memory.projects.changes(dry_run=dry_run, progress=bar), project, what, called=name
        )
    return _report_change(done, dry_run=dry_run, as_json=as_json, quiet=quiet)


@app.command()
def rename(
    project: ProjectArgument,
    called: Annotated[str, typer.Argument(metavar="NAME", help="The new name.")],
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> int:
    """Rename a project; its id and its memories do not change."""
    from ragmem.services.projects.projects import rename as rename_project

    with open_memory(quiet=as_json) as memory:
        done = rename_project(memory.projects.changes(dry_run=dry_run), project, called)
    return _report_change(done, dry_run=dry_run, as_json=as_json, quiet=False)


@app.command()
def move(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The old path of the folder.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The new path.")],
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> int:
    """Record that a folder without git has moved, so that its memories follow."""
    from ragmem.services.projects.projects import move as move_folder

    with open_memory(quiet=as_json) as memory:
        done = move_folder(memory.projects.changes(dry_run=dry_run), old, new)
    return _report_change(done, dry_run=dry_run, as_json=as_json, quiet=False)


@app.command()
def assign(
    identifiers: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Memories, by id or prefix.")
    ] = None,
    project: Annotated[
        str, typer.Option("--to", metavar="PROJECT", help="A project, `user` or `unassigned`.")
    ] = "",
    named: Annotated[
        bool,
        typer.Option(
            "--named",
            help="Assign all memories of sources with scope named to the projects that their texts name.",
        ),
    ] = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Assign memories to a project, regardless of what their texts mention."""
    from ragmem.services.projects.projects import assign as assign_memories
    from ragmem.services.projects.projects import assign_named

    if named == bool(identifiers or project) or bool(identifiers) != bool(project):
        raise UsageError(
            "name memories and a project, or use --named",
            hint="ragmem projects assign ID --to PROJECT, or --named",
        )
    with open_memory(quiet=quiet) as memory, Bar(quiet=quiet or as_json) as bar:
        wish = memory.projects.changes(dry_run=dry_run, progress=bar)
        if named:
            every = assign_named(wish, memory.settings)
        else:
            ids = [memory.catalog.memories.resolve(one).id for one in identifiers or ()]
            return _report_change(
                assign_memories(wish, ids, project), dry_run=dry_run, as_json=as_json, quiet=quiet
            )
    if as_json:
        say_json({"schema": 1, "dry_run": dry_run, "changes": [asdict(done) for done in every]})
    for done in () if as_json else every:
        _say(done, dry_run=dry_run, quiet=quiet)
    if not every and not as_json:
        say("all memories are in the project that their text names")
    return EXIT_OK if every else EXIT_NO


def _report_change(done: "ProjectChange", *, dry_run: bool, as_json: bool, quiet: bool) -> int:
    if as_json:
        say_json({"schema": 1, "dry_run": dry_run, **asdict(done)})
        return EXIT_OK
    _say(done, dry_run=dry_run, quiet=quiet)
    return EXIT_OK


def _say(done: "ProjectChange", *, dry_run: bool, quiet: bool) -> None:
    would = "would be " if dry_run else ""
    named = "no project" if done.project == UNASSIGNED else f"{done.name} ({done.project})"
    memories = plural(done.memories, "memory", "memories")
    match done.operation:
        case "rename":
            line = f"{done.project} {would or 'is '}called {done.name}"
        case "move":
            line = (
                f"{named}: {plural(len(done.folders), 'folder')} {would or 'is '}known at {done.folders[0]}"
            )
        case "split":
            line = f"{memories} {would}taken out of {done.former} into {named}"
        case "join":
            line = f"{memories} of {done.former} {would}moved to {named}"
        case _:
            line = f"{memories} {would}given to {named}"
    say(line)
    if quiet:
        return
    if done.archived:
        tell(f"note: {plural(done.archived, 'memory', 'memories')} of the archive {would or 'went '}along")
    if done.doubles:
        back = f": `ragmem gc --undo --run {done.run}` restores them" if done.run else ""
        stood = "exist in both" if dry_run else "existed in both; the older ones are archived"
        tell(f"note: {plural(done.doubles, 'memory', 'memories')} {stood}{back}")
    if done.note:
        tell(f"note: only in full text until a later seed indexes it: {done.note}")


def _folder_list(values: tuple[str, ...]) -> str:
    more = f", and {len(values) - FOLDERS} more" if len(values) > FOLDERS else ""
    return ", ".join(values[:FOLDERS]) + more or "-"
