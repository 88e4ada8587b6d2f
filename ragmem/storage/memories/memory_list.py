"""Filtered pages of memories, and counts by day and kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import orjson

from ragmem.domain.model import Memory
from ragmem.storage.memories.overview import Column
from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.rows import SELECT_MEMORY, from_stamp, memory_from, to_stamp

Order = Literal["newest", "oldest", "changed"]

_DAY = 86_400_000_000
"""Microseconds."""

_BEFORE_YEAR_1 = 720_000
"""Days before 1970: added, so that integer division rounds down before 1970 too."""

_ORDERS: dict[Order, tuple[str, str, str]] = {
    "newest": ("m.event_at", "DESC", "<"),
    "oldest": ("m.event_at", "ASC", ">"),
    "changed": ("m.updated_at", "DESC", "<"),
}
"""The column, its direction, and the comparison for the next page."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter for memories; empty fields are ignored.

    `since` is inclusive, `until` exclusive; `projects` None means all of them.
    """

    projects: Sequence[str] | None = None
    kinds: Sequence[str] = ()
    categories: Sequence[str] = ()
    tiers: Sequence[str] = ()
    states: Sequence[str] = ()
    sources: Sequence[str] = ()
    spec: str = ""
    tags: Sequence[str] = ()
    since: datetime | None = None
    until: datetime | None = None
    title: str = ""

    def sql(self) -> tuple[str, list[str | int]]:
        """Return the condition and its values."""
        conditions, values = ["1 = 1"], list[str | int]()
        columns = (
            ("project", self.projects),
            ("kind", self.kinds or None),
            ("category", self.categories or None),
            ("tier", self.tiers or None),
            ("state", self.states or None),
            ("source", self.sources or None),
        )
        for column, wanted in columns:
            if wanted is not None:
                conditions.append(f"m.{column} IN ({marks(wanted)})")
                values += wanted
        if self.spec:
            conditions.append("m.spec = ?")
            values.append(self.spec)
        for tag in self.tags:
            conditions.append("m.tags LIKE ? ESCAPE '!'")
            values.append(_like_pattern(orjson.dumps(tag).decode()))
        if self.title:
            # The database lowers both sides, since it may only know ASCII letters.
            conditions.append("lower(m.title) LIKE lower(?) ESCAPE '!'")
            values.append(_like_pattern(self.title))
        for sign, moment in ((">=", self.since), ("<", self.until)):
            if moment is not None:
                conditions.append(f"m.event_at {sign} ?")
                values.append(to_stamp(moment))
        return " AND ".join(conditions), values


def list_page(
    database: Database,
    wanted: Filter,
    *,
    order: Order = "newest",
    after: tuple[int, str] | None = None,
    limit: int,
) -> tuple[list[Memory], tuple[int, str] | None]:
    """Return a page and the position after it, None on the last; equal times are sorted by id.

    `after` is such a position: new memories do not shift entries between pages.
    """
    column, direction, sign = _ORDERS[order]
    condition, values = wanted.sql()
    if after is not None:
        condition += f" AND ({column} {sign} ? OR ({column} = ? AND m.id > ?))"
        values += [after[0], after[0], after[1]]
    rows = database.select(
        f"SELECT {SELECT_MEMORY}, {column} FROM memories m WHERE {condition}"
        f" ORDER BY {column} {direction}, m.id LIMIT ?",
        [*values, limit + 1],
    )
    page = [memory_from(row[:-1]) for row in rows[:limit]]
    return page, (int(rows[limit - 1][-1]), page[-1].id) if len(rows) > limit else None


def count_memories(database: Database, wanted: Filter) -> int:
    """Return how many memories match."""
    condition, values = wanted.sql()
    return database.select_int(f"SELECT count(*) FROM memories m WHERE {condition}", values)


def days(database: Database, wanted: Filter) -> list[tuple[int, str, int]]:
    """Return (days since 1970, kind, memories) in order, by the event times in UTC."""
    condition, values = wanted.sql()
    rows = database.select(
        f"SELECT (m.event_at + {_BEFORE_YEAR_1 * _DAY}) / {_DAY}, m.kind, count(*) FROM memories m"
        f" WHERE {condition} GROUP BY 1, 2 ORDER BY 1, 2",
        values,
    )
    return [(int(day) - _BEFORE_YEAR_1, kind, int(count)) for day, kind, count in rows]


def ends(database: Database, wanted: Filter) -> tuple[datetime, datetime] | None:
    """Return the first and the last event time; None without a match."""
    condition, values = wanted.sql()
    first, last = database.select_row(
        f"SELECT min(m.event_at), max(m.event_at) FROM memories m WHERE {condition}", values
    )
    return None if first is None else (from_stamp(first), from_stamp(last))


def cross_count(database: Database, one: Column, other: Column, wanted: Filter) -> dict[str, dict[str, int]]:
    """Return value of one column -> value of another -> memories, in the order of the values."""
    condition, values = wanted.sql()
    rows = database.select(
        f"SELECT m.{one}, m.{other}, count(*) FROM memories m WHERE {condition} GROUP BY 1, 2 ORDER BY 1, 2",
        values,
    )
    found: dict[str, dict[str, int]] = {}
    for first, second, count in rows:
        found.setdefault(first, {})[second] = int(count)
    return found


def _like_pattern(text: str) -> str:
    escaped = text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{escaped}%"
