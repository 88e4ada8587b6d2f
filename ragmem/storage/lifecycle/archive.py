"""The archive: complete memories that gc or a person removed, until somebody purges them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson

from ragmem.domain.model import Memory
from ragmem.frozen import dataclass
from ragmem.storage.lifecycle.forgotten_texts import find_forgotten
from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Connection, Database
from ragmem.storage.sql.rows import MEMORY_COLUMNS, from_stamp, memory_from, memory_values, to_stamp

RECENT = 100
"""Entries of the log that show whether the clock went backwards. Limited, so that a clock that once was years
ahead is forgotten, and the archive ages again."""

PAGE = 100
"""Memories that are read at a time, to limit main memory."""

_DAY = 86_400_000_000
"""Microseconds."""

MISSING = "missing"
"""The rule for memories that their source no longer has; if it has them again, they are stored again."""

DUPLICATE = "duplicate"
"""The rule for memories with the same text as their successor."""

COLUMNS = "run, id, rule, reason, successor, archived_at, memory"


@dataclass(frozen=True, slots=True)
class ArchiveRun:
    """One run that archived memories, and can be undone."""

    run: str
    at: datetime
    memories: int


@dataclass(frozen=True, slots=True)
class Removal:
    """A memory to archive: the rule, the reason in words, and the id of its successor, if any."""

    memory: Memory
    rule: str
    reason: str = ""
    successor: str = ""


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A memory in the archive: the run and the rule that archived it, when, and why."""

    run: str
    rule: str
    at: datetime
    memory: Memory
    reason: str = ""
    successor: str = ""


