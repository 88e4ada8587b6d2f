"""Choose the memories of a project that leave for the team, and make records of them without secrets."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from ragmem.domain.classification.one_line import line_of
from ragmem.domain.injection.sanitization import sanitize_text
from ragmem.domain.model import Memory, content_hash
from ragmem.domain.model.lifecycle import Approval
from ragmem.domain.records.records import record_of as typed_record_of
from ragmem.domain.secrets.marks import MARKED
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sharing.policy import Standing, Wish, omission, refusal, types_of
from ragmem.domain.sharing.record import (
    MAX_ITEMS,
    MAX_LINE,
    InvalidRecordError,
    SharedMemory,
    Supersession,
    Withdrawal,
    encode,
    parse,
    record_id,
    without_controls,
)
from ragmem.readers.git import output_of
from ragmem.services.ingestion.sanitize import sanitize_fields
from ragmem.services.sharing.incoming import links_of
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.sharing.shared_records import MEMORY, SUPERSESSION, WITHDRAWAL, SharedRecord
from ragmem.storage.sql.batches import batches

TITLE_LENGTH = 200
"""Characters of a title; longer ones are headings that became texts."""


@dataclass(frozen=True, slots=True)
class OutgoingRecord:
    """A record that would leave: its bytes, and the memory that it was made of, None for other records."""

    row: SharedRecord
    encoded: bytes
    title: str
    memory: Memory | None = None
    kind: str = MEMORY

    @property
    def id(self) -> str:
        """The id of the record."""
        return self.row.id


@dataclass(frozen=True, slots=True)
class KeptMemory:
    """A memory that stays, and why."""

    memory: Memory
    reason: str


@dataclass(slots=True)
class OutgoingPlan:
    """What would leave and what stays; `shared` counts the memories that the team has already.

    `unpushed` are records of earlier calls that the remote does not have yet. `is_first` says that nothing of
    the project was shared before.
    """

    records: list[OutgoingRecord] = field(default_factory=list)
    kept: list[KeptMemory] = field(default_factory=list)
    unpushed: int = 0
    shared: int = 0
    is_first: bool = True

    @property
    def empty(self) -> bool:
        """Return whether nothing would leave."""
        return not (self.records or self.unpushed)

    def reasons(self) -> dict[str, int]:
        """Return why memories stay -> how many, the most frequent first."""
        return dict(Counter(one.reason for one in self.kept).most_common())


@dataclass(frozen=True, slots=True)
class Sender:
    """Who shares: the member and the project, the folder of the repository, and the rules of the home."""

    member: str
    project: str
    folder: Path
    redactor: Redactor
    now: datetime


def plan_outgoing(catalog: Catalog, sender: Sender, wish: Wish) -> OutgoingPlan:
    """Return what would leave; changes nothing.

    With ids in the wish only these memories are looked at, and the rules do not choose. A memory that the
    team has already leaves again only if its text has changed, and then replaces its former record.
    """
    shared = catalog.shared
    own = shared.of_member(sender.project, sender.member)
    plan = OutgoingPlan(is_first=not own, unpushed=len(shared.unpushed(sender.project, sender.member)))
    ids = list(wish.ids) or shared.candidate_ids(sender.project)
    chosen = _choose(catalog, sender, wish, ids=ids, own=own, plan=plan)
    replaced = _replaced_records(catalog, sender, [memory.id for memory, _ in chosen])
    taken_back = {row.id for row in own if row.withdrawn}
    for memory, former in chosen:
        try:
            record = _record(memory, sender, [*(row.id for row in former), *replaced.get(memory.id, ())])
            encoded = encode(record)
            if record_id(encoded) in taken_back:
                # The same statement again would still be withdrawn.
                record = replace(record, at=sender.now)
                encoded = encode(record)
        except InvalidRecordError as error:
            plan.kept.append(KeptMemory(memory, f"cannot be shared: {error.reason}"))
            continue
        plan.records.append(_outgoing(sender, encoded, record, memory))
    if not wish.ids:
        plan.records += _supersessions(catalog, sender, own)
        plan.records += [
            withdraw_record(sender, row.id, "its text was removed", title="")
            for row in shared.changed_bodies(sender.project, sender.member)
        ]
    return plan


def _choose(
    catalog: Catalog,
    sender: Sender,
    wish: Wish,
    *,
    ids: Sequence[str],
    own: Sequence[SharedRecord],
    plan: OutgoingPlan,
) -> list[tuple[Memory, list[SharedRecord]]]:
    """Return the memories that leave, with their former records; the plan gets those that stay."""
    by_memory: dict[str, list[SharedRecord]] = {}
    for row in own:
        by_memory.setdefault(row.memory, []).append(row)
    standing_texts = {row.text_hash for row in own if not row.withdrawn}
    tracked = _tracked_files(sender.folder)
    chosen: list[tuple[Memory, list[SharedRecord]]] = []
    for page in batches(ids):
        memories = catalog.memories.get(page)
        standings = _standings(catalog, memories, sender, tracked)
        for memory in (memories[key] for key in page if key in memories):
            former = [row for row in by_memory.get(memory.id, ()) if not row.withdrawn]
            reason = _reason_to_stay(memory, standings[memory.id], wish)
            if reason == "" and memory.id in by_memory and not former and not wish.ids:
                reason = "it was withdrawn; `ragmem share push ID` shares it again"
            if reason:
                plan.kept.append(KeptMemory(memory, reason))
            elif reason == "":
                hashed = content_hash(clean_text(memory, sender.redactor))
                if hashed in standing_texts:
                    plan.shared += 1
                else:
                    standing_texts.add(hashed)
                    chosen.append((memory, former))
    return chosen


def _reason_to_stay(memory: Memory, standing: Standing, wish: Wish) -> str | None:
    """Return why a memory stays: "" if it leaves, None if no rule is about it."""
    if wish.ids:
        return refusal(memory, standing, wish)
    left_out = omission(memory, standing, wish)
    return None if left_out is None else refusal(memory, standing, wish) or left_out


def withdraw_record(sender: Sender, key: str, reason: str, *, title: str) -> OutgoingRecord:
    """Return the record that takes one of the sender's own back."""
    record = Withdrawal(sender.member, sender.now, key, _clean_line(reason, sender.redactor)[:MAX_LINE])
    encoded = encode(record)
    row = _row(sender, encoded, WITHDRAWAL, target=key)
    return OutgoingRecord(row, encoded, title, kind=WITHDRAWAL)


