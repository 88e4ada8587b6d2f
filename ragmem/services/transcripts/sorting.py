"""Which exchanges of a transcript the catalog lacks, or has otherwise than they are now."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ragmem.domain.model import State, Tier
from ragmem.services.ingestion.classify import Classified
from ragmem.services.ingestion.ingest import Change, in_archive
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.memories import fingerprint


@dataclass(slots=True)
class SortedExchanges:
    """The exchanges to write, the last of each id, and the number of each kind."""

    fresh: list[Classified] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    """What became of each that was given, in order."""
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    doubled: int = 0
    archived: int = 0

    def add(self, other: "SortedExchanges") -> None:
        """Add what was written in another transaction."""
        self.fresh += other.fresh
        self.changes += other.changes
        self.new += other.new
        self.changed += other.changed
        self.unchanged += other.unchanged
        self.doubled += other.doubled
        self.archived += other.archived


def sort(catalog: Catalog, judged: Sequence[Classified]) -> SortedExchanges:
    """Sort judged exchanges by what the catalog has of them, within the caller's transaction.

    One whose text another memory of its scope has is told twice: a resumed or forked session repeats what
    was before. One that lies in the archive as it is stays there.
    """
    found = SortedExchanges()
    if not judged:
        return found
    if not catalog.exists():
        found.fresh, found.new, found.changes = list(judged), len(judged), ["new"] * len(judged)
        return found
    known = catalog.memories.known(item.memory.id for item in judged)
    unknown = [item.memory for item in judged if item.memory.id not in known]
    told = {
        (one.content_hash, one.scope) for one in catalog.memories.alike(one.content_hash for one in unknown)
    }
    archived = in_archive(catalog, unknown)
    fresh: dict[str, Classified] = {}
    for item in judged:
        memory = item.memory
        before = known.get(memory.id)
        place = (memory.content_hash, memory.scope)
        change: Change = "unchanged"
        if memory.id in fresh:
            # The same exchange twice in one batch: it grew while it was read.
            fresh[memory.id] = item
        elif before is None and memory.id in archived:
            found.archived += 1
            change = "archived"
        elif before is None and place in told:
            found.doubled += 1
        elif before is None:
            found.new += 1
            change = "new"
            fresh[memory.id] = item
        elif before.content_hash == memory.content_hash and before.fingerprint == fingerprint(memory):
            found.unchanged += 1
        else:
            found.changed += 1
            change = "changed"
            if memory.state is State.BUFFERED and before.state is not State.BUFFERED:
                # The store has its former text until it is indexed again.
                memory = replace(memory, state=State.PENDING, tier=Tier.INGEST)
            fresh[memory.id] = replace(item, memory=memory)
        told.add(place)
        found.changes.append(change)
    found.fresh = list(fresh.values())
    return found
