"""Merge memories that say the same: the merged one is durable and indexed before its originals go."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from ragmem.domain.model.lifecycle import Entry, LifecyclePolicy
from ragmem.errors import BackendError
from ragmem.ports import Store
from ragmem.services.ingestion.archiving import OutdatedError, irreplaceable, take_out
from ragmem.services.ingestion.index import BATCH as INDEXED
from ragmem.services.ingestion.index import forget, put_again
from ragmem.services.ingestion.prefetch import Reading
from ragmem.services.lifecycle.items import Item, MergePlan, seen
from ragmem.services.processes.batch_size import BatchSize
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import Removal
from ragmem.storage.lifecycle.gc_runs import GcChange
from ragmem.storage.sql.batches import batches


class Merger:
    """Merges in one run; `skipped` counts memories that had changed, `note` says why it could not go on."""

    AT_ONCE = 48, 480
    """Merged memories that are made, and whose originals go then: so many at least, and at most."""

    AIM_S = 2.0
    """Seconds in which they are: several transactions, of which none takes the half."""

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
        """Return how many are to be merged at once."""
        return BatchSize(*cls.AT_ONCE, aim=cls.AIM_S)

    def merge(self, merges: Sequence[MergePlan], readings: Iterable[Reading]) -> tuple[int, int]:
        """Make memories of theirs; return how many were made, and archived for them."""
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

    def _make(self, merges: Sequence[MergePlan], readings: Iterable[Reading]) -> list[MergePlan]:
        read = {one.memory.id: reading for one, reading in zip(merges, readings, strict=True)}
        words = {key: reading.words for key, reading in read.items()}
        with self._catalog.database.write():
            members = self._entries(merges)
            outdated = self._outdated(merges, members)
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
                put_again(self._catalog, self._store, part)
        except BackendError as error:
            # Until a merged memory can be found by its meaning, its originals are worth more.
            self.note = error.told
            self._unmake(fresh)
            return []
        return fresh

    def _entries(self, merges: Sequence[MergePlan]) -> dict[str, Entry]:
        members = [key for one in merges for key in one.members]
        return self._catalog.lives.some(members, policy=self._policy)

    def _unmake(self, merges: Sequence[MergePlan]) -> None:
        """Take merged memories out again whose originals stay: they say nothing that those do not.

        Another run may have made the same at the same time, and archived the originals: then they stay.
        """
        ids = [one.memory.id for one in merges]

        def finish() -> None:
            if needed := irreplaceable(self._catalog, ids):
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
            if outdated := lost | self._outdated(made, members):
                self.skipped += sum(len(one.members) for one in made if outdated.intersection(one.members))
                raise OutdatedError(outdated)
            return [
                Removal(members[key].memory, self._items[key].rule, self._items[key].reason, after)
                for key, after in successor.items()
            ]

        gone = take_out(
            self._catalog,
            self._store,
            self._run,
            list(successor),
            removals=removals,
            now=self._now,
            action="merge",
        )
        return len(gone)

    def _outdated(self, merges: Sequence[MergePlan], entries: Mapping[str, Entry]) -> set[str]:
        """Return the members that are not what they were when it was decided to merge them."""
        return {
            key
            for one in merges
            for key in one.members
            if key not in entries or key not in self._items or seen(entries[key]) != self._items[key].seen
        }
