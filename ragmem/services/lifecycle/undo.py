"""Restore archived memories: one of them, or all that a run of gc archived and changed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice

import orjson

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Chunk, Memory, as_pending
from ragmem.domain.model.lifecycle import Approval, LifecyclePolicy, LifecycleState
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import NotFoundError, UsageError
from ragmem.ports import Store
from ragmem.services.ingestion.archive import archive_memories, irreplaceable_ids
from ragmem.services.ingestion.classify import chunks_of
from ragmem.services.ingestion.index import OutdatedError, deferred_ids
from ragmem.services.lifecycle.apply import MANY, finish
from ragmem.services.processes.batch_size import BatchSize
from ragmem.services.processes.worker_pool import WorkerPool
from ragmem.storage.fulltext.terms import Analysed
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.archive import ArchiveEntry, ArchiveRun, Removal
from ragmem.storage.lifecycle.lifecycle_state import LifeRow
from ragmem.storage.lifecycle.supersessions import Supersession
from ragmem.storage.memories.memories import MIN_PREFIX, words_of
from ragmem.storage.sql.batches import batches

BATCH, MOST = 200, 2000
"""Minimum and maximum memories that are restored in one transaction."""
UNDONE = "undone"
"""The rule for a merged memory whose originals are restored."""

RESTORED = "restored from the archive"


@dataclass(frozen=True, slots=True)
class UndoResult:
    """The result of an undo: the run, and the numbers of restored and still archived memories.

    Those in `left` exist again with another text. `kept` counts cards and merged memories that stay, because
    they were changed, pinned or recalled since, or their originals were purged. `note` says why vectors have
    to wait. `reverted` counts the memories whose supersession or state is as before the run.
    """

    run: str
    restored: int
    left: int = 0
    kept: int = 0
    note: str = ""
    reverted: int = 0


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
    """Undo a run, by default the latest one that was not undone.

    Archived memories are restored, merged ones are archived, and changes of lives and supersessions are
    reverted unless something else has changed them since. An interrupted undo is finished by calling it
    again. The texts of many memories are read in `workers` processes. Raises NotFoundError for a run that
    changed nothing.
    """
    target = _choose(catalog, run)
    adopt_run(catalog, target)
    restored = 0
    leaving = deferred_ids(catalog)
    archived = [item for item in catalog.archive.of(target) if item.rule != UNDONE]
    with WorkerPool(workers if len(archived) >= MANY else 1) as processes:
        read = processes.map(
            partial(_chunk_memory, sizes=sizes, redactor=catalog.redactor), [item.memory for item in archived]
        )
        pace = BatchSize(BATCH, MOST)
        for batch in pace.batches(archived):
            restored += _restore_batch(catalog, target, batch, list(islice(read, len(batch))))
        note = finish(catalog, store, leaving=leaving, processes=processes if processes.workers > 1 else None)
    kept = _archive_merged(catalog, store, target, policy=policy, now=now)
    left = sum(item.rule != UNDONE for item in catalog.archive.of(target))
    with catalog.database.write():
        reverted = _restore_supersessions(catalog, target) | _restore_lives(catalog, target, now=now)
        connected = catalog.gc_runs.changes(target, "connected")
        catalog.connections.put_back({change.id: change.before for change in connected})
        catalog.gc_runs.forget_changes(target)
        catalog.gc_runs.undo(target, now=now)
        catalog.log.write("undo", {"run": target, "restored": restored}, now=now)
    return UndoResult(target, restored, left, kept, note, len(reverted))


def undoable_runs(catalog: Catalog) -> list[ArchiveRun]:
    """Return the runs that can be undone, latest first."""
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
    changing = ("supersede/", "mark/", "promote/", "reprieve/", "make/", "keep/")
    return isinstance(counts, dict) and any(
        count and name.startswith(changing) for name, count in counts.items()
    )


def _choose(catalog: Catalog, run: str) -> str:
    runs = undoable_runs(catalog)
    chosen = [one for one in runs if not run or one.run == run]
    if chosen:
        return chosen[0].run
    if not run:
        raise NotFoundError("there is no gc run to undo", hint="`ragmem gc --history` lists what was done")
    known = ", ".join(one.run for one in runs) or "none"
    raise NotFoundError(f'there is no gc run "{run}"', hint=f"runs that can be undone: {known}")


@dataclass(frozen=True, slots=True)
class _ChunkedMemory:
    """A memory's chunks and their words."""

    chunks: tuple[Chunk, ...]
    words: tuple[Analysed, ...]