def store_outgoing(catalog: Catalog, records: Sequence[OutgoingRecord], *, project: str) -> None:
    """Keep records as one's own before they leave: after a kill the next push sends them."""
    with catalog.database.write():
        catalog.shared.add([one.row for one in records])
        catalog.shared.add_supersessions(
            project, [link for one in records for link in links_of(one.id, parse(one.encoded))]
        )


def clean_text(memory: Memory, redactor: Redactor) -> str:
    """Return the text of a memory as it may leave: without secrets, private parts and control characters."""
    return without_controls(sanitize_text(memory.text, redactor=replace(redactor, stored=False)))


def title_of(memory: Memory, redactor: Redactor) -> str:
    """Return the title of a memory as it may leave, else the line that says what it is about."""
    return _clean_line(memory.title or line_of(memory, redactor=redactor)[0], redactor)[:TITLE_LENGTH]


def _clean_line(text: str, redactor: Redactor) -> str:
    """Return a text as one line, as it may leave."""
    return without_controls(sanitize_text(text, redactor=replace(redactor, stored=False)), one_line=True)


def _standings(
    catalog: Catalog, memories: Mapping[str, Memory], sender: Sender, tracked: frozenset[str]
) -> dict[str, Standing]:
    lives = catalog.lives.of(memories)
    superseded = catalog.supersessions.in_force(memories)
    personal = catalog.memories.readers()
    return {
        key: Standing(
            approval=lives[key].approval if key in lives else Approval.NONE,
            superseded=key in superseded,
            tracked=memory.uri.partition("#")[0] in tracked,
            redacted=_is_redacted(memory, sender.redactor),
            personal=key in personal,
        )
        for key, memory in memories.items()
    }


def _is_redacted(memory: Memory, redactor: Redactor) -> bool:
    """Return whether a secret or a private part was taken out of a memory, or would be on its way out."""
    told = "\n".join((memory.title, *memory.tags, memory.text, memory.metadata.get("fields", "")))
    if MARKED.search(told):
        return True
    return sanitize_text(told, redactor=replace(redactor, stored=False)) != told


