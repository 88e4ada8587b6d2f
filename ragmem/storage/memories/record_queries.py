"""Find typed records by type, newest first, with the index of sources and places."""

from collections.abc import Sequence
from datetime import datetime

from ragmem.domain.model import Category
from ragmem.domain.records.record_types import RecordType
from ragmem.domain.records.records import RECORDS, uri_prefix
from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.rows import to_stamp


def list_records(
    database: Database,
    types: Sequence[RecordType],
    *,
    projects: Sequence[str] | None = None,
    spec: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    categories: Sequence[Category] = (),
    session: str = "",
    limit: int,
) -> list[str]:
    """Return the ids of the records of these types, latest event first, equal times by id.

    Only reads the rows of these types, or of the session, and no text.
    """
    found: list[tuple[int, str]] = []
    with database.read() as connection:
        for kind in dict.fromkeys(types):
            prefix = uri_prefix(kind, within=session)
            # A prefix ends with a colon, and the sign after the colon is the semicolon.
            conditions = ["m.source = ?", "m.uri >= ?", "m.uri < ?"]
            values: list[str | int] = [RECORDS, prefix, f"{prefix[:-1]};"]
            if projects is not None:
                # Not by the index of projects, which a planner may prefer.
                conditions.append(f"(m.project || '') IN ({marks(projects)})")
                values += projects
            if spec:
                conditions.append("m.spec = ?")
                values.append(spec)
            if since is not None:
                conditions.append("m.event_at >= ?")
                values.append(to_stamp(since))
            if until is not None:
                conditions.append("m.event_at < ?")
                values.append(to_stamp(until))
            if categories:
                conditions.append(f"m.category IN ({marks(categories)})")
                values += [category.value for category in categories]
            found += connection.execute(
                f"SELECT -m.event_at, m.id FROM memories m WHERE {' AND '.join(conditions)}"
                " ORDER BY 1, 2 LIMIT ?",
                (*values, limit),
            ).fetchall()
    return [identifier for _, identifier in sorted(found)[:limit]]
