"""Counts of the lifecycle: archived memories by rule, and merged memories."""

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


@dataclass(frozen=True, slots=True)
class MergedCount:
    """A merged memory with the number of its originals."""

    id: str
    title: str
    project: str
    originals: int


def archived_counts(database: Database, projects: Sequence[str] | None) -> list[ArchivedCount]:
    """Return how many of these projects' memories (None: of all) each rule archived, most first."""
    where = "" if projects is None else f" WHERE {_PROJECT[database.dialect]} IN ({marks(projects)})"
    rows = database.select(
        f"SELECT rule, count(*) FROM archive{where} GROUP BY rule ORDER BY 2 DESC, 1",
        list(projects or ()),
    )
    return [ArchivedCount(rule, int(count)) for rule, count in rows]


def merged_counts(database: Database, projects: Sequence[str] | None, *, limit: int) -> list[MergedCount]:
    """Return the merged memories of these projects (None: all) with the most originals."""
    where = "" if projects is None else f" WHERE m.project IN ({marks(projects)})"
    rows = database.select(
        "SELECT m.id, m.title, m.project, count(*) FROM merged_from g JOIN memories m ON m.id = g.merged"
        f"{where} GROUP BY m.id, m.title, m.project ORDER BY 4 DESC, m.id LIMIT ?",
        [*(projects or ()), limit],
    )
    return [MergedCount(identifier, title, project, int(count)) for identifier, title, project, count in rows]