def _chunk_memory(memory: Memory, sizes: ChunkingSettings, redactor: Redactor) -> _ChunkedMemory:
    chunks = chunks_of(memory, sizes, redactor=redactor)
    return _ChunkedMemory(chunks, tuple(words_of(memory, chunks)))


def _restore_batch(
    catalog: Catalog, run: str, items: Sequence[ArchiveEntry], read: Sequence[_ChunkedMemory]
) -> int:
    """Restore memories in one transaction; those that exist again with another text stay archived."""
    with catalog.database.write():
        present = catalog.memories.hashes(item.memory.id for item in items)
        back = [
            (as_pending(item.memory), one)
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


def _archive_merged(
    catalog: Catalog, store: Store, run: str, *, policy: LifecyclePolicy, now: datetime
) -> int:
    """Archive the memories that a run merged; return how many stay.

    Those stay that were edited or used since, and those whose originals are not restored.
    """
    # A home that was moved from elsewhere knows the members of a merge, but not its text at that time.
    made = dict.fromkeys(catalog.gc_runs.merged_memories(run), "")
    made |= {change.id: change.after for change in catalog.gc_runs.changes(run, "made")}

    def kept_ids(ids: Sequence[str]) -> set[str]:
        entries = catalog.lives.find_entries(ids, policy=policy)
        return irreplaceable_ids(catalog, ids) | {
            key
            for key, entry in entries.items()
            if made[key] not in {"", entry.memory.content_hash}
            or entry.pinned
            or entry.sessions
            or entry.feedback > 0
        }

    kept = kept_ids(list(made))
    present = catalog.memories.hashes(made)
    for batch in batches([key for key in made if key in present and key not in kept], BATCH):

        def removals(batch: Sequence[str] = batch) -> list[Removal]:
            if changed := kept_ids(batch):
                raise OutdatedError(changed)
            return [
                Removal(memory, UNDONE, "its originals are back")
                for memory in catalog.memories.get(batch).values()
            ]

        try:
            archive_memories(catalog, store, run, batch, removals=removals, now=now, action="unmake")
        except OutdatedError:
            # Rare enough to skip the batch: a merged memory beside its originals does no harm.
            kept |= set(batch)
    return len(kept)


def _restore_supersessions(catalog: Catalog, run: str) -> set[str]:
    changes = {change.id: change for change in catalog.gc_runs.changes(run, "superseded")}
    now = {one.older: one.newer for one in catalog.supersessions.of(changes)}
    ours = [change for key, change in changes.items() if now.get(key) == change.after]
    catalog.supersessions.drop(change.id for change in ours)
    catalog.supersessions.put(_supersession(change.before) for change in ours if change.before)
    # A home that was moved from elsewhere knows the members of a merge, but not the changes of the run.
    made = catalog.gc_runs.merged_memories(run)
    gone = made.keys() - catalog.memories.hashes(made).keys()
    members = {one for key in gone for one in made[key]}
    catalog.supersessions.drop(one.older for one in catalog.supersessions.of(members) if one.newer in gone)
    return {change.id for change in ours}


def _supersession(text: str) -> Supersession:
    value = orjson.loads(text)
    moments = {key: datetime.fromisoformat(value[key]) for key in ("older_at", "newer_at", "made_at")}
    return Supersession(**(value | moments))


def _restore_lives(catalog: Catalog, run: str, *, now: datetime) -> set[str]:
    changes = {change.id: change for change in catalog.gc_runs.changes(run, "life")}
    rows = catalog.lives.of(changes)
    back = []
    for key, change in changes.items():
        row, after = rows.get(key), _life(key, change.after)
        if row is not None and _decision_state(row) == _decision_state(after):
            before = _life(key, change.before)
            back.append(
                replace(
                    before,
                    pinned=row.pinned,
                    feedback=row.feedback,
                    approval=row.approval,
                    reason=before.reason or "as it came in",
                )
            )
    catalog.lives.put(back, now=now)
    return {row.id for row in back}


def _life(identifier: str, text: str) -> LifeRow:
    if not text:
        return LifeRow(identifier)
    value = orjson.loads(text)
    value["life"] = LifecycleState(value["life"]) if value["life"] else None
    # A run of an earlier release knows no approval.
    return LifeRow(**(value | {"approval": Approval(value.get("approval", ""))}))


def _decision_state(row: LifeRow) -> tuple[LifecycleState | None, int, int]:
    return row.life, row.reprieves, row.checked_age


def restore(
    catalog: Catalog, store: Store, prefix: str, *, sizes: ChunkingSettings, now: datetime
) -> tuple[ArchiveEntry, str]:
    """Restore one memory as it was archived last; return it, and why its vectors have to wait, or "".

    It is proven from now on, because somebody wanted it: it neither ages nor folds, and no rule archives
    it again. Raises NotFoundError if it is not in the archive, UsageError if it exists with another text.
    """
    found = _in_archive(catalog, prefix)
    leaving = deferred_ids(catalog)
    with catalog.database.write():
        item = catalog.archive.latest([found]).get(found)
        if item is None:
            raise NotFoundError(
                f'the archive has no memory "{prefix}"', hint="`ragmem gc --history` lists the runs"
            )
        present = catalog.memories.hashes([found]).get(found)
        if present is not None and present != item.memory.content_hash:
            raise UsageError(
                f'"{item.memory.short_id}" has a newer text, stored from the same place',
                hint=f"see it: ragmem inspect memory {item.memory.short_id}",
            )
        adopt_run(catalog, item.run)
        _restore_batch(
            catalog, item.run, [item], [_chunk_memory(item.memory, sizes, redactor=catalog.redactor)]
        )
        row = catalog.lives.of([found]).get(found, LifeRow(found))
        life = LifecycleState.PROVEN if row.life is not LifecycleState.PERMANENT else row.life
        catalog.lives.put([replace(row, life=life, reprieves=0, checked_age=0, reason=RESTORED)], now=now)
        catalog.supersessions.drop([found])
        catalog.log.write("restore", {"run": item.run, "restored": 1}, now=now)
    return item, finish(catalog, store, leaving=leaving)


def _in_archive(catalog: Catalog, prefix: str) -> str:
    wanted = prefix.strip().lower()
    found = catalog.archive.ids_with_prefix(wanted) if len(wanted) >= MIN_PREFIX and wanted.isalnum() else []
    if not found:
        raise _unknown(prefix)
    if len(found) > 1:
        raise NotFoundError(
            f'several memories in the archive have ids that start with "{prefix}"',
            hint="use a longer prefix",
        )
    return found[0]


def _unknown(prefix: str) -> NotFoundError:
    return NotFoundError(
        f'the archive has no memory "{prefix}"',
        hint="`ragmem gc --history` lists the runs, `ragmem gc --undo --run RUN` takes one back",
    )


def adopt_run(catalog: Catalog, run: str) -> None:
    """Record a run of an early release without a list of runs, before a part of it leaves the archive."""
    if catalog.gc_runs.of(run) is None:
        for known in catalog.archive.runs():
            if known.run == run:
                catalog.gc_runs.begin(run, caller="gc", now=known.at)
                catalog.gc_runs.add(run, {}, archived=known.memories)
                catalog.gc_runs.end(run, now=known.at)
