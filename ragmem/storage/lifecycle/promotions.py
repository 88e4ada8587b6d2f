"""Memories that may appear in a memory file: those that people keep, pin or rate, or sessions recall."""

from collections.abc import Collection, Sequence

from ragmem.domain.model import UNASSIGNED
from ragmem.domain.model.lifecycle import Approval
from ragmem.domain.model.supersession import MARKS
from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Database


def promoted_ids(
    database: Database, *, projects: Sequence[str] | None, sources: Collection[str], sessions: int
) -> list[str]:
    """Return the ids of valid memories of these projects (None: all) that were promoted or are protected.

    A memory is promoted if it is of one of these `sources`, pinned, rated good, or recalled in this many
    `sessions`, and not while it waits for an approval. No text is read.
    """
    kept = sorted(sources)
    place = "m.project <> ?" if projects is None else f"m.project IN ({marks(projects)})"
    return database.select_column(
        f"SELECT m.id FROM memories m LEFT JOIN lives l ON l.id = m.id"
        f" WHERE {place}"
        f" AND (m.protected = 1 OR m.source IN ({marks(kept)}) OR l.pinned = 1 OR l.feedback > 0"
        " OR (SELECT count(*) FROM recalled_in r WHERE r.id = m.id) >= ?)"
        f" AND coalesce(l.approval, '') NOT IN ('{Approval.PROPOSED}', '{Approval.REJECTED}')"
        " AND NOT EXISTS (SELECT 1 FROM supersessions s"
        f" WHERE s.older = m.id AND s.rule NOT IN {MARKS})"
        " ORDER BY m.id",
        [*((UNASSIGNED,) if projects is None else projects), *kept, sessions],
    )
