"""Carry out a plan of gc in steps of one transaction each: it can be stopped anywhere, and undone."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TypeVar

import orjson

from ragmem.domain.model import State
from ragmem.domain.model.lifecycle import LifecyclePolicy
from ragmem.errors import BackendError, UsageError
from ragmem.ports import Store
from ragmem.services.ingestion.archive import archive_memories, new_run
from ragmem.services.ingestion.index import OutdatedError, deferred_ids, index_pending
from ragmem.services.lifecycle.cards import Card, store_cards
from ragmem.services.lifecycle.items import Item, Plan, snapshot_of
from ragmem.services.lifecycle.outcome import Outcome
from ragmem.services.processes.batch_size import BatchSize
from ragmem.services.processes.progress import Progress, Silent
from ragmem.services.processes.worker_pool import WorkerPool
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import Removal
from ragmem.storage.lifecycle.gc_runs import GcChange
from ragmem.storage.lifecycle.supersessions import Supersession
from ragmem.storage.sql.batches import batches

T = TypeVar("T")

BATCH, MOST = 400, 2000
"""Minimum and maximum memories that are archived in one transaction."""

MANY = 500
"""Number of memories from which other processes read the texts; for fewer, starting them takes longer."""

LIVES = 2000
"""Number of lives that are changed in one transaction."""


@dataclass(frozen=True, slots=True)
class GcContext:
    """The dependencies of every step."""

    catalog: Catalog
    store: Store
    policy: LifecyclePolicy
    now: datetime
    run: str
    late: Callable[[], bool]
    progress: Progress


def apply(
    catalog: Catalog,
    store: Store,
    decided: Plan,
    *,
    now: datetime,
    policy: LifecyclePolicy,
    allow_large: bool = False,
    caller: str = "gc",
    budget_s: float | None = None,
    outcome: Outcome | None = None,
    cards: Sequence[Card] = (),
    progress: Progress | None = None,
) -> Outcome:
    """Carry out a plan; every step is one transaction, and the run can be undone.

    Memories that changed since the plan was made are skipped. `cards` are stored beside their members.
    `outcome` is updated on the way, for the case of an interruption; after `budget_s` seconds the rest is
    left to the next run. Raises UsageError if more than a third of the searched memories would go, unless
    `allow_large`.
    """
    if decided.large and not allow_large:
        raise UsageError(
            f"this would remove {decided.removal_count} of {decided.searched or decided.memories} memories",
            hint="is a disk missing? `ragmem gc --dry-run` shows what would be archived, and why",
        )
    done = outcome or Outcome()
    active = decided.active_items()
    if cards or any(item.action not in {"drop", "mend"} for item in active):
        done.run = new_run("gc", now, sorted(item.id for item in active))
        catalog.gc_runs.begin(done.run, caller=caller, now=now)
    until = None if budget_s is None else time.monotonic() + budget_s
    tools = GcContext(
        catalog,
        store,
        policy,
        now,
        done.run,
        lambda: until is not None and time.monotonic() > until,
        progress or Silent(),
    )
    tools.progress.begin("collecting", len(active))
    for step in (_repair_store, _supersede, _archive, _update_lives):
        step(tools, decided, done)
        if done.stopped:
            break
    if cards and not done.stopped:
        done.made, note = store_cards(catalog, store, done.run, cards)
        done.note = done.note or note
    if not done.stopped and any(decided.sweep.values()):
        done.swept = dict(store.sweep())
    if done.run:
        catalog.gc_runs.end(done.run, now=now)
    if done.changed_count or done.made or done.dropped or done.mended:
        catalog.log.write("gc", done.log_fields(), now=now)
    return done


def _repair_store(tools: GcContext, decided: Plan, done: Outcome) -> None:
    dropping = decided.ids("drop")
    for batch in batches(dropping, BATCH):
        tools.store.delete(batch)
        done.dropped += len(batch)
        tools.progress.advance(len(batch))
    mending = decided.ids("mend")
    if mending:
        leaving = deferred_ids(tools.catalog).difference(mending)
        tools.catalog.memories.mark(mending, State.PENDING)
        done.note = finish(tools.catalog, tools.store, leaving=leaving)
        waiting = (
            tools.catalog.memories.ids(states=[State.PENDING]).intersection(mending) if done.note else ()
        )
        done.mended = len(mending) - len(waiting)
        tools.progress.advance(len(mending))


def finish(
    catalog: Catalog, store: Store, *, leaving: Collection[str], processes: WorkerPool | None = None
) -> str:
    """Index the pending memories except those in `leaving`; return the error if there is no model, or ""."""
    try:
        index_pending(catalog, store, leaving=leaving, processes=processes)
    except BackendError as error:
        return error.full_message
    return ""


def _archive(tools: GcContext, decided: Plan, done: Outcome) -> None:
    removing, ageing = (
        [item for item in decided.items if item.action == action] for action in ("remove", "archive")
    )
    done.removed = _archive_items(tools, decided, removing, done)
    done.archived = _archive_items(tools, decided, ageing, done)


def _archive_items(tools: GcContext, decided: Plan, items: Sequence[Item], done: Outcome) -> int:
    gone = 0
    for batch in _batches_in_time(tools, items, BatchSize(BATCH, MOST), done):
        wanted = {item.id: item for item in batch}
        while wanted:
            try:
                taken = archive_memories(
                    tools.catalog,
                    tools.store,
                    tools.run,
                    list(wanted),
                    removals=lambda: _removals(tools, decided, wanted.values()),  # noqa: B023 - called at once
                    now=tools.now,
                    action=batch[0].action,
                )
            except OutdatedError as error:
                done.skipped += len(error.ids)
                wanted = {key: item for key, item in wanted.items() if key not in error.ids}
            else:
                gone += len(taken)
                break
    return gone


def _removals(tools: GcContext, decided: Plan, items: Collection[Item]) -> list[Removal]:
    """Return the current memories to archive; raises OutdatedError for those changed since the decision."""
    entries = tools.catalog.lives.find_entries([item.id for item in items], policy=tools.policy)
    hashes = tools.catalog.memories.hashes(item.others[0] for item in items if item.others)
    outdated = {
        item.id
        for item in items
        if item.id not in entries
        or snapshot_of(entries[item.id]) != item.snapshot
        or (item.others and hashes.get(item.others[0]) != decided.hashes.get(item.others[0]))
    }
    if outdated:
        raise OutdatedError(outdated)
    return [
        Removal(entries[item.id].memory, item.rule, item.reason, item.others[0] if item.others else "")
        for item in items
    ]


def _supersede(tools: GcContext, decided: Plan, done: Outcome) -> None:
    items = [item for item in decided.items if item.action in {"supersede", "mark"}]
    for batch in _batches_in_time(tools, items, BatchSize(BATCH, BATCH), done):
        with tools.catalog.database.write():
            standing = _select_unchanged(tools, batch, done)
            written = supersede(tools.catalog, tools.run, standing, now=tools.now)
            done.superseded += written["supersede"]
            done.marked += written["mark"]


def _update_lives(tools: GcContext, decided: Plan, done: Outcome) -> None:
    items = [
        item
        for item in decided.items
        if item.action in {"promote", "reprieve"} or (item.action == "keep" and item.life)
    ]
    for batch in _batches_in_time(tools, items, BatchSize(LIVES, LIVES), done):
        with tools.catalog.database.write():
            standing = _select_unchanged(tools, batch, done)
            before = tools.catalog.lives.of(item.id for item in standing)
            tools.catalog.lives.change([item.decision for item in standing], now=tools.now)
            after = tools.catalog.lives.of(item.id for item in standing)
            tools.catalog.gc_runs.note(
                tools.run,
                "life",
                [
                    GcChange(
                        key,
                        orjson.dumps(before[key]).decode() if key in before else "",
                        orjson.dumps(row).decode(),
                    )
                    for key, row in after.items()
                ],
            )
            tools.catalog.gc_runs.add(tools.run, Counter(item.name for item in standing))
        done.promoted += sum(item.action == "promote" for item in standing)
        done.reprieved += sum(item.action == "reprieve" for item in standing)


def _select_unchanged(tools: GcContext, items: Sequence[Item], done: Outcome) -> list[Item]:
    """Return the items whose memories are unchanged since the decision, and count the others."""
    entries = tools.catalog.lives.find_entries([item.id for item in items], policy=tools.policy)
    standing = [
        item for item in items if item.id in entries and snapshot_of(entries[item.id]) == item.snapshot
    ]
    done.skipped += len(items) - len(standing)
    return standing


def _batches_in_time(
    tools: GcContext, items: Sequence[T], pace: BatchSize, done: Outcome
) -> Iterator[Sequence[T]]:
    """Yield the items in batches until the time is up, and record that."""
    for batch in pace.batches(items):
        if tools.late():
            done.stopped = True
            return
        yield batch
        tools.progress.advance(len(batch))


def supersede(catalog: Catalog, run: str, items: Sequence[Item], *, now: datetime) -> Counter[str]:
    """Supersede or mark memories by the first of their `others`, in the caller's transaction.

    Returns action -> number.

    A memory whose successor is missing, or leads back to it, is left as it is.
    """
    outlines = catalog.memories.outlines([*(item.id for item in items), *(item.others[0] for item in items)])
    wanted = [
        Supersession(
            older=item.id,
            newer=item.others[0],
            older_at=outlines[item.id].event_time,
            newer_at=outlines[item.others[0]].event_time,
            rule=item.rule,
            reason=item.reason,
            made_at=now,
        )
        for item in items
        if item.id in outlines and item.others[0] in outlines
    ]
    ids = [one.older for one in wanted]
    before = {one.older: one for one in catalog.supersessions.of(ids)}
    catalog.supersessions.put(wanted)
    after = {one.older: one.newer for one in catalog.supersessions.of(ids)}
    marked = [one for one in wanted if after.get(one.older) == one.newer]
    catalog.gc_runs.note(
        run,
        "superseded",
        [
            GcChange(
                one.older,
                orjson.dumps(asdict(before[one.older])).decode() if one.older in before else "",
                one.newer,
            )
            for one in marked
        ],
    )
    standing = [item for item in items if after.get(item.id) == item.others[0]]
    catalog.gc_runs.add(run, Counter(item.name for item in standing))
    return Counter(item.action for item in standing)
