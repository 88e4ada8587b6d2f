"""Permanently delete old memories of the archive and old discarded texts; nothing else does that."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model.lifecycle import LifecyclePolicy, LifecycleState
from ragmem.services.entities.extraction_texts import forget_unused
from ragmem.services.lifecycle.undo import adopt_run
from ragmem.storage.fulltext import lexicon
from ragmem.storage.home.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Purge:
    """The number of deleted memories, or of those that would be, and of texts that nothing else has.

    `memories` counts those of the archive, `discarded` those of the tier discard.
    """

    memories: int
    texts: int
    discarded: int = 0
    left: bool = False
    """Whether the log still has them, because a process reads an older state."""


def plan_purge(catalog: Catalog, *, now: datetime, keep: timedelta) -> Purge:
    """Return what `purge` would delete; changes nothing."""
    discarded = set(_discarded(catalog, now - keep))
    expired = catalog.archive.hashes(before=now - keep) | set(catalog.memories.hashes(discarded).values())
    held = catalog.archive.hashes(since=now - keep)
    held |= {one.content_hash for one in catalog.memories.with_hashes(expired) if one.id not in discarded}
    return Purge(catalog.archive.count_expired(now=now, keep=keep), len(expired - held), len(discarded))


def _discarded(catalog: Catalog, before: datetime) -> list[str]:
    """Return the discarded texts stored before a moment that nobody pinned, recalled or rated good."""
    entries = catalog.lives.find_entries(catalog.memories.buffered_before(before), policy=LifecyclePolicy())
    return [
        key
        for key, entry in entries.items()
        if not (entry.is_protected or entry.sessions or entry.feedback > 0)
        and entry.life is LifecycleState.BUFFER
    ]


def purge(catalog: Catalog, *, now: datetime, keep: timedelta, sizes: ChunkingSettings) -> Purge:
    """Delete memories archived, and discarded texts stored, longer ago than `keep`, with all data about them.

    Only this function may delete the last copy of a text. After a deletion SQLite's file is rewritten, so
    that freed pages keep nothing; that temporarily takes the same space again. Raises StoreBusyError or
    StorageError; earlier deletions are kept.
    """
    with catalog.database.write() as connection:
        planned = plan_purge(catalog, now=now, keep=keep)
        for known in catalog.archive.runs():
            adopt_run(catalog, known.run)
        discarded = _discarded(catalog, now - keep)
        catalog.names.forget(discarded)
        catalog.memories.remove(discarded)
        ids = catalog.archive.ids().union(discarded)
        for run, count in catalog.archive.purge(now=now, keep=keep).items():
            catalog.gc_runs.add(run, {"purge": count}, archived=-count)
        gone = ids - catalog.archive.ids() - catalog.memories.ids()
        catalog.lives.forget(gone)
        catalog.projects.forget_moves(gone)
        catalog.supersessions.forget(gone)
        if planned.memories or planned.discarded:
            lexicon.forget_dead(connection)
            counts = {"memories": planned.memories, "texts": planned.texts, "discarded": planned.discarded}
            catalog.log.write("purge", counts, now=now)
    forget_unused(catalog, sizes)
    if planned.memories or planned.discarded:
        return replace(planned, left=not catalog.database.vacuum())
    return planned
