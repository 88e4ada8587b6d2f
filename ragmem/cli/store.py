"""`ragmem store`: show where memories are stored, or migrate to another store."""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragmem.cli.common import Bar, bold, command_group, open_memory, plural, say, say_json, tell
from ragmem.cli.options import DryRunOption, JsonOption, QuietOption
from ragmem.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem
    from ragmem.config.settings import StoreSettings
    from ragmem.ports import Models

EPILOG = """\b
Examples:
  ragmem store
  ragmem store show --json
  ragmem store migrate --to json --dry-run

\b
Exit codes:
  0  done
  2  usage, or the target has other memories
  3  a store cannot be reached or written, or the copy differs
  4  a backend is missing
"""

app = command_group(
    "store",
    about="Show where memories are stored, or migrate to another store.",
    epilog=EPILOG,
    default="show",
)


@app.command()
def show(as_json: JsonOption = False) -> int:
    """Show the profile, the location and the counts."""
    from ragmem.storage.maintenance.catalog_export import Contents

    with open_memory() as memory:
        chosen = memory.settings.store
        place = memory.catalog.database.place
        exists = memory.catalog.exists()
        counts: dict[str, int] = {}
        if exists:
            memory.prepare()
            counts = Contents(memory.catalog.database).counts() | {
                name: count for name, count in memory.store.statistics().items() if name != "documents"
            }
    if as_json:
        say_json(
            {
                "schema": 1,
                "profile": chosen.profile,
                "backend": chosen.backend,
                "place": place,
                "exists": exists,
                "counts": counts,
            }
        )
        return EXIT_OK
    rows = [("profile", chosen.profile), ("backend", chosen.backend), ("place", place)]
    rows += [(name, f"{count:,}") for name, count in counts.items()] or [("memories", "none yet")]
    for name, value in rows:
        say(f"{bold(name.ljust(12))} {value}")
    return EXIT_OK


@app.command()
def migrate(
    to: Annotated[
        Literal["sqlite", "json", "postgres", "custom"], typer.Option("--to", help="The profile to copy to.")
    ],
    url: Annotated[
        str, typer.Option("--url", help="Address of the PostgreSQL database; else store.url.")
    ] = "",
    merge: Annotated[bool, typer.Option("--merge", help="Add to a store that has other memories.")] = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Copy all memories to another store, and verify the copy.

    Only reads the current store. Run it again to continue an interrupted copy. The profile custom uses the
    storages of [store] in config.toml.
    """
    from ragmem.api.memory import now
    from ragmem.services.transfer.transfer import End, ReusingModels, plan, transfer

    if url and to != "postgres":
        raise UsageError("--url works only with the profile postgres", hint="omit it")
    with open_memory(quiet=quiet) as memory:
        memory.require()
        wanted = replace(memory.settings.store, profile=to, url=url or memory.settings.store.url)
        if wanted == memory.settings.store:
            raise UsageError(f'the current store is already "{to}"', hint="`ragmem store` shows the details")
        models = ReusingModels(memory.models)
        with _elsewhere(memory, wanted, models) as target, Bar(quiet=quiet or as_json) as bar:
            here = End(memory.catalog, lambda: memory.store)
            there = End(target.catalog, lambda: target.store)
            place = target.catalog.database.place
            if dry_run:
                counts = plan(here, there, merge=merge)
                if as_json:
                    say_json({"schema": 1, "dry_run": True, "profile": to, "place": place, **counts})
                else:
                    say(f"would copy {plural(counts['memories'], 'memory', 'memories')} to {place}")
                return EXIT_OK
            memory.inbox.drain()
            done = transfer(here, there, models=models, merge=merge, now=now(), progress=bar)
    if as_json:
        say_json({"schema": 1, "dry_run": False, "profile": to, "place": place, **asdict(done)})
        return EXIT_OK
    say(
        f"{place}: {plural(done.written, 'memory', 'memories')} copied, {done.unchanged:,} there already,"
        f" {done.indexed:,} indexed; {done.agreed} of {done.asked} searches give the same results"
    )
    if not quiet:
        if done.note:
            tell(f"note: {done.note}")
        tell("the copy is verified; to use it, put this in config.toml:")
        for line in _lines(wanted):
            tell(f"  {line}")
    return EXIT_OK


def _elsewhere(memory: "Ragmem", wanted: "StoreSettings", models: "Models") -> "Ragmem":
    from ragmem.api.memory import Ragmem

    return Ragmem(replace(memory.settings, store=wanted), home=memory.home, cwd=memory.cwd, models=models)


def _lines(wanted: "StoreSettings") -> list[str]:
    lines = ["[store]", f'profile = "{wanted.profile}"']
    if wanted.profile == "postgres":
        # Not the address itself, which may hold a password.
        lines.append('url = "postgresql://..."')
    return lines