def _tracked_files(folder: Path) -> frozenset[str]:
    """Return the absolute paths of the files in git's index, which everybody gets with the repository."""
    answer = output_of(folder, "rev-parse", "--show-toplevel")
    listed = output_of(folder, "ls-files", "-z", "--full-name", ":/")
    if answer is None or listed is None:
        return frozenset()
    root = answer.decode("utf-8", "surrogateescape").removesuffix("\n")
    return frozenset(
        f"{root}/{name.decode('utf-8', 'surrogateescape')}" for name in listed.split(b"\0") if name
    )


def _record(memory: Memory, sender: Sender, supersedes: Sequence[str]) -> SharedMemory:
    redactor = replace(sender.redactor, stored=False)

    def line(text: str) -> str:
        return _clean_line(text, redactor)[:MAX_LINE]

    item = typed_record_of(memory)
    category, entry = types_of(memory)
    fields: dict[str, object] = {}
    if item is not None:
        clean = sanitize_fields(dict(item.fields), redactor=redactor)
        fields = json.loads(without_controls(json.dumps(clean, ensure_ascii=False)))
    return SharedMemory(
        author=sender.member,
        # Not the moment of sharing: two machines of one member make the same record of the same memory.
        at=min(memory.event_time, sender.now),
        event_at=min(memory.event_time, sender.now),
        title=title_of(memory, sender.redactor),
        text=clean_text(memory, sender.redactor),
        kind=memory.kind.value,
        category=category.value,
        tags=tuple(filter(None, map(line, memory.tags)))[:MAX_ITEMS],
        branch=line(memory.metadata.get("branch", "")),
        links=tuple(filter(None, map(line, memory.metadata.get("commits", "").split())))[:MAX_ITEMS],
        supersedes=tuple(dict.fromkeys(supersedes))[:MAX_ITEMS],
        record_type=item.type.value if item is not None else entry.value,
        fields=fields,
    )


def _replaced_records(catalog: Catalog, sender: Sender, newer: Sequence[str]) -> dict[str, list[str]]:
    """Return memory id -> records of the team that it replaces, as the catalog knows."""
    replaced = catalog.supersessions.replaced_by(newer) if newer else {}
    records = catalog.shared.of_memories(one.older for some in replaced.values() for one in some)
    return {
        key: [
            row.id
            for one in some
            for row in records.get(one.older, ())
            if row.project == sender.project and not row.withdrawn
        ]
        for key, some in replaced.items()
    }


def _supersessions(catalog: Catalog, sender: Sender, own: Sequence[SharedRecord]) -> Iterable[OutgoingRecord]:
    """Yield what this home knows of shared memories that replace others, and the team does not."""
    newer = {row.memory: row for row in own if not row.withdrawn and row.memory}
    for found in batches(newer):
        replaced = catalog.supersessions.replaced_by(found)
        records = catalog.shared.of_memories(one.older for some in replaced.values() for one in some)
        for key, some in replaced.items():
            told = {link[:2] for link in catalog.shared.supersessions_of(sender.project, [newer[key].id])}
            for one in some:
                for row in records.get(one.older, ()):
                    pair = (row.id, newer[key].id)
                    if row.project == sender.project and not row.withdrawn and pair not in told:
                        record = Supersession(sender.member, min(one.made_at, sender.now), *pair)
                        encoded = encode(record)
                        yield OutgoingRecord(
                            _row(sender, encoded, SUPERSESSION, target=row.id), encoded, "", kind=SUPERSESSION
                        )


def _outgoing(sender: Sender, encoded: bytes, record: SharedMemory, memory: Memory) -> OutgoingRecord:
    row = replace(_row(sender, encoded, MEMORY), memory=memory.id, text_hash=content_hash(record.text))
    return OutgoingRecord(row, encoded, record.title, memory)


def _row(sender: Sender, encoded: bytes, kind: str, *, target: str = "") -> SharedRecord:
    return SharedRecord(
        sender.project,
        record_id(encoded),
        sender.member,
        kind,
        encoded.decode(),
        "unsigned",
        sender.now,
        target=target,
        # One's own word needs no review.
        approval=Approval.ACCEPTED,
    )