class Archive:
    """Archived memories, by the run that archived them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, run: str, items: Iterable[Removal], *, now: datetime) -> None:
        """Archive memories with their rules.

        If the clock is behind the last operation, they count as archived just after it: otherwise they would
        seem old once the clock is right again, and the latest run would not be the last one.
        """
        with self._database.write() as connection:
            stamp = _not_before(connection, run, to_stamp(now))
            connection.executemany(
                f"INSERT INTO archive ({COLUMNS}) VALUES (?,?,?,?,?,?,?)"
                " ON CONFLICT (run, id) DO UPDATE SET rule = excluded.rule, reason = excluded.reason,"
                " successor = excluded.successor, memory = excluded.memory,"
                " archived_at = excluded.archived_at",
                [
                    (run, one.memory.id, one.rule, one.reason, one.successor, stamp, _text(one.memory))
                    for one in items
                ],
            )

    def count(self) -> int:
        """Return how many memories are in the archive."""
        return self._database.select_int("SELECT count(*) FROM archive")

    def runs(self) -> list[ArchiveRun]:
        """Return the runs whose memories are still in the archive, latest first."""
        rows = self._database.select(
            "SELECT run, max(archived_at), count(*) FROM archive GROUP BY run ORDER BY 2 DESC, 1 DESC"
        )
        return [ArchiveRun(run, from_stamp(at), count) for run, at, count in rows]

    def memories(self, run: str) -> list[Memory]:
        """Return the memories that a run archived."""
        return [item.memory for item in self.of(run)]

    def of(self, run: str) -> list[ArchiveEntry]:
        """Return the entries of a run, in the order of the ids."""
        rows = self._database.select(f"SELECT {COLUMNS} FROM archive WHERE run = ? ORDER BY id", (run,))
        return [archive_entry_from(row) for row in rows]

    def each(self) -> Iterator[ArchiveEntry]:
        """Yield all entries in the order of run and id, a page at a time."""
        last = ("", "")
        while True:
            rows = self._database.select(
                f"SELECT {COLUMNS} FROM archive WHERE (run, id) > (?, ?) ORDER BY run, id LIMIT {PAGE}",
                last,
            )
            if not rows:
                return
            yield from map(archive_entry_from, rows)
            last = (rows[-1][0], rows[-1][1])

    def latest(self, ids: Iterable[str]) -> dict[str, ArchiveEntry]:
        """Return the last entry of each of these ids that has one."""
        sql = f"SELECT {COLUMNS} FROM archive WHERE id IN ({{}}) ORDER BY archived_at, run"
        return {row[1]: archive_entry_from(row) for row in self._database.select_in(sql, ids)}

    def removed_ids(self, memories: Sequence[Memory]) -> set[str]:
        """Return the ids under which these texts were archived, unless their source had lost them.

        Also return those with a text that a person forgot, under any id and even if it is purged. A duplicate
        whose text no memory has any more is none.
        """
        found = self.latest(memory.id for memory in memories)
        orphans = self._find_orphans(found)
        with self._database.read() as connection:
            forgotten = find_forgotten(connection, memories)
        return forgotten | {
            memory.id
            for memory in memories
            if memory.id in found
            and memory.id not in orphans
            and found[memory.id].rule != MISSING
            and found[memory.id].memory.content_hash == memory.content_hash
        }

    def orphans(self) -> list[Memory]:
        """Return the archived duplicates whose text no memory has any more.

        Their successor was archived because its source had lost it, or it has another text now.
        """
        rows = self._database.select("SELECT DISTINCT id FROM archive WHERE rule = ?", (DUPLICATE,))
        found = self.latest(identifier for (identifier,) in rows)
        return [found[identifier].memory for identifier in sorted(self._find_orphans(found))]

    def _find_orphans(self, entries: Mapping[str, ArchiveEntry]) -> set[str]:
        """Return which of these latest entries are duplicates whose text no memory has any more."""
        doubles = {key: one for key, one in entries.items() if one.rule == DUPLICATE}
        if not doubles:
            return set()
        successors = {one.successor for one in doubles.values()}
        present = dict(
            self._database.select_in(
                "SELECT id, content_hash FROM memories WHERE id IN ({})", successors.union(doubles)
            )
        )
        lost = {key for key, one in self.latest(successors).items() if one.rule == MISSING}
        return {
            key
            for key, one in doubles.items()
            if key not in present
            and (
                present[one.successor] != one.memory.content_hash
                if one.successor in present
                else one.successor in lost
            )
        }

    def runs_of(self, ids: Iterable[str]) -> dict[str, list[str]]:
        """Return run -> those of these ids that it archived."""
        found: dict[str, list[str]] = {}
        for run, identifier in self._database.select_in(
            "SELECT run, id FROM archive WHERE id IN ({}) ORDER BY run, id", ids
        ):
            found.setdefault(run, []).append(identifier)
        return found

    def ids(self) -> set[str]:
        """Return the ids of all archived memories."""
        return set(self._database.select_column("SELECT DISTINCT id FROM archive"))

    def successors(self, *rules: str) -> set[str]:
        """Return the ids of the successors of memories that were archived by these rules."""
        rows = self._database.select_in("SELECT DISTINCT successor FROM archive WHERE rule IN ({})", rules)
        return {identifier for (identifier,) in rows if identifier}

    def hashes(self, *, before: datetime | None = None, since: datetime | None = None) -> set[str]:
        """Return the content hashes of memories that were archived in a period."""
        conditions, values = ["1 = 1"], list[int]()
        for sign, moment in (("<", before), (">=", since)):
            if moment is not None:
                conditions.append(f"archived_at {sign} ?")
                values.append(to_stamp(moment))
        with self._database.read() as connection:
            rows = connection.execute(f"SELECT memory FROM archive WHERE {' AND '.join(conditions)}", values)
            return {orjson.loads(text)["content_hash"] for (text,) in rows}

    def sources(self) -> set[str]:
        """Return the sources of all archived memories."""
        return {
            orjson.loads(text)["source"] for (text,) in self._database.select("SELECT memory FROM archive")
        }

    def ids_with_prefix(self, prefix: str) -> list[str]:
        """Return up to two archived ids with this prefix."""
        return self._database.select_column(
            "SELECT DISTINCT id FROM archive WHERE id >= ? AND id < ? ORDER BY id LIMIT 2",
            (prefix, prefix + "\x7f"),
        )

    def write(self, items: Sequence[ArchiveEntry]) -> int:
        """Add entries of another catalog's archive; existing ones stay. Return how many were new."""
        with self._database.write() as connection:
            before = self.count()
            connection.executemany(
                f"INSERT INTO archive ({COLUMNS}) VALUES (?,?,?,?,?,?,?) ON CONFLICT (run, id) DO NOTHING",
                [
                    (
                        one.run,
                        one.memory.id,
                        one.rule,
                        one.reason,
                        one.successor,
                        to_stamp(one.at),
                        _text(one.memory),
                    )
                    for one in items
                ],
            )
            return self.count() - before

    def rewrite(self, run: str, memory: Memory) -> None:
        """Replace an archived memory; when and why it was archived stays."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE archive SET memory = ? WHERE run = ? AND id = ?", (_text(memory), run, memory.id)
            )

    def drop(self, run: str, ids: Iterable[str] | None = None) -> None:
        """Delete the entries of a run: all of them, or these ids."""
        with self._database.write() as connection:
            if ids is None:
                connection.execute("DELETE FROM archive WHERE run = ?", (run,))
            else:
                connection.executemany(
                    "DELETE FROM archive WHERE run = ? AND id = ?", [(run, identifier) for identifier in ids]
                )

    def count_expired(self, *, now: datetime, keep: timedelta) -> int:
        """Return how many memories have been in the archive for longer than `keep`."""
        return self._database.select_int(
            "SELECT count(*) FROM archive WHERE archived_at < ?", (to_stamp(now - keep),)
        )

    def purge(self, *, now: datetime, keep: timedelta) -> dict[str, int]:
        """Delete entries that are older than `keep` for good; return run -> how many."""
        with self._database.write() as connection:
            stamp = to_stamp(now - keep)
            gone = connection.execute(
                "SELECT run, count(*) FROM archive WHERE archived_at < ? GROUP BY run ORDER BY run", (stamp,)
            ).fetchall()
            connection.execute("DELETE FROM archive WHERE archived_at < ?", (stamp,))
        return dict(gone)


def _text(memory: Memory) -> str:
    return orjson.dumps(dict(zip(MEMORY_COLUMNS, memory_values(memory), strict=True))).decode()


def archive_entry_from(row: Sequence[Any]) -> ArchiveEntry:
    """Return the entry of a row in the order of COLUMNS."""
    run, _, rule, reason, successor, at, text = row
    value = orjson.loads(text)
    # Entries of former releases have no clean hash.
    value.setdefault("clean_hash", 0)
    memory = memory_from(tuple(value[column] for column in MEMORY_COLUMNS))
    return ArchiveEntry(run, rule, from_stamp(at), memory, reason, successor)


def _not_before(connection: Connection, run: str, stamp: int) -> int:
    (done,) = connection.execute(
        "SELECT max(at) FROM (SELECT at FROM log ORDER BY n DESC LIMIT ?) AS recent", (RECENT,)
    ).fetchone()
    stamp = max(stamp, (done or 0) + 1)
    # All steps of one run share one moment.
    (archived,) = connection.execute(
        # Two ranges of the primary key: `run <> ?` would read all that the steps before put here.
        "SELECT max(at) FROM (SELECT archived_at AS at FROM archive WHERE run < ?1 UNION ALL"
        " SELECT archived_at AS at FROM archive WHERE run > ?1) AS others WHERE at < ?2",
        (run, stamp + _DAY),
    ).fetchone()
    return max(stamp, (archived or 0) + 1)


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
