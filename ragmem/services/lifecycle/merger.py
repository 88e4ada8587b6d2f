"""Merge memories that say the same: the merged one is indexed before its originals are archived."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from ragmem.domain.model.lifecycle import Entry, LifecyclePolicy
from ragmem.errors import BackendError
from ragmem.ports import Store
from ragmem.services.ingestion.archive import archive_memories, irreplaceable_ids
from ragmem.services.ingestion.index import BATCH as INDEXED
from ragmem.services.ingestion.index import OutdatedError, forget, index_by_id
from ragmem.services.ingestion.prefetch import MemoryAnalysis
from ragmem.services.lifecycle.items import Item, MergePlan, snapshot_of
from ragmem.services.processes.batch_size import BatchSize
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import Removal
from ragmem.storage.lifecycle.gc_runs import GcChange
from ragmem.storage.sql.batches import batches


class Merger:
    """Merges in one run; `skipped` counts changed memories, `note` says why it could not continue."""

    AT_ONCE = 48, 480
    """Minimum and maximum number of merges in a batch."""

    AIM_S = 2.0
    """Target seconds of a batch, which has several transactions of less than half of it each."""

    def __init__(
        self,
        catalog: Catalog,
        store: Store,
        *,
        policy: LifecyclePolicy,
        run: str,
        now: datetime,
        items: Mapping[str, Item],
    ) -> None:
        self._catalog = catalog
        self._store = store
        self._policy = policy
        self._run = run
        self._now = now
        self._items = items
        self.skipped = 0
        self.note = ""

    @classmethod
    def pace(cls) -> BatchSize:
        """Return the batch size of merges."""
        return BatchSize(*cls.AT_ONCE, aim=cls.AIM_S)

    def merge(self, merges: Sequence[MergePlan], readings: Iterable[MemoryAnalysis]) -> tuple[int, int]:
        """Store merged memories and archive their originals; return both numbers."""
        made = self._make(merges, readings)
        if self.note:
            return 0, 0
        while made:
            try:
                gone = self._replace(made)
            except OutdatedError as error:
                self._unmake([one for one in made if error.ids.intersection(one.members)])
                made = [one for one in made if not error.ids.intersection(one.members)]
            else:
                return len(made), gone
        return 0, 0

    def _make(self, merges: Sequence[MergePlan], readings: Iterable[MemoryAnalysis]) -> list[MergePlan]:
        read = {one.memory.id: reading for one, reading in zip(merges, readings, strict=True)}
        words = {key: reading.words for key, reading in read.items()}
        with self._catalog.database.write():
            members = self._entries(merges)
            outdated = self._outdated_members(merges, members)
            fresh = [one for one in merges if not outdated.intersection(one.members)]
            self.skipped += sum(len(one.members) for one in merges) - sum(len(one.members) for one in fresh)
            self._catalog.memories.accept([(one.memory, one.chunks) for one in fresh], words=words)
            self._catalog.gc_runs.link(self._run, {one.memory.id: one.members for one in fresh})
            self._catalog.gc_runs.note(
                self._run, "made", [GcChange(one.memory.id, "", one.memory.content_hash) for one in fresh]
            )
            self._catalog.gc_runs.add(self._run, {"make/cluster": len(fresh)} if fresh else {})
        try:
            for part in batches((one.memory.id for one in fresh), INDEXED):
                for key in part:
                    read[key].keep()
                index_by_id(self._catalog, self._store, part)
        except BackendError as error:
            # Without a vector, a merged memory is worth less than its originals.
            self.note = error.full_message
            self._unmake(fresh)
            return []
        return fresh

    def _entries(self, merges: Sequence[MergePlan]) -> dict[str, Entry]:
        members = [key for one in merges for key in one.members]
        return self._catalog.lives.find_entries(members, policy=self._policy)

    def _unmake(self, merges: Sequence[MergePlan]) -> None:
        """Remove merged memories whose originals stay, because they are redundant.

        They stay if a concurrent run has made the same ones and archived the originals.
        """
        ids = [one.memory.id for one in merges]

        def finish() -> None:
            if needed := irreplaceable_ids(self._catalog, ids):
                raise OutdatedError(needed)
            self._catalog.gc_runs.unlink(ids)
            self._catalog.lives.forget(ids)
            self._catalog.gc_runs.add(self._run, {"make/cluster": -len(ids)})

        try:
            forget(self._catalog, self._store, ids, finish=finish)
        except OutdatedError as error:
            self._unmake([one for one in merges if one.memory.id not in error.ids])

    def _replace(self, made: Sequence[MergePlan]) -> int:
        successor = {key: one.memory.id for one in made for key in one.members}

        def removals() -> list[Removal]:
            there = self._catalog.memories.hashes(one.memory.id for one in made)
            lost = {key for one in made if one.memory.id not in there for key in one.members}
            members = self._entries(made)
            if outdated := lost | self._outdated_members(made, members):
                self.skipped += sum(len(one.members) for one in made if outdated.intersection(one.members))
                raise OutdatedError(outdated)
            return [
                Removal(members[key].memory, self._items[key].rule, self._items[key].reason, after)
                for key, after in successor.items()
            ]

        gone = archive_memories(
            self._catalog,
            self._store,
            self._run,
            list(successor),
            removals=removals,
            now=self._now,
            action="merge",
        )
        return len(gone)

    def _outdated_members(self, merges: Sequence[MergePlan], entries: Mapping[str, Entry]) -> set[str]:
        """Return the members that changed since the decision to merge them."""
        return {
            key
            for one in merges
            for key in one.members
            if key not in entries
            or key not in self._items
            or snapshot_of(entries[key]) != self._items[key].snapshot
        }
