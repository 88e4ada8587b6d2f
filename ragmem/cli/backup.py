"""`ragmem backup`: back up the ragmem home to one verified file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragmem.cli.common import Bar, moment, open_memory, plural, say, say_json, size, table, tell
from ragmem.cli.options import DryRunOption, ForceOption, JsonOption, QuietOption
from ragmem.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.services.transfer.backup import Backup

STDOUT = Path("-")

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem backup
  ragmem backup --keep 7 --quiet
  ragmem backup --list

\b
Exit codes:
  0  written and verified
  2  usage, or the file exists
  3  the file cannot be written
  6  the store is damaged
"""


@app.command(epilog=EPILOG)
def backup(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The target; by default a file in the backups folder."),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option("--keep", min=1, help="Then keep only this many of the backups in that folder."),
    ] = None,
    listing: Annotated[bool, typer.Option("--list", "-l", help="List the backups; write nothing.")] = False,
    force: ForceOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Back up the ragmem home to one verified file."""
    from ragmem.api.memory import now
    from ragmem.services.transfer.backup import back_up, backups, folder_of, prune
    from ragmem.storage.maintenance.catalog_export import Contents

    if listing and (file or keep or force or dry_run):
        raise UsageError("--list cannot be combined with other arguments", hint="ragmem backup --list")
    if file == STDOUT:
        raise UsageError(
            "a backup is verified after writing, which standard output does not allow",
            hint="name a file; `ragmem export -` writes to standard output",
        )
    if file and keep:
        raise UsageError("--keep works only for the backups folder", hint="leave out FILE, or --keep")
    with open_memory(quiet=quiet) as memory, Bar(quiet=quiet or as_json) as bar:
        places = memory.settings.places
        if listing:
            _say_list(backups(places), as_json=as_json, quiet=quiet)
            return EXIT_OK
        memory.require()
        if dry_run:
            counts = Contents(memory.catalog.database).counts()
            where = file or folder_of(places)
            if as_json:
                say_json({"schema": 1, "dry_run": True, "file": str(where), "counts": counts})
            else:
                what = plural(counts["memories"], "memory", "memories")
                say(f"would back up {what} to {where}")
            return EXIT_OK
        memory.inbox.drain()
        made = back_up(
            memory.catalog,
            places,
            profile=memory.settings.store.profile,
            target=file,
            force=force,
            now=now(),
            progress=bar,
        )
        pruned = prune(places, keep) if keep else []
    if as_json:
        say_json({"schema": 1, "dry_run": False, **_shape(made), "pruned": [str(path) for path in pruned]})
    else:
        say(f"{made.path}  {size(made.bytes)}")
        if pruned and not quiet:
            tell(f"removed {plural(len(pruned), 'older backup')}")
    return EXIT_OK


def _shape(one: "Backup") -> dict[str, object]:
    return {
        "file": str(one.path),
        "bytes": one.bytes,
        "at": moment(one.at),
        "schemas": dict(one.schemas),
        "counts": dict(one.counts),
        "problem": one.problem,
    }


def _say_list(found: "list[Backup]", *, as_json: bool, quiet: bool) -> None:
    if as_json:
        say_json({"schema": 1, "backups": [_shape(one) for one in found]})
        return
    table(
        ("at", "size", "memories", "schema", "backup"),
        [
            (
                moment(one.at),
                size(one.bytes),
                one.counts.get("memories", ""),
                ", ".join(f"{name} {version}" for name, version in one.schemas.items()) or "damaged",
                one.path,
            )
            for one in found
        ],
    )
    for one in found:
        if one.problem and not quiet:
            tell(f"warning: {one.problem}")
