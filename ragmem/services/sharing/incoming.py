"""Ingest the records of members: verify and store them, and make memories of the accepted ones."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain, islice

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import (
    SHARED,
    Category,
    Chunk,
    Draft,
    Kind,
    Memory,
    Scope,
    State,
    content_hash,
    memory_id,
)
from ragmem.domain.model import Supersession as Replacement
from ragmem.domain.model.lifecycle import Approval, EntryType
from ragmem.domain.model.supersession import MARKS, PERHAPS_OUTDATED
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sharing import state as sharing
from ragmem.domain.sharing.record import (
    InvalidRecordError,
    OpaqueRecord,
    Record,
    SharedMemory,
    Supersession,
    Withdrawal,
    encode,
    parse,
)
from ragmem.domain.sharing.state import State as SharedState
from ragmem.domain.sharing.state import Statement, Verdict
from ragmem.errors import BackendError
from ragmem.ports import Store
from ragmem.services.ingestion.sanitize import sanitize_draft, sanitize_fields, sanitize_text
from ragmem.services.processes.progress import Progress
from ragmem.services.processes.worker_pool import WorkerPool
from ragmem.storage.fulltext.terms import Analysed
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.memories import words_of
from ragmem.storage.sharing.shared_records import (
    MEMORY,
    SUPERSESSION,
    WITHDRAWAL,
    SharedRecord,
    record_of,
)
from ragmem.storage.sql.batches import batches

ORIGIN = "origin"
"""The metadata key with the member that a shared memory comes from; `record` has the id of the record."""

BATCH = 250
"""Records in one transaction: other writers wait for under a second."""

MANY = 2_000
"""Records from which on other processes help to read them."""

RULE = "shared"
"""The rule of a supersession that a member has stated."""

Item = tuple[Memory, tuple[Chunk, ...], list[Analysed]]
"""A memory with its chunks and their words."""

_MARKS = re.compile(r"<private|ragmem", re.IGNORECASE)
"""What the blocks begin with that are taken out of a text, in any case."""

_ENTRY_TYPES = frozenset(EntryType)
_KINDS = {SharedMemory: MEMORY, Withdrawal: WITHDRAWAL, Supersession: SUPERSESSION, OpaqueRecord: "opaque"}


@dataclass(frozen=True, slots=True)
class Arrival:
    """A record as it came: its id, the member in whose history it is, its bytes and its verdict."""

    id: str
    member: str
    body: bytes
    verdict: Verdict = Verdict.UNSIGNED


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides about arrivals: the project, the home's settings, and the moment.

    `me` is one's own member id. With `review` others' memories wait; at most `most` are ingested per member.
    """

    project: str
    me: str
    review: bool
    most: int
    sizes: ChunkingSettings
    redactor: Redactor
    now: datetime

    def approval(self, member: str, verdict: Verdict) -> Approval:
        """Return the first approval of a memory."""
        if member == self.me and verdict is Verdict.VERIFIED:
            return Approval.NONE
        waits = self.review or verdict is Verdict.UNKNOWN
        return Approval.PROPOSED if waits else Approval.NONE


@dataclass(slots=True)
class IntakeReport:
    """Counts of records: those that are new by kind, those that wait, and those left out by reason."""

    new: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    shown: list[str] = field(default_factory=list)
    hidden: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    members: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Reading:
    """The content of an arrival; `problem` says why it has none. `item` is its memory, ready to be stored."""

    arrival: Arrival
    record: Record | None = None
    body: str = ""
    text_hash: str = ""
    item: Item | None = None
    problem: str = ""


def read(arrivals: Sequence[Arrival], rules: Rules) -> list[Reading]:
    """Read records: parse them, take secrets and injected blocks out, and analyse what will be stored.

    A function of its arguments alone, which other processes may call.
    """
    parsed = [_parse(arrival) for arrival in arrivals]
    told = ["" if isinstance(one, str) else _words_of(one) for one in parsed]
    # Each search for secrets has a fixed cost, and most texts have none.
    suspects = [
        _MARKS.search(before) is not None or before != after
        for before, after in zip(told, rules.redactor.redact_document(told), strict=True)
    ]
    return [
        _read(arrival, record, rules, suspect=suspect)
        for arrival, record, suspect in zip(arrivals, parsed, suspects, strict=True)
    ]


