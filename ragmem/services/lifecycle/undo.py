"""Bring back what is in the archive: one memory, or all that a run of gc took out and changed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice

import orjson

from ragmem.config import ChunkingSettings
from ragmem.domain.model import Memory, State
from ragmem.domain.model.lifecycle import LifecyclePolicy, LifecycleState
from ragmem.errors import NotFoundError, UsageError
from ragmem.ports import Store
from ragmem.services.ingestion.archiving import OutdatedError, irreplaceable, take_out
from ragmem.services.ingestion.index import waiting_on
from ragmem.services.ingestion.prefetch import Cut, chunk_memory
from ragmem.services.lifecycle.apply import MANY, finish
from ragmem.services.processes.batch_size import BatchSize
from ragmem.services.processes.worker_pool import WorkerPool
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import ArchiveEntry, ArchiveRun, Removal
from ragmem.storage.lifecycle.lifecycle_state import LifeRow
from ragmem.storage.lifecycle.supersessions import Supersession
from ragmem.storage.memories.memories import MIN_PREFIX
from ragmem.storage.sql.batches import batches

BATCH, MOST = 200, 2000
"""Memories that come back in one transaction: at least, and at most."""
UNDONE = "undone"
"""The rule for a merged memory whose originals are back."""

RESTORED = "restored from the archive"


@dataclass(frozen=True, slots=True)
class UndoResult:
    """What was taken back: the run, how many memories came back, and how many lie in the archive still.

    Those that stay there were stored anew meanwhile with another text. `kept` counts merged memories that
    stay, because they were changed, pinned or recalled since, or their originals were purged. `note` says why
    vectors have to wait, if any.
    """

    run: str
    restored: int
    left: int = 0
    kept: int = 0
    note: str = ""


def undo(
    catalog: Catalog,
    store: Store,
    *,
    sizes: ChunkingSettings,
    policy: LifecyclePolicy,
    run: str = "",
    now: datetime,
    workers: int = 1,
) -> UndoResult:
    """Take a run back, the latest that was not taken back when none is named.

    What it archived comes back, what it merged goes to the archive, and what it changed of lives and of what
    is superseded is as before, where nothing else has changed it since. It may be interrupted, and is
    finished by undoing once more. The texts of many memories are read in so many processes. Raises
    NotFoundError for a run that took and changed nothing.
    """
    target = _choose(catalog, run)
    adopt(catalog, target)
    restored = 0
    leaving = waiting_on(catalog)
    archived = [item for item in catalog.archive.of(target) if item.rule != UNDONE]
    with WorkerPool(workers if len(archived) >= MANY else 1) as processes:
        read = processes.spread(
            partial(chunk_memory, sizes=sizes, redactor=catalog.redactor), [item.memory for item in archived]
        )
        pace = BatchSize(BATCH, MOST)
        for batch in pace.batches(archived):
            restored += _bring_back(catalog, target, batch, list(islice(read, len(batch))))
        note = finish(catalog, store, leaving=leaving, processes=processes if processes.workers > 1 else None)
    kept = _unmake(catalog, store, target, policy=policy, now=now)
    left = sum(item.rule != UNDONE for item in catalog.archive.of(target))
    with catalog.database.write():
        _superseded_as_before(catalog, target)
        _lives_as_before(catalog, target, now=now)
        connected = catalog.gc_runs.changes(target, "connected")
        catalog.connections.put_back({change.id: change.before for change in connected})
        catalog.gc_runs.forget_changes(target)
        catalog.gc_runs.undo(target, now=now)
        catalog.log.write("undo", {"run": target, "restored": restored}, now=now)
    return UndoResult(target, restored, left, kept, note)


def undoable(catalog: Catalog) -> list[ArchiveRun]:
    """Return the runs that can be taken back, latest first."""
    known = {one.run: one for one in catalog.gc_runs.latest()}
    lying = {one.run: one for one in catalog.archive.runs()}
    runs = [one for one in lying.values() if one.run not in known or known[one.run].undone is None]
    runs += [
        ArchiveRun(one.run, one.started, 0)
        for one in known.values()
        if one.run not in lying and one.undone is None and _changed_something(one.counts)
    ]
    return sorted(runs, key=lambda one: (one.at, one.run), reverse=True)


def _changed_something(counts: object) -> bool:
    changing = ("supersede/", "promote/", "reprieve/", "make/", "keep/")
    return isinstance(counts, dict) and any(
        count and name.startswith(changing) for name, count in counts.items()
    )


def _choose(catalog: Catalog, run: str) -> str:
    runs = undoable(catalog)
    chosen = [one for one in runs if not run or one.run == run]
    if chosen:
        return chosen[0].run
    if not run:
        raise NotFoundError("there is no gc run to undo", hint="`ragmem gc --history` lists what was done")
    known = ", ".join(one.run for one in runs) or "none"
    raise NotFoundError(f'there is no gc run "{run}"', hint=f"runs that can be undone: {known}")


def _bring_back(catalog: Catalog, run: str, items: Sequence[ArchiveEntry], read: Sequence[Cut]) -> int:
    """Take memories out of the archive in one transaction; where another text is by now, one stays there."""
    with catalog.database.write():
        present = catalog.memories.hashes(item.memory.id for item in items)
        back = [
            (revive(item.memory), one)
            for item, one in zip(items, read, strict=True)
            if item.memory.id not in present
        ]
        same = [item.memory.id for item in items if present.get(item.memory.id) == item.memory.content_hash]
        catalog.memories.accept(
            [(memory, one.chunks) for memory, one in back],
            words={memory.id: one.words for memory, one in back},
        )
        leaving = [*(memory.id for memory, _ in back), *same]
        catalog.archive.drop(run, leaving)
        catalog.gc_runs.add(run, {}, archived=-len(leaving))
    return len(back)


def revive(memory: Memory) -> Memory:
    """Return an archived memory as it comes back: to be indexed, unless it never was."""
    return memory if memory.state is State.BUFFERED else replace(memory, state=State.PENDING)


def _unmake(catalog: Catalog, store: Store, run: str, *, policy: LifecyclePolicy, now: datetime) -> int:
    """Archive the memories that a run merged; return how many stay.

    Those do that somebody made their own, and those whose originals are not back.
    """
    # A memory that was moved from elsewhere knows what was merged from what, but not what it said then.
    made = dict.fromkeys(catalog.gc_runs.merged(run), "")
    made |= {change.id: change.after for change in catalog.gc_runs.changes(run, "made")}

    def staying(ids: Sequence[str]) -> set[str]:
        entries = catalog.lives.some(ids, policy=policy)
        return irreplaceable(catalog, ids) | {
            key
            for key, entry in entries.items()
            if made[key] not in {"", entry.memory.content_hash}
            or entry.pinned
            or entry.sessions
            or entry.feedback > 0
        }

    kept = staying(list(made))
    present = catalog.memories.hashes(made)
    for batch in batches([key for key in made if key in present and key not in kept], BATCH):

        def removals(batch: Sequence[str] = batch) -> list[Removal]:
            if changed := staying(batch):
                raise OutdatedError(changed)
            return [
                Removal(memory, UNDONE, "its originals are back")
                for memory in catalog.memories.get(batch).values()
            ]

        try:
            take_out(catalog, store, run, batch, removals=removals, now=now, action="unmake")
        except OutdatedError:
            # Rare enough to leave the batch as it is: a merged memory beside its originals loses nothing.
            kept |= set(batch)
    return len(kept)


def _superseded_as_before(catalog: Catalog, run: str) -> None:
    changes = {change.id: change for change in catalog.gc_runs.changes(run, "superseded")}
    now = {one.older: one.newer for one in catalog.supersessions.of(changes)}
    ours = [change for key, change in changes.items() if now.get(key) == change.after]
    catalog.supersessions.drop(change.id for change in ours)
    catalog.supersessions.put(_supersession(change.before) for change in ours if change.before)
    # A memory that was moved from elsewhere does not know what the run changed, but what it merged from what.
    made = catalog.gc_runs.merged(run)
    gone = made.keys() - catalog.memories.hashes(made).keys()
    members = {one for key in gone for one in made[key]}
    catalog.supersessions.drop(one.older for one in catalog.supersessions.of(members) if one.newer in gone)


def _supersession(text: str) -> Supersession:
    value = orjson.loads(text)
    moments = {key: datetime.fromisoformat(value[key]) for key in ("older_at", "newer_at", "made_at")}
    return Supersession(**(value | moments))


def _lives_as_before(catalog: Catalog, run: str, *, now: datetime) -> None:
    changes = {change.id: change for change in catalog.gc_runs.changes(run, "life")}
    rows = catalog.lives.of(changes)
    back = []
    for key, change in changes.items():
        row, after = rows.get(key), _life(key, change.after)
        if row is not None and _decisions(row) == _decisions(after):
            before = _life(key, change.before)
            back.append(
                replace(
                    before, pinned=row.pinned, feedback=row.feedback, reason=before.reason or "as it came in"
                )
            )
    catalog.lives.put(back, now=now)


def _life(identifier: str, text: str) -> LifeRow:
    if not text:
        return LifeRow(identifier)
    value = orjson.loads(text)
    return LifeRow(**(value | {"life": LifecycleState(value["life"]) if value["life"] else None}))


def _decisions(row: LifeRow) -> tuple[LifecycleState | None, int, int]:
    return row.life, row.reprieves, row.checked_age


def restore(
    catalog: Catalog, store: Store, prefix: str, *, sizes: ChunkingSettings, now: datetime
) -> tuple[ArchiveEntry, str]:
    """Bring one memory back, as it was archived last; return it, and why its vectors have to wait, if so.

    It is proven from now on, since somebody wanted it: it neither ages nor is merged, and no rule takes it
    out again by itself. Raises NotFoundError for what is not in the archive, UsageError where another text
    stands in its place.
    """
    found = _in_archive(catalog, prefix)
    leaving = waiting_on(catalog)
    with catalog.database.write():
        item = catalog.archive.latest([found]).get(found)
        if item is None:
            raise NotFoundError(
                f'the archive has no memory "{prefix}"', hint="`ragmem gc --history` lists the runs"
            )
        present = catalog.memories.hashes([found]).get(found)
        if present is not None and present != item.memory.content_hash:
            raise UsageError(
                f'"{item.memory.short_id}" has another text by now, which was stored at the same place',
                hint=f"look at it: ragmem inspect memory {item.memory.short_id}",
            )
        adopt(catalog, item.run)
        _bring_back(catalog, item.run, [item], [chunk_memory(item.memory, sizes, redactor=catalog.redactor)])
        row = catalog.lives.of([found]).get(found, LifeRow(found))
        life = LifecycleState.PROVEN if row.life is not LifecycleState.PERMANENT else row.life
        catalog.lives.put([replace(row, life=life, reprieves=0, checked_age=0, reason=RESTORED)], now=now)
        catalog.supersessions.drop([found])
        catalog.log.write("restore", {"run": item.run, "restored": 1}, now=now)
    return item, finish(catalog, store, leaving=leaving)


def _in_archive(catalog: Catalog, prefix: str) -> str:
    wanted = prefix.strip().lower()
    found = catalog.archive.beginning(wanted) if len(wanted) >= MIN_PREFIX and wanted.isalnum() else []
    if not found:
        raise _unknown(prefix)
    if len(found) > 1:
        raise NotFoundError(
            f'several memories in the archive have ids that start with "{prefix}"',
            hint="give more characters",
        )
    return found[0]


def _unknown(prefix: str) -> NotFoundError:
    return NotFoundError(
        f'the archive has no memory "{prefix}"',
        hint="`ragmem gc --history` lists the runs, `ragmem gc --undo --run RUN` takes one back",
    )


def adopt(catalog: Catalog, run: str) -> None:
    """Write down a run of a release that kept no list of them, before a part of it leaves the archive."""
    if catalog.gc_runs.of(run) is None:
        for known in catalog.archive.runs():
            if known.run == run:
                catalog.gc_runs.begin(run, caller="gc", now=known.at)
                catalog.gc_runs.add(run, {}, archived=known.memories)
                catalog.gc_runs.end(run, now=known.at)
