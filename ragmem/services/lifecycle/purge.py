"""Delete for good what has lain in the archive for long, which nothing but this does."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ragmem.config import ChunkingSettings
from ragmem.services.entities.extraction_texts import forget_unused
from ragmem.services.lifecycle.undo import adopt
from ragmem.storage.fulltext import lexicon
from ragmem.storage.home.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Purge:
    """What would be deleted, or was: memories, and how many texts among them nothing else has."""

    memories: int
    texts: int
    left: bool = False
    """Whether the log still has them, because a process reads what was there before."""


def plan_purge(catalog: Catalog, *, now: datetime, keep: timedelta) -> Purge:
    """Return what `purge` would delete; changes nothing."""
    expired = catalog.archive.hashes(before=now - keep)
    held = catalog.archive.hashes(since=now - keep) | catalog.memories.held(expired)
    return Purge(catalog.archive.expired(now=now, keep=keep), len(expired - held))


def purge(catalog: Catalog, *, now: datetime, keep: timedelta, sizes: ChunkingSettings) -> Purge:
    """Delete what has lain in the archive for longer than `keep`, and what was known of it alone.

    This is the one place where the last copy of a text may be lost. Where anything was deleted, SQLite's file
    is written anew, so that nothing of it is left in freed pages; that takes as much room again. Raises
    StoreBusyError, StorageError: what was deleted until then is deleted.
    """
    with catalog.database.write() as connection:
        planned = plan_purge(catalog, now=now, keep=keep)
        for known in catalog.archive.runs():
            adopt(catalog, known.run)
        ids = catalog.archive.ids()
        for run, count in catalog.archive.purge(now=now, keep=keep).items():
            catalog.gc_runs.add(run, {"purge": count}, archived=-count)
        gone = ids - catalog.archive.ids() - catalog.memories.ids()
        catalog.lives.forget(gone)
        catalog.projects.forget_moves(gone)
        catalog.supersessions.forget(gone)
        if planned.memories:
            lexicon.forget_dead(connection)
            catalog.log.write("purge", {"memories": planned.memories, "texts": planned.texts}, now=now)
    forget_unused(catalog, sizes)
    if planned.memories:
        return replace(planned, left=not catalog.database.vacuum())
    return planned