def _parse(arrival: Arrival) -> Record | str:
    """Return a record, or why it is invalid."""
    try:
        record = parse(arrival.body)
    except InvalidRecordError as error:
        return error.reason
    if record.author != arrival.member or arrival.verdict is Verdict.FORGED:
        return "forged"
    return record


def _read(arrival: Arrival, record: Record | str, rules: Rules, *, suspect: bool) -> Reading:
    if isinstance(record, str):
        return Reading(arrival, problem=record)
    try:
        clean = _sanitize(record, rules.redactor) if suspect else record
        body = (arrival.body if clean is record else encode(clean)).decode()
    except InvalidRecordError as error:
        return Reading(arrival, problem=error.reason)
    if not isinstance(clean, SharedMemory):
        return Reading(arrival, clean, body)
    shown = rules.approval(arrival.member, arrival.verdict) is Approval.NONE
    item = make_item(arrival.id, clean, arrival.verdict, rules) if shown else None
    return Reading(arrival, clean, body, item[0].content_hash if item else content_hash(clean.text), item)


def _words_of(record: Record) -> str:
    """Return what a person wrote into a record, or a newer ragmem."""
    match record:
        case SharedMemory():
            fields = json.dumps(record.fields) if record.fields else ""
            return "\n".join((record.title, *record.tags, fields, record.text))
        case Withdrawal():
            return record.reason
        case OpaqueRecord():
            return json.dumps(record.data)
    return ""


def _sanitize(record: Record, redactor: Redactor) -> Record:
    """Return the record without what must not be stored; the same object if nothing changes."""
    if isinstance(record, Withdrawal):
        clean = replace(record, reason=sanitize_text(record.reason, redactor=redactor))
        return record if clean == record else clean
    if isinstance(record, OpaqueRecord):
        return replace(record, data=redactor.redact_document(record.data))
    if not isinstance(record, SharedMemory):
        return record
    draft = Draft(SHARED, "shared:", record.text, record.title, tags=record.tags)
    told = sanitize_draft(draft, redactor=redactor)
    fields = sanitize_fields(record.fields, redactor=redactor) if record.fields else record.fields
    if told is draft and fields == record.fields:
        return record
    return replace(record, text=told.text, title=told.title, tags=told.tags, fields=fields)


def make_item(key: str, record: SharedMemory, verdict: str, rules: Rules) -> Item:
    """Return the memory of a record with its chunks and their words; it is never protected.

    Its id follows from the project and the record. Its event is never in the future.
    """
    metadata = {ORIGIN: record.author, "record": key, "verdict": str(verdict)}
    if record.record_type:
        name = "type" if record.record_type in _ENTRY_TYPES else "record_type"
        metadata[name] = record.record_type
    if record.branch:
        metadata["branch"] = sanitize_text(record.branch, redactor=rules.redactor)
    from ragmem.services.ingestion.classify import chunks_of  # noqa: PLC0415 - a push needs none

    scope, uri = Scope(rules.project), f"shared:{record.author}/{key}"
    memory = Memory(
        id=memory_id(SHARED, scope, uri),
        source=SHARED,
        uri=uri,
        text=record.text,
        title=record.title,
        # Clocks of other machines may be ahead, or lie.
        event_time=min(record.event_at, rules.now),
        created_at=rules.now,
        updated_at=rules.now,
        content_hash=content_hash(record.text),
        scope=scope,
        kind=Kind(record.kind) if record.kind in set(Kind) else Kind.GENERAL,
        category=Category(record.category) if record.category in set(Category) else Category.NONE,
        state=State.PENDING,
        tags=record.tags,
        metadata=metadata,
        clean_hash=rules.redactor.clean_hash(record.text),
    )
    chunks = chunks_of(memory, rules.sizes, redactor=rules.redactor)
    return memory, chunks, words_of(memory, chunks)


def _items(rows: Sequence[SharedRecord], *, rules: Rules, wanted: bool) -> dict[str, Item]:
    """Return the memories of records by their ids, if they are wanted, as `read` does."""
    records = {row.id: (record_of(row), row.verdict) for row in rows if wanted and row.kind == MEMORY}
    return {
        key: make_item(key, record, verdict, rules)
        for key, (record, verdict) in records.items()
        if isinstance(record, SharedMemory)
    }


