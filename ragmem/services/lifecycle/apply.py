"""Carry a plan of gc out in steps, each one transaction: it can be stopped anywhere, and taken back."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TypeVar

import orjson

from ragmem.domain.model import State
from ragmem.domain.model.lifecycle import LifecyclePolicy
from ragmem.errors import BackendError, UsageError
from ragmem.ports import Store
from ragmem.services.ingestion.archiving import OutdatedError, irreplaceable, new_run, take_out
from ragmem.services.ingestion.index import index_pending, waiting_on
from ragmem.services.ingestion.prefetch import reading_of
from ragmem.services.lifecycle.items import TEMPLATE, UNFINISHED, Item, Plan, seen
from ragmem.services.lifecycle.marks import supersede
from ragmem.services.lifecycle.merging import Merger
from ragmem.services.lifecycle.outcome import Outcome
from ragmem.services.processes.batch_size import BatchSize
from ragmem.services.processes.progress import Progress, Silent
from ragmem.services.processes.worker_pool import WorkerPool
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import Removal
from ragmem.storage.lifecycle.gc_runs import GcChange
from ragmem.storage.sql.batches import batches

T = TypeVar("T")

BATCH, MOST = 400, 2000
"""Memories that are archived in one transaction: at least, and at most."""

MANY = 500
"""Memories whose texts other processes read; for fewer they would take longer to start."""

LIVES = 2000
"""Lives that are changed in one transaction."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What every step needs."""

    catalog: Catalog
    store: Store
    policy: LifecyclePolicy
    now: datetime
    run: str
    late: Callable[[], bool]
    progress: Progress
    workers: int


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
    workers: int = 1,
    progress: Progress | None = None,
) -> Outcome:
    """Carry out a plan; every step is one transaction, and the run can be undone.

    What has changed since the plan was made is skipped. A merged memory is durable and indexed before its
    originals go. `outcome` is filled as things are done, for who interrupts; after `budget_s` seconds the
    rest is left to the next run. The texts of many merged memories are read in so many processes. Raises
    UsageError when more than half of what is searched would go and nobody allowed it.
    """
    if decided.large and not allow_large:
        raise UsageError(
            f"this would remove {decided.leaving} of {decided.searched or decided.memories} memories",
            hint="is a disk missing? `ragmem gc --dry-run` shows what would go, and why",
        )
    done = outcome or Outcome()
    acting = decided.acting()
    if acting and any(item.action not in {"drop", "mend"} for item in acting):
        done.run = new_run("gc", now, sorted(item.id for item in acting))
        catalog.gc_runs.begin(done.run, caller=caller, now=now)
    until = None if budget_s is None else time.monotonic() + budget_s
    tools = Tools(
        catalog,
        store,
        policy,
        now,
        done.run,
        lambda: until is not None and time.monotonic() > until,
        progress or Silent(),
        workers,
    )
    tools.progress.begin("collecting", len(acting))
    for step in (_settle, _remove, _supersede, _merge, _archive, _live):
        step(tools, decided, done)
        if done.stopped:
            break
    if not done.stopped and any(decided.sweep.values()):
        done.swept = dict(store.sweep())
    if done.run:
        catalog.gc_runs.end(done.run, now=now)
    if done.changed or done.dropped or done.mended:
        catalog.log.write("gc", done.logged(), now=now)
    return done


def _settle(tools: Tools, decided: Plan, done: Outcome) -> None:
    dropping = decided.ids("drop")
    for batch in batches(dropping, BATCH):
        tools.store.delete(batch)
        done.dropped += len(batch)
        tools.progress.advance(len(batch))
    mending = decided.ids("mend")
    if mending:
        leaving = waiting_on(tools.catalog).difference(mending)
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
    """Index what waits but for these; return why it has to wait on where no vectors can be had, if so."""
    try:
        index_pending(catalog, store, leaving=leaving, processes=processes)
    except BackendError as error:
        return error.told
    return ""


