"""`ragmem restore`: restore a backup; keep the data that it replaces."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragmem.cli.common import Bar, open_memory, plural, require_consent, say, say_json, tell
from ragmem.cli.options import JsonOption, QuietOption, YesOption
from ragmem.errors import EXIT_OK, BackendError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.services.transfer.verification import Source

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

EPILOG = """\b
Examples:
  ragmem restore --dry-run backup.tar.gz
  ragmem restore --yes backup.tar.gz

\b
Exit codes:
  0  restored
  2  usage, or not confirmed
  3  the ragmem home cannot be written
  5  the store is busy
  6  the backup is damaged or from a newer ragmem; nothing was changed
"""


@app.command(epilog=EPILOG)
def restore(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A backup, a memory.db, or a folder kept by an earlier restore."),
    ],
    yes: YesOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Verify the backup; change nothing.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Restore a backup; keep the data that it replaces."""
    from ragmem.api.memory import now
    from ragmem.services.transfer.restore import restore as restore_backup

    with open_memory(quiet=quiet) as memory, Bar(quiet=quiet or as_json) as bar:

        def agree(source: "Source") -> None:
            if not dry_run:
                _confirm(memory, source, yes=yes)

        done = restore_backup(
            file,
            memory.catalog,
            memory.settings.places,
            open_store=lambda: memory.store,
            usable=lambda folder: _try_out(memory, folder),
            agree=agree,
            dry_run=dry_run,
            busy_timeout=memory.settings.write.busy_timeout_s,
            now=now(),
            progress=bar,
        )
        foreign = memory.settings.store.profile in {"json", "custom"}
    if as_json:
        say_json(
            {
                "schema": 1,
                "dry_run": dry_run,
                "file": str(file),
                "counts": dict(done.counts),
                "schemas": dict(done.schemas),
                "replaced": str(done.replaced) if done.replaced else None,
            }
        )
    else:
        what = plural(done.counts.get("memories", 0), "memory", "memories")
        say(f"{file}: verified, {what}" if dry_run else f"restored {what}")
    if not dry_run and not quiet:
        if done.replaced:
            tell(f"undo with: ragmem restore {done.replaced}")
        if foreign:
            tell("vectors and graph are in another store: `ragmem gc` updates them")
    return EXIT_OK


def _try_out(memory: "Ragmem", folder: Path) -> None:
    """Open the extracted backup as a memory; raises StoreDamagedError if that fails."""
    from ragmem.api.memory import Ragmem

    places = memory.settings.places._replace(data=folder)
    with Ragmem(replace(memory.settings, places=places), home=memory.home, cwd=memory.cwd) as trial:
        trial.prepare()
        if memory.settings.store.profile != "sqlite":
            return
        try:
            trial.store.memory_ids()
        except BackendError:
            # Without a backend the store cannot be opened, so it cannot be tested either.
            return


def _confirm(memory: "Ragmem", source: "Source", *, yes: bool) -> None:
    from ragmem.errors import RagmemError
    from ragmem.storage.maintenance.catalog_export import Contents

    if yes or not memory.catalog.exists():
        return
    try:
        count = Contents(memory.catalog.database).counts()["memories"]
        present = plural(count, "memory", "memories")
    except RagmemError:
        count, present = 1, "a damaged memory"
    finally:
        memory.catalog.close()
    if not count:
        return
    change = f"replace {present} by {plural(source.counts.get('memories', 0), 'memory', 'memories')}"
    require_consent(
        f"{change}?",
        nobody=f"this would {change}, and there is no terminal to confirm it",
        hint="verify it first: ragmem restore FILE --dry-run",
        refused="nothing was restored",
        refused_hint="--dry-run only verifies",
    )
