"""`ragmem inspect merges`: show and undo merges of names into one entity."""

from typing import TYPE_CHECKING, Annotated

import typer

from ragmem.cli.common import open_memory, plural, printable, say, say_json, table, tell
from ragmem.cli.options import DryRunOption, JsonOption, LimitOption, ProjectOption
from ragmem.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.storage.names.merges import Merge

SAID = 90
"""Characters of a sentence in the table."""


def merges(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Only merges that involve this name, in any case.")
    ] = "",
    project: ProjectOption = None,
    undo: Annotated[
        str,
        typer.Option("--undo", metavar="KEY", help="Permanently split the name off into a node of its own."),
    ] = "",
    redo: Annotated[str, typer.Option("--redo", metavar="KEY", help="Allow an undone merge again.")] = "",
    undone: Annotated[bool, typer.Option("--undone", help="Show undone merges.")] = False,
    dry_run: DryRunOption = False,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> int:
    """Show which names were merged into one entity, by which rule and sentence; undo a merge."""
    from ragmem.services.entities.merges import merge_shape
    from ragmem.services.entities.merges import merges as read

    if sum(map(bool, (undo, redo, undone))) > 1:
        raise UsageError("--undo, --redo and --undone are mutually exclusive", hint="give one of them")
    with open_memory() as memory:
        memory.require()
        if undo or redo:
            done = _change(memory, undo or redo, redo=bool(redo), dry_run=dry_run)
            if as_json:
                say_json({"schema": 1, "dry_run": dry_run, "merge": merge_shape(memory.catalog, done)})
            else:
                say(_describe_change(done, redo=bool(redo), dry_run=dry_run))
            return EXIT_OK
        projects = memory.projects.resolve(project) if project else None
        found = read(memory.catalog, projects=projects, name=name, undone=undone)
        shown = [merge_shape(memory.catalog, one) for one in found[: limit or 50]]
    if as_json:
        say_json({"schema": 1, "merges": shown, "left_out": len(found) - len(shown)})
        return EXIT_OK
    if not found:
        tell("there are no undone merges" if undone else "there are no merges")
        return EXIT_OK
    table(
        ("key", "name", "into", "rule", "project", "since", "sentence"),
        [
            (
                one["key"],
                printable(one["name"]),
                printable(one["into"]),
                one["rule"],
                one["project"],
                one["since"][:10],
                printable(one["sentence"])[:SAID],
            )
            for one in shown
        ],
    )
    if len(found) > len(shown):
        tell(f"{plural(len(found) - len(shown), 'more merge')}; -n shows them")
    return EXIT_OK


def _change(memory: "Ragmem", key: str, *, redo: bool, dry_run: bool) -> "Merge":
    from ragmem.api.memory import now
    from ragmem.services.entities import merges as service

    if dry_run:
        return service.find_merge(memory.catalog, key, undone=redo)
    change = service.redo if redo else service.undo
    return change(memory.catalog, memory.store, key, now=now())


def _describe_change(merge: "Merge", *, redo: bool, dry_run: bool) -> str:
    would = "would have" if dry_run else "has"
    if redo:
        may = "could" if dry_run else "may"
        return f'"{merge.name}" {may} be merged again'
    return f'"{merge.name}" {would} an entity of its own, separate from "{merge.into}" ({merge.rule})'
