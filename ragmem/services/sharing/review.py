"""Review the records of members before they are injected: accept, reject, mute, withdraw, conflicts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.domain.model.lifecycle import Approval
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sharing import state as sharing
from ragmem.domain.sharing.record import Record, SharedMemory, Supersession, Withdrawal
from ragmem.domain.sharing.state import Statement, Verdict
from ragmem.errors import NotFoundError
from ragmem.services.sharing.outgoing import OutgoingRecord, withdraw_record
from ragmem.services.sharing.sync import Team
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.memories.memories import MIN_PREFIX
from ragmem.storage.sharing.shared_records import (
    MEMORY,
    MemberCounts,
    SharedRecord,
    ShareMember,
    record_of,
)

MOST = 1_000_000
"""Records that one call decides on."""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A record of a member, and what it says; `names` has the titles of the records that it is about."""

    row: SharedRecord
    record: Record
    names: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the record."""
        return self.row.id

    @property
    def title(self) -> str:
        """What it says in a few words."""
        if isinstance(self.record, SharedMemory):
            return self.record.title or next(iter(self.record.text.splitlines()), "")
        about = " by ".join(f'"{name}"' for name in self.names)
        return f"withdraw {about}" if isinstance(self.record, Withdrawal) else f"replace {about}"

    @property
    def text(self) -> str:
        """The whole text of a memory, the reason of a withdrawal, else ""."""
        if isinstance(self.record, SharedMemory):
            return self.record.text
        return self.record.reason if isinstance(self.record, Withdrawal) else ""


@dataclass(frozen=True, slots=True)
class ConflictItem:
    """Memories of different members of which one should replace the others, and why."""

    reason: str
    memories: tuple[ReviewItem, ...]


@dataclass(frozen=True, slots=True)
class ShareStatus:
    """How a project is shared: who one is, what waits to leave and for a review, and each member's counts.

    `fetched_at` is when something new was last fetched.
    """

    project: str
    member: str
    remote: str
    unpushed: int
    members: tuple[MemberCounts, ...]

    @property
    def waiting(self) -> int:
        """How many memories of members who are not muted wait for a review."""
        return sum(one.waiting for one in self.members if not one.muted)

    @property
    def fetched_at(self) -> datetime | None:
        """When something new was last fetched."""
        return max((one.fetched_at for one in self.members if one.fetched_at), default=None)


def share_status(team: Team, remote: str) -> ShareStatus:
    """Return how the project is shared; contacts nobody."""
    shared = team.catalog.shared
    unpushed = len(shared.unpushed(team.project, team.member))
    return ShareStatus(team.project, team.member, remote, unpushed, tuple(shared.counts(team.project)))


def list_review(
    catalog: Catalog, project: str, approval: Approval, *, members: Sequence[str] = (), limit: int = MOST
) -> list[ReviewItem]:
    """Return what members have shared and a person has decided on like this, the last to come in first."""
    rows = catalog.shared.waiting(project, approval=approval, members=members, limit=limit)
    return _items(catalog, project, rows)


def find_record(catalog: Catalog, project: str, prefix: str) -> ReviewItem:
    """Return the record under the start of its id or of its memory's id.

    Raises NotFoundError for none and for several.
    """
    wanted = prefix.strip().lower()
    valid = len(wanted) >= MIN_PREFIX and wanted.isalnum()
    found = catalog.shared.with_prefix(project, wanted) if valid else []
    if not found:
        raise NotFoundError(f'nothing shared has the id "{prefix}"', hint="`ragmem share review` lists ids")
    if len(found) > 1:
        raise NotFoundError(
            f'several shared records have ids that start with "{prefix}"', hint="use a longer prefix"
        )
    return _items(catalog, project, found)[0]


def decide(team: Team, items: Sequence[ReviewItem], *, accept: bool) -> None:
    """Accept or reject records: only accepted memories may be injected."""
    rows = [
        one.row for one in items if one.row.member != team.member or one.row.approval is not Approval.NONE
    ]
    approval = Approval.ACCEPTED if accept else Approval.REJECTED
    team.intake().decide(rows, approval, progress=team.progress, workers=team.workers)


def mute(team: Team, member: str, *, muted: bool) -> int:
    """Mute or unmute a member; return how many memories that affects.

    Nothing is deleted. Raises NotFoundError for an unknown member.
    """
    shared, project = team.catalog.shared, team.project
    members = [one.member for one in shared.counts(project)]
    if member not in members:
        near = [one for one in members if one.startswith(member)]
        if len(near) != 1:
            known_ids = ", ".join(members) or "none yet"
            raise NotFoundError(f'no member "{member}" has shared anything', hint=f"members: {known_ids}")
        member = near[0]
    rows = shared.of_member(project, member)
    known = shared.members(project).get(member, ShareMember(member))
    shared.put_member(project, ShareMember(member, known.keys, muted))
    intake = team.intake()
    for approval in Approval:
        some = [row for row in rows if row.approval is approval and not row.withdrawn]
        if some and not approval.is_withheld:
            # The decisions stay; what follows from them changes.
            intake.decide(some, approval, progress=team.progress, workers=team.workers)
    return sum(not row.approval.is_withheld and not row.withdrawn for row in rows)


def plan_withdrawal(team: Team, prefixes: Iterable[str], *, reason: str = "") -> list[OutgoingRecord]:
    """Return the records that take back one's own memories, given by ids of memories or records.

    Raises NotFoundError for what was never shared, is another's, or was taken back before.
    """
    found: dict[str, OutgoingRecord] = {}
    for prefix in prefixes:
        own = _own_records(team, prefix)
        for row in own:
            record = record_of(row)
            title = record.title if isinstance(record, SharedMemory) else ""
            found[row.id] = withdraw_record(team.sender, row.id, reason, title=title)
    return list(found.values())


def _own_records(team: Team, prefix: str) -> list[SharedRecord]:
    wanted = prefix.strip().lower()
    valid = len(wanted) >= MIN_PREFIX and wanted.isalnum()
    found = team.catalog.shared.with_prefix(team.project, wanted, most=100) if valid else []
    own = [row for row in found if row.member == team.member and row.kind == MEMORY]
    if not own:
        whose = f"; {found[0].member} has shared it" if found else ""
        raise NotFoundError(
            f'you have shared nothing with the id "{prefix}"{whose}',
            hint="`ragmem share review --state accepted` lists what others have shared"
            if found
            else "`ragmem share status` counts what you have shared",
        )
    standing = [row for row in own if not row.withdrawn]
    if not standing:
        raise NotFoundError(f'"{prefix}" is already withdrawn', hint="nothing is left to do")
    if len({row.memory or row.id for row in standing}) > 1:
        raise NotFoundError(
            f'several shared memories have ids that start with "{prefix}"', hint="use a longer prefix"
        )
    return standing


def own_shared(catalog: Catalog, memories: Iterable[str]) -> list[SharedRecord]:
    """Return the standing records that were made of these memories, which are not another's."""
    found = catalog.shared.of_memories(memories)
    return [row for some in found.values() for row in some if row.is_own and row.pushed and not row.withdrawn]


