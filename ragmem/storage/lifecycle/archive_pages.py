"""Pages of the archive, the latest entries first."""

from collections.abc import Sequence
from dataclasses import dataclass

from ragmem.storage.lifecycle.archive import COLUMNS, ArchiveEntry, archive_entry_from
from ragmem.storage.sql.database import Database


@dataclass(frozen=True, slots=True)
class ArchivePage:
    """A page, the total number of entries, and the position after this page; None on the last."""

    items: Sequence[ArchiveEntry]
    total: int
    rest: tuple[int, str, str] | None


def archived_page(
    database: Database,
    *,
    run: str = "",
    rule: str = "",
    after: tuple[int, str, str] | None = None,
    limit: int,
) -> ArchivePage:
    """Return a page of the entries of a run or a rule; "" is any.

    Entries of one run and moment are sorted by id. `after` is the `rest` of the page before.
    """
    conditions, values = ["1 = 1"], list[str | int]()
    for column, wanted in (("run", run), ("rule", rule)):
        if wanted:
            conditions.append(f"{column} = ?")
            values.append(wanted)
    further, place = "", list[str | int]()
    if after is not None:
        further = " AND (archived_at < ? OR (archived_at = ? AND (run > ? OR (run = ? AND id > ?))))"
        place = [after[0], after[0], after[1], after[1], after[2]]
    where = " AND ".join(conditions)
    with database.read() as connection:
        (total,) = connection.execute(f"SELECT count(*) FROM archive WHERE {where}", values).fetchone()
        rows = connection.execute(
            f"SELECT {COLUMNS} FROM archive WHERE {where}{further}"
            " ORDER BY archived_at DESC, run, id LIMIT ?",
            [*values, *place, limit + 1],
        ).fetchall()
    last = rows[limit - 1] if len(rows) > limit else None
    return ArchivePage(
        [archive_entry_from(row) for row in rows[:limit]],
        int(total),
        None if last is None else (int(last[5]), str(last[0]), str(last[1])),
    )