def _remove(tools: Tools, decided: Plan, done: Outcome) -> None:
    done.removed = _take(tools, decided, [item for item in decided.items if item.action == "remove"], done)
    # Before what took their place can be merged away.
    items = [item for item in decided.items if item.action == "archive" and item.rule == TEMPLATE]
    done.archived += _take(tools, decided, sorted(items, key=lambda item: not item.others), done)


def _archive(tools: Tools, decided: Plan, done: Outcome) -> None:
    items = [item for item in decided.items if item.action == "archive" and item.rule != TEMPLATE]
    done.archived += _take(tools, decided, items, done)


def _take(tools: Tools, decided: Plan, items: Sequence[Item], done: Outcome) -> int:
    gone = 0
    for batch in _in_time(tools, items, BatchSize(BATCH, MOST), done):
        wanted = {item.id: item for item in batch}
        while wanted:
            try:
                taken = take_out(
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


def _removals(tools: Tools, decided: Plan, items: Collection[Item]) -> list[Removal]:
    """Return what goes, as it is now; raises OutdatedError for what has changed since it was decided."""
    entries = tools.catalog.lives.some([item.id for item in items], policy=tools.policy)
    hashes = tools.catalog.memories.hashes(item.others[0] for item in items if item.others)
    standing = irreplaceable(tools.catalog, [item.id for item in items if item.rule == UNFINISHED])
    outdated = {
        item.id
        for item in items
        if item.id not in entries
        or item.id in standing
        or seen(entries[item.id]) != item.seen
        or (item.others and hashes.get(item.others[0]) != decided.hashes.get(item.others[0]))
    }
    if outdated:
        raise OutdatedError(outdated)
    return [
        Removal(entries[item.id].memory, item.rule, item.reason, item.others[0] if item.others else "")
        for item in items
    ]


def _supersede(tools: Tools, decided: Plan, done: Outcome) -> None:
    items = [item for item in decided.items if item.action == "supersede"]
    for batch in _in_time(tools, items, BatchSize(BATCH, BATCH), done):
        with tools.catalog.database.write():
            standing = _unchanged(tools, batch, done)
            done.superseded += supersede(tools.catalog, tools.run, standing, now=tools.now)


def _merge(tools: Tools, decided: Plan, done: Outcome) -> None:
    items = {item.id: item for item in decided.items if item.action == "merge"}
    merger = Merger(
        tools.catalog, tools.store, policy=tools.policy, run=tools.run, now=tools.now, items=items
    )
    with WorkerPool(tools.workers if len(decided.merges) >= MANY else 1) as processes:
        readings = processes.spread(
            partial(reading_of, redactor=tools.catalog.redactor),
            [(one.memory, one.chunks) for one in decided.merges],
        )
        for batch in _in_time(tools, decided.merges, Merger.pace(), done):
            made, merged = merger.merge(batch, islice(readings, len(batch)))
            done.made += made
            done.merged += merged
            if merger.note:
                done.note = done.note or merger.note
                break
    done.skipped += merger.skipped


def _live(tools: Tools, decided: Plan, done: Outcome) -> None:
    items = [
        item
        for item in decided.items
        if item.action in {"promote", "reprieve"} or (item.action == "keep" and item.life)
    ]
    for batch in _in_time(tools, items, BatchSize(LIVES, LIVES), done):
        with tools.catalog.database.write():
            standing = _unchanged(tools, batch, done)
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


def _unchanged(tools: Tools, items: Sequence[Item], done: Outcome) -> list[Item]:
    """Return those whose memory is as it was when they were decided, and count the others."""
    entries = tools.catalog.lives.some([item.id for item in items], policy=tools.policy)
    standing = [item for item in items if item.id in entries and seen(entries[item.id]) == item.seen]
    done.skipped += len(items) - len(standing)
    return standing


def _in_time(tools: Tools, items: Sequence[T], pace: BatchSize, done: Outcome) -> Iterator[Sequence[T]]:
    """Yield the items in batches while there is time; tell when it is up."""
    for batch in pace.batches(items):
        if tools.late():
            done.stopped = True
            return
        yield batch
        tools.progress.advance(len(batch))
