"""Shared records: what members have said, what a person decided on it, and which memory came of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson

from ragmem.domain.model import EPISODES, SHARED, Scope, State, digest, memory_id
from ragmem.domain.model.lifecycle import Approval
from ragmem.domain.sharing.record import InvalidRecordError, Record, SharedMemory, encode, parse
from ragmem.frozen import dataclass
from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Connection, Database, select_in
from ragmem.storage.sql.migrations import select_from, table_exists
from ragmem.storage.sql.rows import from_stamp, to_stamp

_COLUMNS = (
    "project", "id", "member", "kind", "target", "memory", "text_hash", "verdict", "approval", "withdrawn",
    "pushed", "seen_at", "body",
)  # fmt: skip
_SELECT = ", ".join(f"r.{column}" for column in _COLUMNS)
_INSERT = (
    f"INSERT INTO shared_records ({', '.join(_COLUMNS)}, body_hash)"
    f" VALUES ({', '.join('?' * (len(_COLUMNS) + 1))}) ON CONFLICT (project, id) DO NOTHING"
)

MEMORY, WITHDRAWAL, SUPERSESSION = "memory", "withdrawal", "supersession"
"""Kinds of records that mean something here."""

WITHDRAWN = "(withdrawn)"
"""The text of a record of which nothing else is kept than who wrote it and when."""

PAGE = 500
"""Records that are read at a time, to limit main memory."""


@dataclass(frozen=True, slots=True)
class SharedRecord:
    """A record of a member in one project.

    `target` is the id of the record that it withdraws or says is replaced. `memory` is the id of the memory
    that it was made of, or that it became. `body` is its canonical JSON, without what was removed since.
    `approval` is that of a memory; `pushed` says that the remote has the record.
    """

    project: str
    id: str
    member: str
    kind: str
    body: str
    verdict: str
    seen_at: datetime
    target: str = ""
    memory: str = ""
    text_hash: str = ""
    approval: Approval = Approval.NONE
    withdrawn: bool = False
    pushed: bool = False

    @property
    def became(self) -> str:
        """The id of the memory that is made of it."""
        return memory_id(SHARED, Scope(self.project), self.uri)

    @property
    def uri(self) -> str:
        """The uri of the memory that is made of it."""
        return f"shared:{self.member}/{self.id}"

    @property
    def is_own(self) -> bool:
        """Return whether it was made of a memory of this home."""
        return self.memory not in {"", self.became}


@dataclass(frozen=True, slots=True)
class ShareMember:
    """What a project knows of a member: their keys (the first was seen first), and whether they are muted."""

    member: str
    keys: tuple[str, ...] = ()
    muted: bool = False


@dataclass(frozen=True, slots=True)
class MemberCounts:
    """How many memories of a member a project has, by their state."""

    member: str
    memories: int
    waiting: int
    rejected: int
    withdrawn: int
    unsigned: int
    muted: bool
    fetched_at: datetime | None


class SharedRecords:
    """The shared records, members and heads of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, records: Sequence[SharedRecord]) -> None:
        """Write records that are not there yet; those that are stay as they are."""
        with self._database.write() as connection:
            connection.executemany(_INSERT, [_values(record) for record in records])

    def known(self, project: str, ids: Iterable[str]) -> dict[str, str]:
        """Return id -> verdict of those of these records that are stored."""
        return dict(
            self._database.select_in(
                "SELECT id, verdict FROM shared_records WHERE project = ? AND id IN ({})", ids, project
            )
        )

    def get(self, project: str, ids: Iterable[str]) -> dict[str, SharedRecord]:
        """Return those of these records that are stored, by id."""
        rows = self._database.select_in(
            f"SELECT {_SELECT} FROM shared_records r WHERE r.project = ? AND r.id IN ({{}})", ids, project
        )
        return {row[1]: _record(row) for row in rows}

    def each(self, project: str) -> Iterator[SharedRecord]:
        """Yield all records of a project in the order of their ids."""
        last = ""
        while rows := self._select(
            f"SELECT {_SELECT} FROM shared_records r WHERE r.project = ? AND r.id > ? ORDER BY r.id"
            f" LIMIT {PAGE}",
            (project, last),
        ):
            yield from map(_record, rows)
            last = rows[-1][1]

    def of_member(self, project: str, member: str) -> list[SharedRecord]:
        """Return the memories of a member, in the order of their ids."""
        rows = self._select(
            f"SELECT {_SELECT} FROM shared_records r WHERE r.project = ? AND r.member = ? AND r.kind = ?"
            " ORDER BY r.id",
            (project, member, MEMORY),
        )
        return [_record(row) for row in rows]

    def of_memories(self, memories: Iterable[str]) -> dict[str, list[SharedRecord]]:
        """Return memory id -> the records that were made of it or became it, the latest seen last."""
        found: dict[str, list[SharedRecord]] = {}
        with self._database.read() as connection:
            if not table_exists(self._database, connection, "shared_records"):
                return found
            for row in select_in(
                connection,
                f"SELECT {_SELECT} FROM shared_records r WHERE r.memory IN ({{}}) AND r.memory <> ''"
                " ORDER BY r.seen_at, r.id",
                memories,
            ):
                record = _record(row)
                found.setdefault(record.memory, []).append(record)
        return found

    def projects(self) -> list[str]:
        """Return the projects of which anything was shared or fetched."""
        rows = self._select("SELECT DISTINCT r.project FROM shared_records r ORDER BY r.project", ())
        return [project for (project,) in rows]

    def with_prefix(self, project: str, prefix: str, *, most: int = 2) -> list[SharedRecord]:
        """Return up to `most` records whose id or memory's id begins like this."""
        rows = self._select(
            f"SELECT {_SELECT} FROM shared_records r WHERE r.project = ?"
            " AND ((r.id >= ? AND r.id < ?) OR (r.memory >= ? AND r.memory < ?))"
            f" ORDER BY r.id LIMIT {int(most)}",
            (project, prefix, prefix + "\x7f", prefix, prefix + "\x7f"),
        )
        return [_record(row) for row in rows]

    def waiting(
        self, project: str, *, approval: Approval, members: Sequence[str] = (), limit: int
    ) -> list[SharedRecord]:
        """Return records with an approval, the last seen first, without those of muted members.

        What was made of a memory of this home is left out too, and so are statements that count.
        """
        chosen = f" AND r.member IN ({marks(members)})" if members else ""
        rows = self._select(
            f"SELECT {_SELECT} FROM shared_records r WHERE r.project = ?"
            f" AND r.approval = ? AND r.withdrawn = 0{chosen}"
            f" AND (r.kind = '{MEMORY}' OR r.approval <> '{Approval.ACCEPTED}')"
            " AND NOT EXISTS (SELECT 1 FROM memories o"
            f" WHERE o.id = r.memory AND r.memory <> '' AND o.source <> '{SHARED}')"
            " AND NOT EXISTS (SELECT 1 FROM share_members m WHERE m.project = r.project"
            " AND m.member = r.member AND m.muted = 1) ORDER BY r.seen_at DESC, r.id LIMIT ?",
            (project, approval.value, *members, limit),
        )
        return [_record(row) for row in rows]

    def count_waiting(self, project: str) -> int:
        """Return how many records `waiting` finds that nobody has decided on."""
        rows = self._select(
            "SELECT count(*) FROM shared_records r WHERE r.project = ? AND r.withdrawn = 0"
            f" AND r.approval = '{Approval.PROPOSED}' AND NOT EXISTS (SELECT 1 FROM share_members m"
            " WHERE m.project = r.project AND m.member = r.member AND m.muted = 1)",
            (project,),
        )
        return int(rows[0][0]) if rows else 0

    def unpushed(self, project: str, member: str) -> list[SharedRecord]:
        """Return the member's own records that the remote does not have yet, by id."""
        rows = self._select(
            f"SELECT {_SELECT} FROM shared_records r WHERE r.project = ? AND r.member = ? AND r.pushed = 0"
            " ORDER BY r.id",
            (project, member),
        )
        return [_record(row) for row in rows]

    def changed_bodies(self, project: str, member: str) -> list[SharedRecord]:
        """Return the member's standing memories whose body was changed here since, as a scrub does."""
        rows = self._select(
            f"SELECT {_SELECT}, r.body_hash FROM shared_records r WHERE r.project = ? AND r.member = ?"
            f" AND r.kind = '{MEMORY}' AND r.withdrawn = 0",
            (project, member),
        )
        return [_record(row[:-1]) for row in rows if digest("body", row[-2]) != row[-1]]

    def mark_pushed(self, project: str, ids: Iterable[str]) -> None:
        """Record that the remote has these records."""
        self._update(project, ids, "pushed = 1")

    def set_approval(self, project: str, ids: Iterable[str], approval: Approval) -> None:
        """Store a person's decision on shared memories."""
        self._update(project, ids, "approval = ?", approval.value)

    def set_verdicts(self, project: str, verdicts: Iterable[tuple[str, str]]) -> None:
        """Store id and verdict of records of which a signature was seen since."""
        with self._database.write() as connection:
            connection.executemany(
                "UPDATE shared_records SET verdict = ? WHERE project = ? AND id = ?",
                [(verdict, project, key) for key, verdict in verdicts],
            )

    def set_memory(self, project: str, memories: Iterable[tuple[str, str]]) -> None:
        """Store id of record and id of the memory that it belongs to."""
        with self._database.write() as connection:
            connection.executemany(
                "UPDATE shared_records SET memory = ? WHERE project = ? AND id = ?",
                [(memory, project, key) for key, memory in memories],
            )

    def withdraw(self, rows: Iterable[SharedRecord]) -> None:
        """Mark records as withdrawn, and keep of each only who wrote it and when."""
        self._clear(rows, "withdrawn = 1")

    def forget_texts(self, memories: Iterable[str]) -> None:
        """Remove the texts of memories that are gone for good; what others have shared counts as rejected."""
        rows = [row for some in self.of_memories(memories).values() for row in some]
        self._clear((row for row in rows if row.is_own), "pushed = pushed")
        self._clear((row for row in rows if not row.is_own), f"approval = '{Approval.REJECTED}'")

    def _clear(self, rows: Iterable[SharedRecord], change: str) -> None:
        bodies = [(row, _without_text(row)) for row in rows]
        with self._database.write() as connection:
            connection.executemany(
                f"UPDATE shared_records SET {change}, body = ?, body_hash = ? WHERE project = ? AND id = ?",
                [(body, digest("body", body), row.project, row.id) for row, body in bodies],
            )

    def withdrawals_of(self, project: str, ids: Iterable[str]) -> list[str]:
        """Return the ids of all withdrawals that name one of these records."""
        rows = self._database.select_in(
            f"SELECT id FROM shared_records WHERE project = ? AND kind = '{WITHDRAWAL}' AND target <> ''"
            " AND target IN ({})",
            ids,
            project,
        )
        return [key for (key,) in rows]

    def statements(self, project: str, ids: Iterable[str]) -> set[str]:
        """Return those of these records that say something of other records."""
        wanted = list(ids)
        rows = self._database.select_in(
            "SELECT id FROM shared_records WHERE project = ? AND target <> '' AND id IN ({})",
            wanted,
            project,
        )
        said = {key for (key,) in rows}
        return said.union(
            link[2] for link in self.supersessions_of(project, wanted) if link[2] in set(wanted)
        )

    def named_ids(self, project: str, ids: Iterable[str]) -> set[str]:
        """Return those of these records that a stored record withdraws, replaces, or puts before another."""
        wanted = list(ids)
        rows = self._database.select_in(
            f"SELECT target FROM shared_records WHERE project = ? AND kind = '{WITHDRAWAL}'"
            " AND target <> '' AND target IN ({})",
            wanted,
            project,
        )
        found = {key for (key,) in rows}
        links = self.supersessions_of(project, wanted)
        return found.union(*(link[:2] for link in links)).intersection(wanted)

    def add_supersessions(self, project: str, links: Iterable[tuple[str, str, str]]) -> None:
        """Store (older, newer, statement), all ids of records; known ones stay."""
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO shared_supersessions (project, older, newer, statement) VALUES (?,?,?,?)"
                " ON CONFLICT (project, older, newer, statement) DO NOTHING",
                [(project, *link) for link in links],
            )

    def supersessions_of(self, project: str, ids: Iterable[str]) -> list[tuple[str, str, str]]:
        """Return (older, newer, statement) of the links with any of these records on either side."""
        wanted = list(ids)
        found: set[tuple[str, str, str]] = set()
        for column in ("older", "newer"):
            rows = self._database.select_in(
                "SELECT older, newer, statement FROM shared_supersessions WHERE project = ?"
                f" AND {column} IN ({{}})",
                wanted,
                project,
            )
            found.update((older, newer, statement) for older, newer, statement in rows)
        return sorted(found)

    def members(self, project: str) -> dict[str, ShareMember]:
        """Return what is known of the members of a project."""
        rows = select_from(
            self._database,
            "share_members",
            "SELECT member, keys, muted FROM share_members WHERE project = ? ORDER BY member",
            (project,),
        )
        return {
            member: ShareMember(member, tuple(orjson.loads(keys)), bool(muted))
            for member, keys, muted in rows
        }

    def put_member(self, project: str, member: ShareMember) -> None:
        """Store what is known of a member."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO share_members (project, member, keys, muted) VALUES (?,?,?,?)"
                " ON CONFLICT (project, member) DO UPDATE SET keys = excluded.keys, muted = excluded.muted",
                (project, member.member, orjson.dumps(member.keys).decode(), int(member.muted)),
            )

    def heads(self, project: str) -> dict[str, str]:
        """Return member -> the commit up to which their history was ingested."""
        return dict(
            select_from(
                self._database,
                "share_heads",
                "SELECT member, head FROM share_heads WHERE project = ?",
                (project,),
            )
        )

    def set_head(self, project: str, member: str, head: str, *, now: datetime) -> None:
        """Store up to which commit a member's history was ingested."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO share_heads (project, member, head, seen_at) VALUES (?,?,?,?)"
                " ON CONFLICT (project, member) DO UPDATE SET head = excluded.head,"
                " seen_at = excluded.seen_at",
                (project, member, head, to_stamp(now)),
            )

    def counts(self, project: str) -> list[MemberCounts]:
        """Return the counts of each member of a project, by member."""
        rows = self._select(
            "SELECT r.member, sum(CASE WHEN r.withdrawn = 0 THEN 1 ELSE 0 END),"
            f" sum(CASE WHEN r.withdrawn = 0 AND r.approval = '{Approval.PROPOSED}' THEN 1 ELSE 0 END),"
            f" sum(CASE WHEN r.withdrawn = 0 AND r.approval = '{Approval.REJECTED}' THEN 1 ELSE 0 END),"
            " sum(r.withdrawn), sum(CASE WHEN r.verdict <> 'verified' THEN 1 ELSE 0 END)"
            f" FROM shared_records r WHERE r.project = ? AND r.kind = '{MEMORY}'"
            " GROUP BY r.member ORDER BY r.member",
            (project,),
        )
        muted = {one.member for one in self.members(project).values() if one.muted}
        fetched = dict(
            select_from(
                self._database,
                "share_heads",
                "SELECT member, seen_at FROM share_heads WHERE project = ?",
                (project,),
            )
        )
        return [
            MemberCounts(
                member,
                int(memories),
                int(waiting),
                int(rejected),
                int(withdrawn),
                int(unsigned),
                member in muted,
                from_stamp(fetched[member]) if member in fetched else None,
            )
            for member, memories, waiting, rejected, withdrawn, unsigned in rows
        ]

    def count_of_member(self, project: str) -> dict[str, tuple[int, int]]:
        """Return member -> how many memories and how many other records of theirs are stored."""
        rows = self._select(
            f"SELECT r.member, sum(CASE WHEN r.kind = '{MEMORY}' THEN 1 ELSE 0 END), count(*)"
            " FROM shared_records r WHERE r.project = ? GROUP BY r.member",
            (project,),
        )
        return {member: (int(memories), int(whole - memories)) for member, memories, whole in rows}

    def candidate_ids(self, project: str) -> list[str]:
        """Return the ids of the memories of a project that a rule may choose: no episodes, nothing shared."""
        never = sorted({*EPISODES, SHARED})
        return self._database.select_column(
            f"SELECT id FROM memories WHERE project = ? AND source NOT IN ({marks(never)}) AND state <> ?"
            " ORDER BY n",
            (project, *never, State.BUFFERED.value),
        )

    def latest_memories(self, projects: Sequence[str] | None, *, limit: int) -> list[str]:
        """Return the ids of memories of others that a person let in, in these projects (None: all).

        The last to come in are first.
        """
        where = "" if projects is None else f" AND r.project IN ({marks(projects)})"
        rows = self._select(
            f"SELECT r.memory FROM shared_records r WHERE r.kind = '{MEMORY}' AND r.memory <> ''"
            f" AND r.withdrawn = 0 AND r.approval IN ('', '{Approval.ACCEPTED}'){where}"
            " ORDER BY r.n DESC LIMIT ?",
            [*(projects or ()), limit],
        )
        return [memory for (memory,) in rows]

    def own_texts(self, project: str, hashes: Iterable[str]) -> dict[str, str]:
        """Return text hash -> id of a memory of the project with that text that is not a shared one."""
        rows = self._database.select_in(
            f"SELECT content_hash, id FROM memories WHERE project = ? AND source <> '{SHARED}'"
            " AND content_hash IN ({})",
            hashes,
            project,
        )
        return dict(rows)

    def _select(self, sql: str, parameters: Sequence[Any]) -> list[Any]:
        # A home that cannot be written may be of a release without these tables.
        return select_from(self._database, "shared_records", sql, parameters)

    def _update(self, project: str, ids: Iterable[str], change: str, *values: Any) -> None:
        with self._database.write() as connection:
            connection.executemany(
                f"UPDATE shared_records SET {change} WHERE project = ? AND id = ?",
                [(*values, project, key) for key in ids],
            )


