"""What waits for a person's approval: proposed memories and drafted skills, in one database."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import orjson

from ragmem.domain.model import Memory
from ragmem.domain.model.lifecycle import Approval
from ragmem.frozen import dataclass
from ragmem.storage.lifecycle.lifecycle_state import Lives
from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Database, Row, select_in
from ragmem.storage.sql.rows import SELECT_MEMORY, from_stamp, memory_from, to_stamp

WITHHELD = f"approval <> '' AND approval IN ('{Approval.PROPOSED}', '{Approval.REJECTED}')"
"""The SQL condition for what counts for nothing yet; its first part lets the index be used."""

_DRAFT = "id, project, name, content, sessions, approval, path, made_at"


@dataclass(frozen=True, slots=True)
class SkillDraft:
    """A drafted skill: the text of its SKILL.md, and the sessions whose commands it repeats.

    `path` is the file that was written when it was accepted.
    """

    id: str
    project: str
    name: str
    content: str
    sessions: tuple[str, ...]
    made_at: datetime
    approval: Approval = Approval.PROPOSED
    path: str = ""


class Approvals:
    """The approvals of memories, which are part of their lives, and of drafted skills."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lives = Lives(database)

    def propose(self, memories: Iterable[Memory]) -> None:
        """Mark new or changed memories as proposed; called within the transaction, before they are written.

        One whose text is stored already stays as it is.
        """
        given = {memory.id: memory for memory in memories}
        if not given:
            return
        with self._database.write() as connection:
            known = dict(
                select_in(connection, "SELECT id, content_hash FROM memories WHERE id IN ({})", list(given))
            )
            fresh = [key for key, memory in given.items() if known.get(key) != memory.content_hash]
            now = max(memory.updated_at for memory in given.values())
            self._lives.set_approval(fresh, Approval.PROPOSED, now=now)

    def accept_by_hand(self, ids: Iterable[str], *, now: datetime) -> None:
        """Accept those of the memories that are withheld, since a person has stored the same text."""
        found = self._database.select_in(f"SELECT id FROM lives WHERE {WITHHELD} AND id IN ({{}})", ids)
        if found:
            self._lives.set_approval([key for (key,) in found], Approval.ACCEPTED, now=now)

    def withheld_ids(self) -> list[str]:
        """Return the ids of all proposed or rejected memories, which are never injected."""
        # Not sorted by the database, which would scan all lives for their order instead of using the index.
        return sorted(self._database.select_column(f"SELECT id FROM lives WHERE {WITHHELD}"))

    def count_waiting(self, projects: Sequence[str] | None = None) -> tuple[int, int]:
        """Return how many memories and how many skills of these projects (None: all) are proposed."""
        where, values = _within("m", projects)
        memories = self._database.select_int(
            "SELECT count(*) FROM lives l JOIN memories m ON m.id = l.id"
            f" WHERE l.approval <> '' AND l.approval = ?{where}",
            (Approval.PROPOSED.value, *values),
        )
        where, values = _within("s", projects)
        skills = self._database.select_int(
            f"SELECT count(*) FROM skill_drafts s WHERE s.approval = ?{where}",
            (Approval.PROPOSED.value, *values),
        )
        return memories, skills

    def memories(
        self, approval: Approval, projects: Sequence[str] | None = None, *, limit: int
    ) -> list[Memory]:
        """Return the memories of these projects (None: all) with an approval, the latest event first."""
        where, values = _within("m", projects)
        rows = self._database.select(
            f"SELECT {SELECT_MEMORY} FROM memories m JOIN lives l ON l.id = m.id"
            f" WHERE l.approval <> '' AND l.approval = ?{where} ORDER BY m.event_at DESC, m.id LIMIT ?",
            (approval.value, *values, limit),
        )
        return [memory_from(row) for row in rows]

    def skills(
        self, approval: Approval | None = None, projects: Sequence[str] | None = None
    ) -> list[SkillDraft]:
        """Return the drafted skills of these projects (None: all) with an approval (None: any), by name."""
        where, values = _within("s", projects)
        if approval is not None:
            where, values = f"{where} AND s.approval = ?", [*values, approval.value]
        rows = self._database.select(
            f"SELECT {_DRAFT} FROM skill_drafts s WHERE 1 = 1{where} ORDER BY s.name, s.id", values
        )
        return [_draft_from(row) for row in rows]

    def add_skills(self, drafts: Iterable[SkillDraft]) -> int:
        """Store drafts, and new texts of those that nobody has decided on; return how many are new."""
        given = list(drafts)
        with self._database.write() as connection:
            known = select_in(
                connection, "SELECT id FROM skill_drafts WHERE id IN ({})", [draft.id for draft in given]
            )
            connection.executemany(
                f"INSERT INTO skill_drafts ({_DRAFT}) VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE"
                " SET name = excluded.name, content = excluded.content, sessions = excluded.sessions"
                f" WHERE skill_drafts.approval = '{Approval.PROPOSED}'",
                [
                    (
                        draft.id,
                        draft.project,
                        draft.name,
                        draft.content,
                        orjson.dumps(draft.sessions).decode(),
                        draft.approval.value,
                        draft.path,
                        to_stamp(draft.made_at),
                    )
                    for draft in given
                ],
            )
        return len(given) - len(known)

    def set_skill(self, identifier: str, approval: Approval, *, path: str = "") -> None:
        """Store whether a drafted skill was accepted, and into which file it was written."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE skill_drafts SET approval = ?, path = ? WHERE id = ?",
                (approval.value, path, identifier),
            )


def _within(table: str, projects: Sequence[str] | None) -> tuple[str, list[str]]:
    if projects is None:
        return "", []
    return f" AND {table}.project IN ({marks(projects)})", list(projects)


def _draft_from(row: Row) -> SkillDraft:
    identifier, project, name, content, sessions, approval, path, made_at = row
    told = tuple(orjson.loads(sessions))
    moment = from_stamp(made_at)
    return SkillDraft(identifier, project, name, content, told, moment, Approval(approval), path)
