"""The latest memories of some sort: what an assistant reads before it has a question."""

from collections.abc import Sequence
from dataclasses import dataclass

from ragmem.catalog.batches import marks
from ragmem.catalog.database import Database
from ragmem.catalog.rows import SELECT_MEMORY, memory_from
from ragmem.domain.model import Category, Kind, Memory, State


@dataclass(frozen=True, slots=True)
class Sort:
    """Which memories are meant: of these sources and not of those, and of one of the kinds or categories.

    What is empty asks for nothing; `protected` ones are as welcome as those of a kind or category.
    """

    sources: tuple[str, ...] = ()
    other_than: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    categories: tuple[Category, ...] = ()
    protected: bool = False


def latest(
    database: Database, sort: Sort, *, projects: Sequence[str] | None = None, limit: int
) -> list[Memory]:
    """Return the memories of a sort, latest event first, those of equal times by id; none that is trashed."""
    conditions, values = ["m.state <> ?"], [State.TRASHED.value]
    if projects is not None:
        conditions.append(f"m.project IN ({marks(projects)})")
        values += projects
    if sort.sources:
        conditions.append(f"m.source IN ({marks(sort.sources)})")
        values += sort.sources
    if sort.other_than:
        conditions.append(f"m.source NOT IN ({marks(sort.other_than)})")
        values += sort.other_than
    welcome = ["m.protected = 1"] if sort.protected else []
    for column, wanted in (("kind", sort.kinds), ("category", sort.categories)):
        if wanted:
            welcome.append(f"m.{column} IN ({marks(wanted)})")
            values += [item.value for item in wanted]
    if welcome:
        conditions.append(f"({' OR '.join(welcome)})")
    with database.read() as connection:
        rows = connection.execute(
            f"SELECT {SELECT_MEMORY} FROM memories m WHERE {' AND '.join(conditions)}"
            " ORDER BY m.event_at DESC, m.id LIMIT ?",
            [*values, limit],
        ).fetchall()
    return [memory_from(row) for row in rows]
