"""Counts of the lifecycle: archived memories by rule."""

from collections.abc import Sequence
from dataclasses import dataclass

from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Database

# What an archived memory was is kept as JSON.
_PROJECT = {"sqlite": "json_extract(memory, '$.project')", "postgres": "(memory::json ->> 'project')"}


@dataclass(frozen=True, slots=True)
class ArchivedCount:
    """The number of memories in the archive by a rule."""

    rule: str
    memories: int


def archived_counts(database: Database, projects: Sequence[str] | None) -> list[ArchivedCount]:
    """Return how many of these projects' memories (None: of all) each rule archived, most first."""
    where = "" if projects is None else f" WHERE {_PROJECT[database.dialect]} IN ({marks(projects)})"
    rows = database.select(
        f"SELECT rule, count(*) FROM archive{where} GROUP BY rule ORDER BY 2 DESC, 1",
        list(projects or ()),
    )
    return [ArchivedCount(rule, int(count)) for rule, count in rows]
