"""Garbage collection: plan what may go and why, apply it into the archive, undo it.

This part removes what is broken or doubled: memories whose source is gone (only when asked), exact
duplicates, and what no memory owns. Nothing is removed for its age.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from ragmem.catalog.archive import ArchiveRun, Removal
from ragmem.catalog.catalog import Catalog
from ragmem.config import ChunkingSettings
from ragmem.domain.model import Memory, State, Tier, digest
from ragmem.errors import BackendError, NotFoundError, UsageError
from ragmem.ports import Store
from ragmem.services.index import forget, index_pending
from ragmem.services.judge import chunks_of

LARGE_SHARE = 0.5
"""A plan that removes more than this share of the memories needs a second word: a disk may be unmounted."""

SMALL_STORE = 10
"""Below so many memories the share says nothing."""

Action = Literal["remove", "keep", "mend", "drop"]


@dataclass(frozen=True, slots=True)
class Item:
    """One decision: what happens to which memory, by which rule, and why."""

    id: str
    action: Action
    rule: str
    reason: str
    title: str = ""
    uri: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What gc would do.

    `sweep` counts what no memory owns in the store, `expired` what `gc --purge` may delete for good.
    """

    items: tuple[Item, ...]
    memories: int
    sweep: Mapping[str, int] = field(default_factory=dict)
    expired: int = 0

    def ids(self, action: Action) -> list[str]:
        """Return the ids with this action."""
        return [item.id for item in self.items if item.action == action]

    @property
    def empty(self) -> bool:
        """Tell whether nothing would change."""
        acting = any(item.action != "keep" for item in self.items)
        return not (acting or any(self.sweep.values()))

    @property
    def large(self) -> bool:
        """Tell whether more than half of the memories would go."""
        return self.memories > SMALL_STORE and len(self.ids("remove")) > LARGE_SHARE * self.memories


@dataclass(frozen=True, slots=True)
class Outcome:
    """What gc did; `run` names it for undo, and is empty when no memory was removed.

    `note` says why memories that were to be finished wait, and is empty where none does.
    """

    run: str
    removed: int
    mended: int
    dropped: int
    swept: Mapping[str, int]
    note: str = ""


def plan(
    catalog: Catalog,
    store: Store,
    *,
    now: datetime,
    keep: timedelta,
    gone: Collection[str] | None = None,
) -> Plan:
    """Decide without changing anything.

    `gone` are the ids of memories that have left their source; None means that nobody asked.
    """
    ids = catalog.memories.ids()
    items: list[Item] = []
    removing: set[str] = set()
    for identifier in sorted(gone or ()):
        if identifier in ids:
            items.append(Item(identifier, "remove", "missing", "its source no longer has it"))
            removing.add(identifier)
    for _, group in catalog.overview.duplicates():
        staying = [(identifier, uri) for identifier, uri in group if identifier not in removing]
        members = catalog.memories.get(identifier for identifier, _ in staying)
        protected = [identifier for identifier, _ in staying if members[identifier].protected]
        keeper = (protected or [identifier for identifier, _ in staying] or [""])[0]
        for identifier, _ in staying:
            if identifier == keeper:
                continue
            if identifier in protected:
                items.append(
                    Item(identifier, "keep", "protected", f"a duplicate of {keeper[:12]}, but protected")
                )
            else:
                items.append(Item(identifier, "remove", "duplicate", f"the same text as {keeper[:12]}"))
                removing.add(identifier)
    stored = store.memory_ids()
    unfinished = catalog.memories.ids(states=[State.PENDING])
    indexed = catalog.memories.ids(states=[State.INDEXED])
    items += [
        Item(identifier, "drop", "unowned", "the store has it, the catalog does not")
        for identifier in sorted(stored - indexed - unfinished)
    ]
    lost = indexed - stored
    items += [
        Item(identifier, "mend", "unindexed", "the catalog has it, the store does not")
        for identifier in sorted((unfinished | lost) - removing)
    ]
    shown = catalog.memories.get(item.id for item in items)
    described = tuple(
        replace(item, title=shown[item.id].title, uri=shown[item.id].uri) if item.id in shown else item
        for item in items
    )
    return Plan(
        items=described,
        memories=len(ids),
        sweep=store.sweep(dry_run=True),
        expired=catalog.archive.expired(now=now, keep=keep),
    )