class Intake:
    """Takes records into one project of a home, a batch in a transaction; repeating it changes nothing."""

    def __init__(
        self,
        catalog: Catalog,
        open_store: Callable[[], Store],
        rules: Rules,
        report: IntakeReport | None = None,
    ) -> None:
        self._catalog = catalog
        self._open_store = open_store
        self._rules = rules
        self._project = rules.project
        self._muted = {one.member for one in catalog.shared.members(rules.project).values() if one.muted}
        self.report = report or IntakeReport()

    def take_in(self, arrivals: Iterable[Arrival], *, progress: Progress, workers: int) -> None:
        """Take in records of any members; those that are known are skipped.

        What withdraws or replaces others takes effect at the end, whatever the order of the records is. The
        caller stores the heads afterwards: after a kill the next fetch begins here again.
        """
        counts = {
            member: list(pair) for member, pair in self._catalog.shared.count_of_member(self._project).items()
        }
        linked: set[str] = set()
        coming = iter(arrivals)
        first = list(islice(coming, MANY))
        progress.begin("take in", len(first))
        with WorkerPool(workers if len(first) == MANY else 1) as pool:
            work = partial(read, rules=self._rules)
            unread = self._unread(batches(chain(first, coming), BATCH), linked, progress)
            for given, readings in pool.each(work, unread):
                linked |= self._store(readings, counts)
                progress.advance(len(given))
        if linked:
            self.settle(linked)

    def _unread(
        self, given: Iterable[Sequence[Arrival]], linked: set[str], progress: Progress
    ) -> Iterator[Sequence[Arrival]]:
        """Yield the arrivals that are new or better signed; `linked` gets the known ones that say of others.

        Before a kill these may not have taken effect.
        """
        shared = self._catalog.shared
        for batch in given:
            known = shared.known(self._project, [one.id for one in batch])
            linked.update(shared.statements(self._project, known))
            new = [
                one
                for one in batch
                if one.id not in known or known[one.id] != one.verdict is Verdict.VERIFIED
            ]
            progress.advance(len(batch) - len(new))
            if new:
                yield new

    def _store(self, readings: Sequence[Reading], counts: dict[str, list[int]]) -> set[str]:
        """Store the new ones of a batch; return the ids of those that say something of others."""
        good: list[Reading] = []
        for one in readings:
            if one.problem:
                self.report.left_out[one.problem] += 1
            else:
                good.append(one)
        linked: set[str] = set()
        with self._catalog.database.write():
            known = self._catalog.shared.known(self._project, [one.arrival.id for one in good])
            fresh, better = [], []
            for one in good:
                arrival = one.arrival
                if arrival.id in known:
                    if known[arrival.id] != arrival.verdict is Verdict.VERIFIED:
                        better.append((arrival.id, str(arrival.verdict)))
                        linked.add(arrival.id)
                elif self._has_room(one, counts):
                    fresh.append(one)
                if isinstance(one.record, Withdrawal) or links_of(arrival.id, one.record):
                    linked.add(arrival.id)
            self._catalog.shared.set_verdicts(self._project, better)
            rows = self._bound([self._row(one) for one in fresh])
            self._catalog.shared.add(rows)
            self._catalog.shared.add_supersessions(
                self._project,
                [link for one in fresh for link in links_of(one.arrival.id, one.record)],
            )
            said_of = self._catalog.shared.named_ids(self._project, [row.id for row in rows])
            linked |= said_of
            items = {one.arrival.id: one.item for one in fresh if one.item is not None}
            self._show([row for row in rows if row.id not in linked], items)
        for row in rows:
            self.report.new[row.kind] += 1
            self.report.members.add(row.member)
            self.report.waiting += row.approval is Approval.PROPOSED
        return linked

    def _has_room(self, one: Reading, counts: dict[str, list[int]]) -> bool:
        """Return whether a member may have one more record; withdrawals and the like count separately."""
        place = counts.setdefault(one.arrival.member, [0, 0])
        number = 0 if isinstance(one.record, SharedMemory) else 1
        if place[number] >= self._rules.most:
            self.report.left_out["more than one member may have"] += 1
            return False
        place[number] += 1
        return True

    def _row(self, one: Reading) -> SharedRecord:
        arrival, record = one.arrival, one.record
        is_memory = isinstance(record, SharedMemory)
        target = ""
        if isinstance(record, Withdrawal):
            target = record.record
        elif isinstance(record, Supersession):
            target = record.older
        return SharedRecord(
            self._project,
            arrival.id,
            arrival.member,
            _KINDS[type(record)],
            one.body,
            str(arrival.verdict),
            self._rules.now,
            target=target,
            text_hash=one.text_hash,
            approval=self._rules.approval(arrival.member, arrival.verdict) if is_memory else Approval.NONE,
            pushed=True,
        )

    def decide(
        self, rows: Sequence[SharedRecord], approval: Approval, *, progress: Progress, workers: int
    ) -> None:
        """Store a person's decision on records, with all that follows from it, a batch in a transaction."""
        progress.begin(approval.value, len(rows))
        shared = self._catalog.shared
        with WorkerPool(workers if len(rows) >= MANY else 1) as pool:
            work = partial(_items, rules=self._rules, wanted=not approval.is_withheld)
            for given, items in pool.each(work, batches(rows, BATCH)):
                ids = [row.id for row in given]
                with self._catalog.database.write():
                    shared.set_approval(self._project, ids, approval)
                    linked = shared.statements(self._project, ids) | shared.named_ids(self._project, ids)
                    decided = list(shared.get(self._project, ids).values())
                    plain = [row for row in decided if row.id not in linked]
                    self._show(plain, items)
                    self._hide([row for row in plain if not self._is_let_in(row)])
                    if linked:
                        self.settle(linked)
                progress.advance(len(given))

    def _bound(self, rows: Sequence[SharedRecord]) -> list[SharedRecord]:
        """Return records where those of one's own whose text is a memory of this home belong to it."""
        mine = {row.text_hash for row in rows if row.member == self._rules.me and row.kind == MEMORY}
        own = self._catalog.shared.own_texts(self._project, mine) if mine else {}
        return [
            replace(row, memory=own[row.text_hash], approval=Approval.ACCEPTED)
            if row.member == self._rules.me and row.text_hash in own
            else row
            for row in rows
        ]

    def settle(self, ids: Collection[str]) -> None:
        """Bring the memories of these records, and of all that they are connected with, to their state.

        One transaction, whose result depends on the stored records and decisions alone.
        """
        with self._catalog.database.write():
            records = self._connected(ids)
            statements = [
                Statement(row.id, record_of(row), row.member, Verdict(row.verdict))
                for row in records.values()
            ]
            accepted = {key for key, row in records.items() if row.approval is Approval.ACCEPTED}
            state = sharing.fold(statements, accepted=accepted)
            self._withdraw(records, state)
            self._await_decisions(records, state)
            memories = {key: row for key, row in records.items() if row.kind == MEMORY}
            shown = [row for key, row in memories.items() if key in state.visible and self._is_let_in(row)]
            self._show(shown, {})
            visible = {row.id for row in shown}
            self._hide([row for key, row in memories.items() if key not in visible])
            self._supersede(memories, state)

    def _connected(self, ids: Collection[str]) -> dict[str, SharedRecord]:
        """Return these records, and all that one reaches from them by what they say of each other."""
        shared = self._catalog.shared
        found: dict[str, SharedRecord] = {}
        tried: set[str] = set()
        left = set(ids)
        while left:
            tried |= left
            got = shared.get(self._project, left)
            found |= got
            near = {row.target for row in got.values() if row.target}
            near.update(shared.withdrawals_of(self._project, left))
            for link in shared.supersessions_of(self._project, left):
                near.update(link)
            left = near - tried
        return found

    def _withdraw(self, records: Mapping[str, SharedRecord], state: SharedState) -> None:
        self._catalog.shared.withdraw(
            [row for key in state.withdrawn if (row := records.get(key)) and not row.withdrawn]
        )

    def _await_decisions(self, records: Mapping[str, SharedRecord], state: SharedState) -> None:
        """Put into the review what would withdraw or replace something without a signature that says so."""
        pending = set(state.pending)
        others = {key: row for key, row in records.items() if row.kind in {WITHDRAWAL, SUPERSESSION}}
        waits = [key for key in others if key in pending and others[key].approval is Approval.NONE]
        settled = [
            key for key, row in others.items() if row.approval is Approval.PROPOSED and key not in pending
        ]
        self._catalog.shared.set_approval(self._project, waits, Approval.PROPOSED)
        self._catalog.shared.set_approval(self._project, settled, Approval.NONE)
        self.report.waiting += len(waits)

    def _is_let_in(self, row: SharedRecord) -> bool:
        return not row.approval.is_withheld and row.member not in self._muted

    def _show(
        self,
        rows: Sequence[SharedRecord],
        items: Mapping[str, Item],
    ) -> None:
        """Store the memories of records that are let in and not there, but none that a person removed."""
        wanted = [row for row in rows if row.kind == MEMORY and self._is_let_in(row)]
        # What was made of a memory here needs no second one.
        wanted = [row for row in wanted if not (row.memory and row.member == self._rules.me)]
        catalog = self._catalog
        present = catalog.memories.hashes([row.memory for row in wanted if row.memory])
        wanted = [row for row in wanted if row.memory not in present]
        made = []
        for row in wanted:
            item = items.get(row.id)
            if item is None and isinstance(record := record_of(row), SharedMemory):
                item = make_item(row.id, record, row.verdict, self._rules)
            if item is not None:
                made.append((row, item))
        gone = catalog.archive.removed_ids([item[0] for _, item in made]) if made else set()
        made = [(row, item) for row, item in made if item[0].id not in gone]
        if made:
            catalog.memories.accept(
                [(memory, chunks) for _, (memory, chunks, _) in made],
                words={memory.id: words for _, (memory, _, words) in made},
            )
        catalog.shared.set_memory(self._project, [(row.id, memory.id) for row, (memory, _, _) in made])
        self.report.shown += [memory.id for _, (memory, _, _) in made]

    def _hide(self, rows: Sequence[SharedRecord]) -> None:
        """Remove the memories of records that are withdrawn, not accepted or muted, from the archive too."""
        catalog = self._catalog
        ids = [row.memory for row in rows if row.memory]
        outlines = catalog.memories.outlines(ids)
        here = [key for key, outline in outlines.items() if outline.source == SHARED]
        if here:
            from ragmem.services.ingestion.index import forget  # noqa: PLC0415 - finding names takes long to load

            try:
                forget(catalog, self._open_store(), here)
            except BackendError:
                # A text that was taken back goes without waiting for a model; gc drops what the store has.
                catalog.names.forget(here)
                catalog.memories.remove(here)
        withdrawn = [
            row.memory for row in rows if row.withdrawn and row.memory and row.member != self._rules.me
        ]
        for run, some in catalog.archive.runs_of(withdrawn).items():
            catalog.archive.drop(run, some)
        self.report.hidden += len(here)

    def _supersede(self, memories: Mapping[str, SharedRecord], state: SharedState) -> None:
        """Write who replaces whom; one's own memory is only marked before a person has accepted the newer."""
        catalog = self._catalog
        rows = catalog.shared.get(self._project, memories)
        outlines = catalog.memories.outlines([row.memory for row in rows.values() if row.memory])
        present = {key: outlines[row.memory] for key, row in rows.items() if row.memory in outlines}
        made: list[Replacement] = []
        free: list[str] = []
        for key, older in present.items():
            newer = [one for one in state.superseded.get(key, ()) if one in present]
            if not newer:
                free.append(older.id)
                continue
            chosen = max(newer, key=lambda one: (present[one].event_time, one))
            is_own = older.source != SHARED
            accepted = rows[chosen].approval is Approval.ACCEPTED or present[chosen].source != SHARED
            made.append(
                Replacement(
                    older.id,
                    present[chosen].id,
                    older.event_time,
                    present[chosen].event_time,
                    RULE if accepted or not is_own else PERHAPS_OUTDATED,
                    f"{rows[chosen].member} says so",
                    self._rules.now,
                )
            )
        before = {
            item.older: item for item in catalog.supersessions.of([*free, *(one.older for one in made)])
        }
        catalog.supersessions.drop([key for key in free if key in before and before[key].rule == RULE])
        catalog.supersessions.put(
            one
            for one in made
            if one.older not in before
            or (before[one.older].rule in {RULE, *MARKS} and before[one.older].newer != one.newer)
            or (before[one.older].rule in MARKS and one.rule == RULE)
        )


def links_of(key: str, record: Record | None) -> list[tuple[str, str, str]]:
    """Return what a record says of who replaces whom, as (older, newer, statement)."""
    if isinstance(record, SharedMemory):
        return [(older, key, key) for older in record.supersedes]
    return [(record.older, record.newer, key)] if isinstance(record, Supersession) else []
