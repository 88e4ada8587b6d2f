"""The latest memories that match a filter, or of some time spans."""

from collections.abc import Sequence
from datetime import datetime

import orjson

from ragmem.domain.model import UNASSIGNED, Category, Kind, Memory
from ragmem.frozen import dataclass
from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Connection, Database
from ragmem.storage.sql.rows import SELECT_MEMORY, memory_from, to_stamp

# A loose index scan over projects, since a DISTINCT would read the whole index.
_PROJECTS = (
    "WITH RECURSIVE listed(project) AS (SELECT min(project) FROM memories UNION ALL"
    " SELECT (SELECT min(project) FROM memories m WHERE m.project > listed.project) FROM listed"
    " WHERE listed.project IS NOT NULL) SELECT project FROM listed WHERE project IS NOT NULL"
)


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """A filter: these sources but not those of `other_than`, and one of the kinds or categories.

    Empty fields are ignored; `protected` memories match as well as those of a kind or category.
    """

    sources: tuple[str, ...] = ()
    other_than: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    categories: tuple[Category, ...] = ()
    protected: bool = False


def latest(
    database: Database, sort: MemoryFilter, *, projects: Sequence[str] | None = None, limit: int
) -> list[Memory]:
    """Return the memories that match a filter, latest event first, equal times by id.

    Memories without a project are included only if that is named.
    """
    with database.read() as connection:
        ids = _latest_ids(connection, sort, projects, limit)
        # Only now their texts.
        rows = connection.execute(
            f"SELECT {SELECT_MEMORY} FROM memories m WHERE m.id IN ({marks(ids)})", ids
        ).fetchall()
    memories = {memory.id: memory for memory in map(memory_from, rows)}
    return [memories[identifier] for identifier in ids]


def latest_metadata(
    database: Database, sort: MemoryFilter, *, projects: Sequence[str] | None = None, limit: int
) -> dict[str, dict[str, str]]:
    """Return id -> metadata of the memories that `latest` returns, in their order, without reading a text."""
    with database.read() as connection:
        ids = _latest_ids(connection, sort, projects, limit)
        rows = dict(
            connection.execute(
                f"SELECT m.id, m.metadata FROM memories m WHERE m.id IN ({marks(ids)})", ids
            ).fetchall()
        )
    return {identifier: orjson.loads(rows[identifier]) for identifier in ids}


def _latest_ids(
    connection: Connection, sort: MemoryFilter, projects: Sequence[str] | None, limit: int
) -> list[str]:
    conditions, values = ["1 = 1"], list[str]()
    if projects is None:
        conditions.append("m.project <> ?")
        values.append(UNASSIGNED)
    # Not by the index of sources: the index of projects and times is sorted by time.
    source = "m.source" if projects is None else "(m.source || '')"
    if sort.sources:
        conditions.append(f"{source} IN ({marks(sort.sources)})")
        values += sort.sources
    if sort.other_than:
        conditions.append(f"{source} NOT IN ({marks(sort.other_than)})")
        values += sort.other_than
    welcome = ["m.protected = 1"] if sort.protected else []
    for column, wanted in (("kind", sort.kinds), ("category", sort.categories)):
        if wanted:
            welcome.append(f"m.{column} IN ({marks(wanted)})")
            values += [item.value for item in wanted]
    if welcome:
        conditions.append(f"({' OR '.join(welcome)})")
    statement = (
        f"SELECT -m.event_at, m.id FROM memories m WHERE {' AND '.join(conditions)}{{}}"
        " ORDER BY m.event_at DESC, m.id LIMIT ?"
    )
    if projects is None:
        found = connection.execute(statement.format(""), [*values, limit]).fetchall()
    else:
        found = sorted(
            row
            for project in dict.fromkeys(projects)
            for row in connection.execute(statement.format(" AND m.project = ?"), [*values, project, limit])
        )[:limit]
    return [identifier for _, identifier in found]


def in_spans(
    database: Database,
    spans: Sequence[tuple[datetime, datetime]],
    *,
    projects: Sequence[str] | None = None,
    limit: int,
) -> list[tuple[str, str]]:
    """Return (memory id, id of its first chunk) of events within any of the spans, latest first.

    Cheap enough for every question: it only uses the index of projects and times.
    """
    found: dict[str, tuple[int, str]] = {}
    with database.read() as connection:
        if projects is None:
            projects = [project for (project,) in connection.execute(_PROJECTS)] if spans else []
        for project in dict.fromkeys(projects):
            for start, end in spans:
                for memory_id, chunk_id, event_at in connection.execute(
                    "SELECT m.id, c.id, m.event_at FROM memories m"
                    " JOIN chunks c ON c.memory = m.n AND c.position = 0"
                    " WHERE m.project = ? AND m.event_at >= ? AND m.event_at < ?"
                    " ORDER BY m.event_at DESC, m.id LIMIT ?",
                    (project, to_stamp(start), to_stamp(end), limit),
                ):
                    found[memory_id] = event_at, chunk_id
    ranked = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))[:limit]
    return [(memory_id, chunk_id) for memory_id, (_, chunk_id) in ranked]