def list_conflicts(catalog: Catalog, project: str) -> list[ConflictItem]:
    """Return the memories of different members that contradict each other, none muted or rejected."""
    muted = {one.member for one in catalog.shared.members(project).values() if one.muted}
    rows = {
        row.id: row
        for row in catalog.shared.each(project)
        if row.member not in muted and row.approval is not Approval.REJECTED
    }
    accepted = {key for key, row in rows.items() if row.approval is Approval.ACCEPTED}
    records = {key: record_of(rows[key]) for key in _contested(rows)}
    statements = (
        Statement(key, record, rows[key].member, Verdict(rows[key].verdict))
        for key, record in records.items()
    )
    return [
        ConflictItem(str(one.reason), tuple(ReviewItem(rows[key], records[key]) for key in one.memories))
        for one in sharing.fold(statements, accepted=accepted).conflicts
    ]


def _contested(rows: Mapping[str, SharedRecord]) -> set[str]:
    """Return the ids of the records that a conflict can depend on: to check all of them takes seconds.

    These are statements on others, memories that replace one or are replaced, and those with the same title.
    """
    found: set[str] = set()
    titles: dict[str, list[SharedRecord]] = {}
    for key, row in rows.items():
        if row.kind == MEMORY:
            try:
                fields = orjson.loads(row.body)
            except orjson.JSONDecodeError:  # a scrub has changed its form; `record_of` keeps neither of these
                continue
            if replaced := fields.get("supersedes"):
                found.update((key, *replaced))
            if title := sharing.title_key(fields.get("title", "")):
                titles.setdefault(title, []).append(row)
        elif isinstance(statement := record_of(row), Supersession):
            found.update((key, statement.older, statement.newer))
        elif isinstance(statement, Withdrawal):
            found.update((key, statement.record))
    for same in titles.values():
        if len({row.member for row in same}) > 1:
            found.update(row.id for row in same)
    return found & rows.keys()


def review_shape(item: ReviewItem, *, redactor: Redactor, whole: bool = False) -> dict[str, Any]:
    """Return a record as JSON fields without secrets, with its text if it is to be `whole`."""
    row, record = item.row, item.record
    shape: dict[str, Any] = {
        "id": row.id[:SHORT_ID_LENGTH],
        "record": row.id,
        "sort": row.kind,
        "member": row.member,
        "verdict": row.verdict,
        "approval": row.approval.value,
        "withdrawn": row.withdrawn,
        "memory": row.memory[:SHORT_ID_LENGTH],
        "title": redactor.redact(item.title)[0],
        "kind": row.kind,
        "at": record.at,
    }
    if isinstance(record, SharedMemory):
        shape |= {"kind": record.record_type or record.kind, "at": record.event_at}
    return shape | ({"text": redactor.redact(item.text)[0]} if whole else {})


def _items(catalog: Catalog, project: str, rows: Sequence[SharedRecord]) -> list[ReviewItem]:
    """Return records with the titles of those that they are about."""
    records = {row.id: record_of(row) for row in rows}
    about: dict[str, tuple[str, ...]] = {}
    for key, record in records.items():
        if isinstance(record, Withdrawal):
            about[key] = (record.record,)
        elif isinstance(record, Supersession):
            about[key] = (record.older, record.newer)
    named = catalog.shared.get(project, {one for some in about.values() for one in some})
    titles = {
        key: record.title or key[:SHORT_ID_LENGTH]
        for key, row in named.items()
        if row.kind == MEMORY and isinstance(record := record_of(row), SharedMemory)
    }
    return [
        ReviewItem(
            row,
            records[row.id],
            tuple(titles.get(key, key[:SHORT_ID_LENGTH]) for key in about.get(row.id, ())),
        )
        for row in rows
    ]
