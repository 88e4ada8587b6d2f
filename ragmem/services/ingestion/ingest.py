"""Store drafts one by one or in bulk: durable at once, indexed right after."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal

from ragmem.config.settings import ChunkingSettings, SignalRule
from ragmem.domain.model import Draft, Memory, State
from ragmem.domain.model.document_place import is_of_document
from ragmem.errors import BackendError, RejectionError, StorageError, StoreBusyError
from ragmem.frozen import dataclass
from ragmem.ports import Store
from ragmem.readers.failures import isolate_failures
from ragmem.services.ingestion.classify import ClassifiedMemory, classify_draft
from ragmem.services.ingestion.entities import Item, clear_extractions
from ragmem.services.ingestion.entity_names import collect_names
from ragmem.services.ingestion.index import (
    BATCH,
    index,
    index_pending,
    pack,
    records_of,
)
from ragmem.services.ingestion.options import keep_given
from ragmem.services.ingestion.scope import assign_ids
from ragmem.services.processes.progress import Progress
from ragmem.services.processes.refusals import Refusal
from ragmem.storage.activity.storing_runs import storing_run
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.memories import DEFERRED_SOURCES, fingerprint
from ragmem.storage.sql.batches import text_batches

BACKLOG_LIMIT = 2 * BATCH
"""Number of pending memories that an ingest finishes: a hook has no time for thousands."""

DRAFT_CHARACTERS = 400_000
"""Characters of drafts that are stored together. Fewer cost more: a name that a later batch changes has the
memories with it indexed again."""

_AT_WORK: set[str] = set()
"""Ids of the memories that a call of this process is indexing now; another call leaves them to it."""

Change = Literal["new", "changed", "unchanged", "archived"]


HANDED_IN_AGAIN = "ingested again after it was archived"


@dataclass(frozen=True, slots=True)
class IngestResult:
    """The result for one draft."""

    memory: Memory
    because: str
    """Why it has its tier."""
    change: Change
    note: str = ""
    """Why it is stored but not indexed yet; empty if it is indexed."""

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    @property
    def run(self) -> str:
        """The name of the run that stored it ("" for none); see `storage.activity.storing_runs`."""
        return "" if self.change == "unchanged" else storing_run(self.memory.updated_at)


def ingest(
    catalog: Catalog,
    open_store: Callable[[], Store],
    drafts: Sequence[Draft],
    *,
    now: datetime,
    sizes: ChunkingSettings,
    progress: Progress,
    rule: SignalRule = "judge",
    refusals: list[Refusal] | None = None,
    proposed: bool = False,
) -> list[IngestResult]:
    """Store drafts from a person or an assistant; those that are `proposed` wait for an approval.

    A draft with a low signal stays in the buffer, where full text finds it, unless `rule` is "off". Each
    batch is durable before its vectors and graph are made; without a model it stays pending, its note says
    why, and a later seed or ingest finishes it. An unchanged draft is classified, and changes nothing.

    A draft that a rule, the database or the model rejects stops no other: `refusals` gets it, and it has no
    result unless it is stored. Without `refusals` it is an error, raised after the others are stored.
    """
    results: list[IngestResult] = []
    refused: list[Refusal] = []
    try:
        _ingest(
            catalog,
            open_store,
            drafts,
            results,
            refused,
            now=now,
            sizes=sizes,
            progress=progress,
            rule=rule,
            proposed=proposed,
        )
    except (StorageError, StoreBusyError) as error:
        if not results:
            raise
        kept = f"{len(results):,} of {len(drafts):,} texts were stored before"
        raise type(error)(f"{error}; {kept}", hint=error.hint) from error
    pack(catalog, sum(one.change != "unchanged" and not one.note for one in results))
    if refused and refusals is None:
        more = f", and {len(refused) - 1:,} more" if len(refused) > 1 else ""
        raise RejectionError(f"{refused[0].message}{more}", hint="the others are stored; please report it")
    if refusals is not None:
        refusals += refused
    return results


def _ingest(
    catalog: Catalog,
    open_store: Callable[[], Store],
    drafts: Sequence[Draft],
    results: list[IngestResult],
    refused: list[Refusal],
    *,
    now: datetime,
    sizes: ChunkingSettings,
    progress: Progress,
    rule: SignalRule,
    proposed: bool,
) -> None:
    note, indexed = "", False

    def judge_all(batch: Sequence[Draft]) -> None:
        judged.extend(
            [
                classify_draft(
                    draft,
                    now=now,
                    sizes=sizes,
                    rule=signal_rule(draft, rule),
                    redactor=catalog.redactor,
                )
                for draft in batch
            ]
        )

    progress.begin("ingest", len(drafts))
    for some in text_batches(drafts, lambda draft: len(draft.text), most=BATCH, characters=DRAFT_CHARACTERS):
        batch = keep_given(catalog, assign_ids(catalog, some))
        judged: list[ClassifiedMemory] = []
        refused += [Refusal.of(draft, reason) for draft, reason in isolate_failures(batch, judge_all)]
        changes, redated = compare(catalog, judged)
        if redated:
            catalog.memories.redate(redated)
        fresh = [item for item, change in zip(judged, changes, strict=True) if change != "unchanged"]
        rejected: dict[str, Refusal] = {}
        if fresh:
            back = catalog.archive.removed_ids(
                [item.memory for item, change in zip(judged, changes, strict=True) if change == "new"]
            )
            # If a model did not answer for one batch, the other batches do not wait for it again.
            note, rejected = _accept(catalog, open_store, fresh, now=now, down=note, proposed=proposed)
            refused += rejected.values()
            back -= {key for key, one in rejected.items() if not one.is_stored}
            if back:
                catalog.lives.postpone(back, reason=HANDED_IN_AGAIN, now=now)
            indexed = not note
        if not proposed:
            catalog.approvals.accept_by_hand([item.memory.id for item in judged], now=now)
        for item, change in zip(judged, changes, strict=True):
            refusal = rejected.get(item.memory.id)
            if refusal is not None and not refusal.is_stored:
                continue
            done = item.memory.state is State.PENDING and not note and refusal is None
            memory = replace(item.memory, state=State.INDEXED) if done else item.memory
            waits = note if item in fresh else ""
            results.append(
                IngestResult(memory, item.signal.reason, change, refusal.message if refusal else waits)
            )
        progress.advance(len(batch))
    if indexed:
        _finish_earlier(catalog, open_store)


def signal_rule(draft: Draft, rule: SignalRule) -> SignalRule:
    """Return the signal rule for a draft: documents are kept completely."""
    return "off" if is_of_document(draft.metadata) else rule


def _finish_earlier(catalog: Catalog, open_store: Callable[[], Store]) -> None:
    """Index some memories that were pending because a model was unavailable, without waiting for a seed.

    A backlog is left to a seed or to the warm process.
    """
    if catalog.memories.has_backlog():
        return
    try:
        index_pending(
            catalog,
            open_store(),
            most=BACKLOG_LIMIT,
            without=DEFERRED_SOURCES,
            leaving=frozenset(_AT_WORK),
        )
    except (BackendError, StorageError, StoreBusyError):
        # It went away again, or the disk is full. The new drafts are indexed; `doctor` reports the rest.
        return


def _accept(
    catalog: Catalog,
    open_store: Callable[[], Store],
    fresh: Sequence[ClassifiedMemory],
    *,
    now: datetime,
    down: str,
    proposed: bool,
) -> tuple[str, dict[str, Refusal]]:
    """Store memories, then index them.

    Return why indexing has to wait, or "", and id -> refusal of the rejected ones.
    """
    waiting: list[Item] = []

    def accept(some: Sequence[ClassifiedMemory]) -> None:
        items = [(item.memory, item.chunks) for item in some]
        names = collect_names(catalog, items)

        def store() -> None:
            with catalog.database.write():
                if proposed:
                    catalog.approvals.propose(memory for memory, _ in items)
                catalog.memories.accept(items)
                catalog.names.learn(names)
                catalog.log.write("ingest", {"memories": len(some)}, now=now)

        if problem := store_without_vectors(catalog, open_store, [memory for memory, _ in items], store):
            unreachable.append(problem)
        waiting.extend(item for item in items if item[0].state is State.PENDING)

    unreachable: list[str] = []
    rejected = {
        item.memory.id: Refusal.of(item.memory, reason) for item, reason in isolate_failures(fresh, accept)
    }
    note = down or next(iter(unreachable), "")
    if waiting and not note:
        ids = [memory.id for memory, _ in waiting]
        _AT_WORK.update(ids)
        try:
            for item, reason in isolate_failures(
                waiting, lambda some: index(catalog, open_store(), records_of(catalog, some))
            ):
                rejected[item[0].id] = Refusal.of(item[0], reason, is_stored=True)
        except (BackendError, StorageError, StoreBusyError) as error:
            # The text is stored and full text finds it; the next seed or gc indexes it.
            note = error.full_message
        finally:
            _AT_WORK.difference_update(ids)
    clear_extractions()
    return note, rejected


def store_without_vectors(
    catalog: Catalog, open_store: Callable[[], Store], memories: Sequence[Memory], finish: Callable[[], None]
) -> str:
    """Remove the newly buffered ones from the store, and finish, in one transaction.

    Without a store, only finish, and return why there is none.
    """
    buffered = [memory.id for memory in memories if memory.state is State.BUFFERED]
    known = catalog.memories.states(buffered)
    faded = [key for key, before in known.items() if before.state is not State.BUFFERED]
    if not faded:
        finish()
        return ""
    try:
        store = open_store()
    except BackendError as error:
        finish()
        return error.full_message
    store.delete(faded, finish=finish)
    return ""


def compare(
    catalog: Catalog,
    judged: Sequence[ClassifiedMemory],
    *,
    leave_archived: bool = False,
    leave_pending: bool = False,
    moved: Collection[str] = (),
) -> tuple[list[Change], dict[str, datetime]]:
    """Return the change of each classified draft compared with the catalog.

    With `leave_archived`, an unknown draft whose text is in the archive counts as archived: memories that the
    lifecycle or a person removed do not come back while their files exist. Those that are pending, without
    `leave_pending`, and those that `moved` to another project count as changed. Also returns id -> event time
    of memories of which only the date has changed.
    """
    known = catalog.memories.states(item.memory.id for item in judged)
    changes: list[Change] = []
    redated: dict[str, datetime] = {}
    unknown = [item.memory for item in judged if item.memory.id not in known]
    archived = catalog.archive.removed_ids(unknown) if leave_archived else set[str]()
    for item in judged:
        before = known.get(item.memory.id)
        if before is None:
            changes.append("archived" if item.memory.id in archived else "new")
        elif (
            before.content_hash != item.memory.content_hash
            or before.fingerprint != fingerprint(item.memory)
            or (before.state is State.PENDING and not leave_pending)
            or item.memory.id in moved
        ):
            changes.append("changed")
        else:
            changes.append("unchanged")
            if item.dated and before.event_time != item.memory.event_time:
                redated[item.memory.id] = item.memory.event_time
    return changes, redated
