"""Store drafts one by one or in bulk: durable at once, indexed right after."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from ragmem.config import ChunkingSettings
from ragmem.config.settings import SignalRule
from ragmem.domain.model import Draft, Memory, State
from ragmem.domain.model.document_place import is_of_document
from ragmem.errors import BackendError, RejectionError, StorageError, StoreBusyError
from ragmem.ports import Store
from ragmem.services.ingestion.archiving import MISSING
from ragmem.services.ingestion.classify import Classified, classify_draft
from ragmem.services.ingestion.entities import Item
from ragmem.services.ingestion.entity_names import collect_names
from ragmem.services.ingestion.index import BATCH, LATER, index, index_pending, records_of
from ragmem.services.ingestion.scope import assign_ids
from ragmem.services.processes.progress import Progress
from ragmem.services.processes.refusals import Refusal, each
from ragmem.storage.activity.storing_runs import storing_run
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.memories import fingerprint

FINISHED_ALONG = 2 * BATCH
"""Memories that wait of which an ingest finishes so many: a hook has no time for thousands."""

Change = Literal["new", "changed", "unchanged", "archived"]


HANDED_IN_AGAIN = "handed in again after it was archived"


@dataclass(frozen=True, slots=True)
class IngestResult:
    """What became of one draft."""

    judged: Classified
    change: Change
    note: str = ""
    """Why it is stored but not indexed yet; empty when it is."""

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.judged.memory.id

    @property
    def run(self) -> str:
        """The name of the run that stored it, empty where nothing was stored.

        See `storage.activity.storing_runs`.
        """
        return "" if self.change == "unchanged" else storing_run(self.judged.memory.updated_at)


def ingest(
    catalog: Catalog,
    open_store: Callable[[], Store],
    drafts: Sequence[Draft],
    *,
    now: datetime,
    sizes: ChunkingSettings,
    progress: Progress,
    rule: SignalRule = "graded",
    refusals: list[Refusal] | None = None,
) -> list[IngestResult]:
    """Store drafts that a person or an assistant hands over; nothing is refused at the door.

    A draft of low signal stays in the buffer, where full text finds it, unless `rule` is "off". Each batch is
    durable before its vectors and graph are made; when no model can be had they stay pending, their note says
    why, and a later seed or ingest finishes them. An unchanged draft costs nothing.

    A draft that a rule, the database or the model rejects stops no other: `refusals` gets it, and it has no
    result unless it is stored. Without `refusals` it is an error, raised once the others are stored.
    """
    results: list[IngestResult] = []
    refused: list[Refusal] = []
    try:
        _ingest(
            catalog, open_store, drafts, results, refused, now=now, sizes=sizes, progress=progress, rule=rule
        )
    except (StorageError, StoreBusyError) as error:
        if not results:
            raise
        kept = f"{len(results):,} of {len(drafts):,} texts were stored before"
        raise type(error)(f"{error}; {kept}", hint=error.hint) from error
    if refused and refusals is None:
        more = f", and {len(refused) - 1:,} more" if len(refused) > 1 else ""
        raise RejectionError(f"{refused[0].told}{more}", hint="the others are stored; please report it")
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
) -> None:
    note, indexed = "", False

    def judge_all(batch: Sequence[Draft]) -> None:
        judged.extend(
            [
                classify_draft(
                    draft,
                    now=now,
                    sizes=sizes,
                    rule=rule_for(draft, rule),
                    keep_discarded=True,
                    redactor=catalog.redactor,
                )
                for draft in batch
            ]
        )

    progress.begin("ingest", len(drafts))
    for start in range(0, len(drafts), BATCH):
        batch = assign_ids(catalog, drafts[start : start + BATCH])
        judged: list[Classified] = []
        refused += [Refusal.of(draft, reason) for draft, reason in each(batch, judge_all)]
        changes, redated = compare(catalog, judged)
        if redated:
            catalog.memories.redate(redated)
        fresh = [item for item, change in zip(judged, changes, strict=True) if change != "unchanged"]
        rejected: dict[str, Refusal] = {}
        if fresh:
            back = in_archive(
                catalog,
                [item.memory for item, change in zip(judged, changes, strict=True) if change == "new"],
            )
            # A model that did not answer for one batch is not waited for once more with each of the others.
            note, rejected = _accept(catalog, open_store, fresh, now=now, down=note)
            refused += rejected.values()
            back -= {key for key, one in rejected.items() if not one.is_stored}
            if back:
                catalog.lives.respite(back, reason=HANDED_IN_AGAIN, now=now)
            indexed = not note
        for item, change in zip(judged, changes, strict=True):
            refusal = rejected.get(item.memory.id)
            if refusal is not None and not refusal.is_stored:
                continue
            done = item.memory.state is State.PENDING and not note and refusal is None
            memory = replace(item.memory, state=State.INDEXED) if done else item.memory
            waits = note if item in fresh else ""
            results.append(
                IngestResult(replace(item, memory=memory), change, refusal.told if refusal else waits)
            )
        progress.advance(len(batch))
    if indexed:
        _finish_earlier(catalog, open_store)


def rule_for(draft: Draft, rule: SignalRule) -> SignalRule:
    """Return by which rule a draft is judged: of documents, which are not chatter, everything is kept."""
    return "off" if is_of_document(draft.metadata) else rule


def in_archive(catalog: Catalog, memories: Sequence[Memory]) -> set[str]:
    """Return the ids under which the archive has just these texts, unless their source had lost them.

    And those whose text a person forgot, under whatever id and though it may be purged by now.
    """
    found = catalog.archive.latest(memory.id for memory in memories)
    return catalog.memories.forgotten(memories) | {
        memory.id
        for memory in memories
        if memory.id in found
        and found[memory.id].rule != MISSING
        and found[memory.id].memory.content_hash == memory.content_hash
    }


def _finish_earlier(catalog: Catalog, open_store: Callable[[], Store]) -> None:
    """Index some of what waits since a model could not be had: it can be now, and nobody may ever seed."""
    try:
        index_pending(catalog, open_store(), most=FINISHED_ALONG, without=LATER)
    except (BackendError, StorageError, StoreBusyError):
        # It went away again, or the disk is full. What was handed in now is indexed; `doctor` tells of more.
        return


def _accept(
    catalog: Catalog,
    open_store: Callable[[], Store],
    fresh: Sequence[Classified],
    *,
    now: datetime,
    down: str,
) -> tuple[str, dict[str, Refusal]]:
    """Make memories durable, then searchable by meaning.

    Return why the latter has to wait, or nothing, and id -> refusal of those that were rejected.
    """
    waiting: list[Item] = []

    def accept(some: Sequence[Classified]) -> None:
        # What has faded since it was indexed leaves the store, with its former text, in the same transaction.
        buffered = {item.memory.id for item in some if item.memory.state is State.BUFFERED}
        known = catalog.memories.known(buffered)
        faded = [key for key, before in known.items() if before.state is not State.BUFFERED]
        items = [(item.memory, item.chunks) for item in some]
        told = collect_names(catalog, items)

        def store() -> None:
            with catalog.database.write():
                catalog.memories.accept(items)
                catalog.names.learn(told)
                catalog.log.write("ingest", {"memories": len(some)}, now=now)

        if faded:
            _take_out(open_store, faded, finish=store, unreachable=unreachable)
        else:
            store()
        waiting.extend(item for item in items if item[0].state is State.PENDING)

    unreachable: list[str] = []
    rejected = {item.memory.id: Refusal.of(item.memory, reason) for item, reason in each(fresh, accept)}
    note = down or next(iter(unreachable), "")
    if waiting and not note:
        try:
            for item, reason in each(
                waiting, lambda some: index(catalog, open_store(), records_of(catalog, some))
            ):
                rejected[item[0].id] = Refusal.of(item[0], reason, is_stored=True)
        except (BackendError, StorageError, StoreBusyError) as error:
            # The text is durable and full text finds it; the next seed or gc makes up for the rest.
            note = error.told
    return note, rejected


def _take_out(
    open_store: Callable[[], Store],
    faded: Sequence[str],
    *,
    finish: Callable[[], None],
    unreachable: list[str],
) -> None:
    """Delete from the store and finish, in one transaction; where there is no store, finish and say so."""
    try:
        store = open_store()
    except BackendError as error:
        finish()
        unreachable.append(error.told)
        return
    store.delete(faded, finish=finish)


def compare(
    catalog: Catalog,
    judged: Sequence[Classified],
    *,
    leave_archived: bool = False,
    moved: Collection[str] = (),
) -> tuple[list[Change], dict[str, datetime]]:
    """Tell for each judged draft whether the catalog has it, and has it finished, as it is now.

    With `leave_archived` one counts as archived whose place has nothing, and whose text lies in the archive:
    what the lifecycle or a person took out does not come back because its file is still there. Those that
    `moved` to another project count as changed. Also returns
    id -> event time of unchanged memories whose date alone has changed.
    """
    known = catalog.memories.known(item.memory.id for item in judged)
    changes: list[Change] = []
    redated: dict[str, datetime] = {}
    unknown = [item.memory for item in judged if item.memory.id not in known]
    archived = in_archive(catalog, unknown) if leave_archived else set[str]()
    for item in judged:
        before = known.get(item.memory.id)
        if before is None:
            changes.append("archived" if item.memory.id in archived else "new")
        elif (
            before.content_hash != item.memory.content_hash
            or before.fingerprint != fingerprint(item.memory)
            or before.state is State.PENDING
            or item.memory.id in moved
        ):
            changes.append("changed")
        else:
            changes.append("unchanged")
            if item.dated and before.event_time != item.memory.event_time:
                redated[item.memory.id] = item.memory.event_time
    return changes, redated
