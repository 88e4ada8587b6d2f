"""Move memories into the archive: out of the store and the catalog, all or none."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from ragmem.domain.model import digest, possible_files
from ragmem.ports import Store
from ragmem.services.ingestion.index import forget
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import MISSING, Removal
from ragmem.storage.lifecycle.forgotten_texts import remember_forgotten
from ragmem.storage.lifecycle.gc_runs import GcChange

FORGET = "forget"
"""The caller of a run in which a person, or a program on a person's behalf, archived memories."""


def new_run(word: str, now: datetime, ids: Iterable[str] = ()) -> str:
    """Return the name of a run."""
    return digest(word, now.isoformat(), *ids)[:8]


def archive_memories(
    catalog: Catalog,
    store: Store,
    run: str,
    ids: Sequence[str],
    *,
    removals: Callable[[], Sequence[Removal]],
    now: datetime,
    action: str = "archive",
) -> list[Removal]:
    """Archive memories in one transaction, and count them for the run; return the removals.

    `removals` is called inside the transaction, while the catalog still has the memories, so that concurrent
    changes are archived too. If it raises OutdatedError, nothing is changed.
    """
    gone: list[Removal] = []

    def keep() -> None:
        gone[:] = removals()
        catalog.archive.put(run, gone, now=now)
        # A file that comes back must be read again; a duplicate's file stays known, or it would be stored.
        catalog.files.forget(
            {
                (one.memory.source, path)
                for one in gone
                if one.rule == MISSING
                for path in possible_files(one.memory.uri)
            }
        )
        counts = Counter(f"{action}/{one.rule}" for one in gone)
        catalog.gc_runs.add(run, counts, archived=len(gone))

    forget(catalog, store, ids, finish=keep)
    return gone


def irreplaceable_ids(catalog: Catalog, merged: Iterable[str]) -> set[str]:
    """Return the merged memories whose originals are archived or purged.

    Archiving one of them would remove the last copy of a text from search.
    """
    originals = catalog.gc_runs.originals(merged)
    every = {one for some in originals.values() for one in some}
    gone = every.difference(catalog.memories.hashes(every))
    lying = catalog.archive.latest(gone)
    return {
        key
        for key, some in originals.items()
        if any(one in gone and (one not in lying or lying[one].successor == key) for one in some)
    }


def archive_by_request(
    catalog: Catalog, store: Store, ids: Sequence[str], *, rule: str, now: datetime
) -> str:
    """Archive memories by request, all or none; return the name of the run, for `undo`.

    Their texts count as forgotten from then on, and their connections are stored for an undo. Unknown ids are
    ignored.
    """
    run = new_run("forget", now, ids)

    def removals() -> list[Removal]:
        catalog.gc_runs.begin(run, caller=FORGET, now=now)
        found = [Removal(memory, rule) for memory in catalog.memories.get(ids).values()]
        with catalog.database.write() as connection:
            remember_forgotten(connection, (one.memory for one in found), run)
        catalog.gc_runs.note(
            run,
            "connected",
            [GcChange(key, text, "") for key, text in catalog.connections.snapshot(ids).items()],
        )
        catalog.gc_runs.end(run, now=now)
        catalog.log.write("gc", {"run": run, "archived": len(found)}, now=now)
        return found

    archive_memories(catalog, store, run, ids, removals=removals, now=now, action="remove")
    return run