def record_of(row: SharedRecord) -> Record:
    """Return the record of a row; where a scrub has changed its form, what is left of it to name."""
    try:
        return parse(row.body.encode())
    except InvalidRecordError:
        return SharedMemory(row.member, row.seen_at, row.seen_at, "", WITHDRAWN)


def _without_text(row: SharedRecord) -> str:
    record = record_of(row)
    if isinstance(record, SharedMemory):
        record = replace(record, title="", text=WITHDRAWN, tags=(), links=(), branch="", fields={})
    return encode(record).decode()


def move_shared(connection: Connection, former: str, project: str) -> None:
    """Give what was shared in one project to another one; what both have stays the other's."""
    for table, key in (
        ("shared_records", "id"),
        ("shared_supersessions", "statement"),
        ("share_members", "member"),
        ("share_heads", "member"),
    ):
        connection.execute(
            f"DELETE FROM {table} WHERE project = ?1"
            f" AND {key} IN (SELECT {key} FROM {table} WHERE project = ?2)",
            (former, project),
        )
        connection.execute(f"UPDATE {table} SET project = ? WHERE project = ?", (project, former))


def _values(record: SharedRecord) -> tuple[Any, ...]:
    return (
        record.project,
        record.id,
        record.member,
        record.kind,
        record.target,
        record.memory,
        record.text_hash,
        record.verdict,
        record.approval.value,
        int(record.withdrawn),
        int(record.pushed),
        to_stamp(record.seen_at),
        record.body,
        digest("body", record.body),
    )


def _record(row: Sequence[Any]) -> SharedRecord:
    project, key, member, kind, target, memory, text_hash, verdict, approval, withdrawn, pushed, at, body = (
        row
    )
    return SharedRecord(
        project,
        key,
        member,
        kind,
        body,
        verdict,
        from_stamp(at),
        target,
        memory,
        text_hash,
        Approval(approval),
        bool(withdrawn),
        bool(pushed),
    )
