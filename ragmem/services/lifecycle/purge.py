"""Permanently delete old memories of the archive; nothing else does that."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ragmem.config.settings import ChunkingSettings
from ragmem.services.entities.extraction_texts import forget_unused
from ragmem.services.lifecycle.undo import adopt_run
from ragmem.storage.fulltext import lexicon
from ragmem.storage.home.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Purge:
    """The number of deleted memories, or of those that would be, and of texts that nothing else has."""

    memories: int
    texts: int
    left: bool = False
    """Whether the log still has them, because a process reads an older state."""


def plan_purge(catalog: Catalog, *, now: datetime, keep: timedelta) -> Purge:
    """Return what `purge` would delete; changes nothing."""
    expired = catalog.archive.hashes(before=now - keep)
    held = catalog.archive.hashes(since=now - keep) | catalog.memories.known_hashes(expired)
    return Purge(catalog.archive.count_expired(now=now, keep=keep), len(expired - held))


def purge(catalog: Catalog, *, now: datetime, keep: timedelta, sizes: ChunkingSettings) -> Purge:
    """Delete memories that were archived longer ago than `keep`, with all data about them.

    Only this function may delete the last copy of a text. After a deletion SQLite's file is rewritten, so
    that freed pages keep nothing; that temporarily takes the same space again. Raises StoreBusyError or
    StorageError; earlier deletions are kept.
    """
    with catalog.database.write() as connection:
        planned = plan_purge(catalog, now=now, keep=keep)
        for known in catalog.archive.runs():
            adopt_run(catalog, known.run)
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