def apply(
    catalog: Catalog,
    store: Store,
    decided: Plan,
    *,
    now: datetime,
    allow_large: bool = False,
) -> Outcome:
    """Carry out a plan; every step is one transaction, and what was removed can be undone.

    Raises UsageError when more than half of the memories would go and nobody allowed it.
    """
    if decided.large and not allow_large:
        raise UsageError(
            f"this would remove {len(decided.ids('remove'))} of {decided.memories} memories",
            hint="is a disk missing? if it is meant, say `ragmem gc --allow-large`",
        )
    removing = decided.ids("remove")
    rules = {item.id: item.rule for item in decided.items}
    run = archive(catalog, store, removing, rules=rules, now=now) if removing else ""
    dropping = decided.ids("drop")
    if dropping:
        store.delete(dropping)
    mending = decided.ids("mend")
    note = ""
    if mending:
        catalog.memories.mark(mending, State.PENDING)
        note = _finish(catalog, store)
    waiting = catalog.memories.ids(states=[State.PENDING]).intersection(mending) if note else ()
    return Outcome(
        run=run,
        removed=len(removing),
        mended=len(mending) - len(waiting),
        dropped=len(dropping),
        swept=store.sweep(),
        note=note,
    )


def _finish(catalog: Catalog, store: Store) -> str:
    """Index what waits; return why it has to wait on where no vectors can be had, or nothing."""
    try:
        index_pending(catalog, store)
    except BackendError as error:
        return error.told
    return ""


def archive(
    catalog: Catalog, store: Store, ids: Sequence[str], *, rules: Mapping[str, str], now: datetime
) -> str:
    """Move memories into the archive, all or none of them; return the name of the run, for `undo`.

    `rules` tells for each id why it goes; the catalog ignores ids that it does not have.
    """
    run = digest("gc", now.isoformat(), *ids)[:8]

    def keep() -> None:
        # Read only now: another process may have written them while this one waited for its turn.
        memories = catalog.memories.get(ids)
        forgotten = {
            (memory.source, place)
            for memory in memories.values()
            if rules[memory.id] == "missing"
            for place in (memory.uri, memory.uri.rpartition("#")[0])
        }
        catalog.archive.put(run, [Removal(memory, rules[memory.id]) for memory in memories.values()], now=now)
        # A file that comes back must be read again; a duplicate's file stays known, or it would return.
        catalog.files.forget(forgotten)
        catalog.log.write("gc", {"run": run, "removed": len(memories)}, now=now)

    forget(catalog, store, ids, finish=keep)
    return run


def undo(
    catalog: Catalog, store: Store, *, sizes: ChunkingSettings, run: str = "", now: datetime
) -> tuple[ArchiveRun, int, str]:
    """Bring back what a run removed, the latest when none is named.

    Return the run, how many came back, and why their vectors have to wait (empty: they have them). A memory
    that has been stored anew meanwhile is left as it is.
    """
    runs = catalog.archive.runs()
    chosen = [candidate for candidate in runs if not run or candidate.run == run]
    if not chosen:
        if not run:
            raise NotFoundError("there is no gc run to undo", hint="`ragmem inspect log` lists what was done")
        known = ", ".join(candidate.run for candidate in runs) or "none"
        raise NotFoundError(f'there is no gc run "{run}"', hint=f"runs that can be undone: {known}")
    target = chosen[0]
    present = catalog.memories.ids()
    back = [memory for memory in catalog.archive.memories(target.run) if memory.id not in present]
    with catalog.database.write():
        catalog.memories.accept([(_revived(memory), chunks_of(memory, sizes)) for memory in back])
        catalog.archive.drop(target.run)
        catalog.log.write("undo", {"run": target.run, "restored": len(back)}, now=now)
    return target, len(back), _finish(catalog, store)


def _revived(memory: Memory) -> Memory:
    return memory if memory.tier is Tier.DISCARD else replace(memory, state=State.PENDING)
